/**
 * A request of a governed workflow command. Invariant: it is exactly its five fields and within its limits, or refused; limits
 * are looked at before fields, and no value is ever quoted.
 */
import { RecoveryError, isDigest, isGovernedId, isRunId, parseJson, type JsonValue } from '../recovery';
import { Fields } from '../fields';
import { Refusal } from '../refusal';
import { GovernedError, WORKFLOW_REQUEST_SCHEMA_VERSION } from './vocabulary';

export const MAX_INPUT_BYTES = 65_536;
const MAX_DEPTH = 8;
const MAX_NODES = 256;

export interface WorkflowRequest {
  readonly runId: string;
  readonly workflowId: string;
  /** Digest of the plan. */
  readonly actionDigest: string;
  /** Digest of the head that the request is about; null where none is needed. */
  readonly expectedStateDigest: string | null;
}

export function workflowRequestFromBytes(bytes: Uint8Array): WorkflowRequest {
  if (bytes.length > MAX_INPUT_BYTES) throw limit(`is larger than ${MAX_INPUT_BYTES} bytes`);
  const value = parsed(bytes);
  measure(value);
  try {
    const at = new Fields(value, 'request', 'invalid_arguments');
    at.text(
      'schema_version',
      `"${WORKFLOW_REQUEST_SCHEMA_VERSION}"`,
      (text) => text === WORKFLOW_REQUEST_SCHEMA_VERSION,
    );
    const request = {
      runId: at.text('run_id', '"run_" and 32 lowercase hex digits', isRunId),
      workflowId: at.text('workflow_id', 'a governed id such as workflow:example.org/discharge', (text) =>
        isGovernedId(text, 'workflow'),
      ),
      actionDigest: at.text('action_digest', 'a sha256 digest', isDigest),
      expectedStateDigest: at.nullable('expected_state_digest', (name) =>
        at.text(name, 'a sha256 digest or null', isDigest),
      ),
    };
    at.end();
    return request;
  } catch (fault) {
    if (fault instanceof Refusal) throw invalid(`${fault.field ?? 'request'} ${fault.reason}`);
    throw fault;
  }
}

function parsed(bytes: Uint8Array): JsonValue {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw invalid('the request is not UTF-8 text');
  }
  try {
    return parseJson(text, 'request');
  } catch (fault) {
    if (!(fault instanceof RecoveryError)) throw fault;
    const why = fault.code === 'duplicate_field' ? 'names one field twice' : 'is not JSON';
    throw invalid(`the request ${why}`);
  }
}

/** Breadth first, so that no nesting costs a stack. */
function measure(value: JsonValue): void {
  let nodes = 0;
  let level: readonly JsonValue[] = [value];
  for (let depth = 1; level.length > 0; depth += 1) {
    nodes += level.length;
    if (nodes > MAX_NODES) throw limit(`holds more than ${MAX_NODES} values`);
    if (level.some((item) => typeof item === 'number' && !Number.isFinite(item))) {
      throw invalid('the request holds a number that is not finite');
    }
    if (depth > MAX_DEPTH && level.some((item) => typeof item === 'object' && item !== null)) {
      throw limit(`is nested deeper than ${MAX_DEPTH} levels`);
    }
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
}

function invalid(reason: string): GovernedError {
  return new GovernedError('input_invalid', reason);
}

function limit(reason: string): GovernedError {
  return new GovernedError('input_limit', `the request ${reason}`);
}
