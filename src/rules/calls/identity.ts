/**
 * Who a call is. Invariant: origin, workflow id, effect and the author's id, and nothing else, give its run: the same call is
 * the same run after a retry, a reset, a continue-as-new or on another cluster, wherever in the workflow it stands.
 */
import { canonicalJson, isGovernedId, sha256Hex } from '../recovery';
import { Refusal } from '../refusal';

export interface CallIdentity {
  /** The application, or the type of the workflow. */
  readonly origin: string;
  /** The id of the author's Temporal workflow. */
  readonly workflowId: string;
  /** The name of the effect; null for a plan of several. */
  readonly effect: string | null;
  readonly id: string;
}

const NAME = /^[^\s\p{Cc}\p{Cs}](?:[^\p{Cc}\p{Cs}]{0,198}[^\s\p{Cc}\p{Cs}])?$/u;

export function deriveCallRunId(call: CallIdentity): string {
  const { origin, workflowId, effect, id } = call;
  named('origin', origin);
  named('id', id);
  const identity = { domain: 'countersign.call.v1', origin, workflow_id: workflowId, effect, id };
  return `run_${sha256Hex(canonicalJson(identity)).slice(0, 32)}`;
}

/** A governed workflow id for an origin: itself when it is one, else a readable one under a name of our own. */
export function governedOrigin(origin: string): string {
  const governed: boolean = isGovernedId(origin, 'workflow');
  if (governed) return origin;
  const words = origin.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase();
  const local = words.replace(/[^a-z0-9]+/g, '-').replace(/^[^a-z]+|-+$/g, '');
  return `workflow:countersign.local/${local.slice(0, 64) || 'workflow'}`;
}

function named(field: string, value: unknown): void {
  if (typeof value === 'string' && NAME.test(value)) return;
  throw new Refusal('invalid_arguments', 'must be 1 to 200 characters without control characters', field);
}
