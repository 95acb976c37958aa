/**
 * The first place where something differs from what it should be, by digests. Invariant: no value is ever shown; a field
 * that is a digest itself stands for itself, any other is hashed, and a missing side is null.
 */
import {
  RecoveryCheckpoint,
  canonicalJson,
  isDigest,
  isJsonObject,
  parseJson,
  sha256Digest,
  type JsonObject,
  type JsonValue,
  type RecoveryError,
} from '../rules/recovery';
import type { Divergence } from './findings';

/** Null when both are the same checkpoint. */
export function firstDifference(expected: RecoveryCheckpoint, actual: RecoveryCheckpoint): Divergence | null {
  const [left, right] = [RecoveryCheckpoint.toDict(expected), RecoveryCheckpoint.toDict(actual)];
  for (const field of Object.keys(left)) {
    if (field === 'checkpoint_digest') continue;
    const found = differenceIn(field, left[field], right[field]);
    if (found !== null) return { sequence: Number(actual.sequence), ...found };
  }
  return null;
}

/** What a fault of the recovery contract says about the file or link at `sequence`. */
export function divergenceOf(
  fault: RecoveryError,
  sequence: number,
  bytes: Uint8Array | null,
  previous: RecoveryCheckpoint | null,
): Divergence {
  const dict = bytes === null ? null : readDict(bytes);
  const field = fault.fieldName ?? 'document';
  if (fault.code === 'checkpoint_digest_mismatch' && dict !== null) {
    const { checkpoint_digest: stated, ...rest } = dict;
    return { sequence, field, expected: sha256Digest(canonicalJson(rest)), actual: shown(stated) };
  }
  if (fault.fieldName === 'lineage' && dict !== null) return { sequence, ...linkDifference(fault, dict, previous) };
  return { sequence, field, expected: null, actual: bytes === null ? null : sha256Digest(bytes) };
}

type Difference = Omit<Divergence, 'sequence'>;

const FIELDS_OF_A_LINK = ['workflow_id', 'run_id', 'plan_digest'] as const;
const FIELDS_OF_AN_APPROVAL = ['approval_action_digest', 'approval_receipt_digest', 'approval_expires_at'] as const;

function linkDifference(fault: RecoveryError, dict: JsonObject, previous: RecoveryCheckpoint | null): Difference {
  const before = previous === null ? null : RecoveryCheckpoint.toDict(previous);
  switch (fault.code) {
    case 'lineage_digest_mismatch': {
      const expected = previous?.checkpointDigest ?? null;
      return { field: 'previous_checkpoint_digest', expected, actual: shown(dict['previous_checkpoint_digest']) };
    }
    case 'workflow_identity_changed':
      return firstOf(FIELDS_OF_A_LINK, before, dict);
    case 'approval_receipt_changed':
    case 'approval_added_out_of_phase':
      return firstOf(FIELDS_OF_AN_APPROVAL, before, dict);
    case 'effect_set_changed':
    case 'effect_identity_changed':
    case 'committed_effect_changed':
      return firstOf(['effects'], before, dict);
    default:
      return { field: 'phase', expected: null, actual: shown(dict['phase']) };
  }
}

function firstOf(fields: readonly string[], before: JsonObject | null, dict: JsonObject): Difference {
  for (const field of fields) {
    const found = differenceIn(field, before?.[field], dict[field]);
    if (found !== null) return found;
  }
  return { field: fields[0] as string, expected: shown(before?.[fields[0] as string]), actual: null };
}

/** Goes down to the deepest single field that differs. */
function differenceIn(field: string, left: JsonValue | undefined, right: JsonValue | undefined): Difference | null {
  if (left !== undefined && right !== undefined && canonicalJson(left) === canonicalJson(right)) return null;
  if (Array.isArray(left) && Array.isArray(right) && left.length === right.length) {
    return firstNested(left.map((item, index) => [`${field}[${index}]`, item, right[index] as JsonValue]));
  }
  if (isJsonObject(left) && isJsonObject(right)) {
    const names = Object.keys(left);
    const found = firstNested(names.map((name) => [`${field}.${name}`, left[name], right[name]]));
    if (found !== null) return found;
  }
  return { field, expected: shown(left), actual: shown(right) };
}

function firstNested(
  pairs: readonly (readonly [string, JsonValue | undefined, JsonValue | undefined])[],
): Difference | null {
  for (const [field, left, right] of pairs) {
    const found = differenceIn(field, left, right);
    if (found !== null) return found;
  }
  return null;
}

function shown(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (isDigest(value)) return value;
  try {
    return sha256Digest(canonicalJson(value));
  } catch {
    return null;
  }
}

function readDict(bytes: Uint8Array): JsonObject | null {
  try {
    const value = parseJson(bytes, 'checkpoint');
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
