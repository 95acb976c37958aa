/**
 * What an append to a lineage would do, without doing it. Invariant: a place in the lineage that is taken is never taken
 * again; repeating the very same append is no fault.
 */
import { isCheckpoint, RecoveryCheckpoint } from './checkpoint';
import { checkpointFileName } from './checkpoint-folder';
import { refuse } from './errors';
import { MAX_CHECKPOINT_BYTES } from './limits';
import { validateSuccessor } from './lineage';

export type AppendOutcome =
  /** Free: write `text` (ASCII) under `name`, unless somebody is faster. */
  | { readonly outcome: 'create'; readonly name: string; readonly text: string }
  /** The very same checkpoint stands there already: nothing to write. */
  | { readonly outcome: 'identical' };

/**
 * `lineage` must have been validated as it was read. Throws `checkpoint_conflict`, `checkpoint_sequence_gap`,
 * `checkpoint_too_large` or what the lineage rules say about `next`.
 */
export function appendOutcome(lineage: readonly RecoveryCheckpoint[], next: RecoveryCheckpoint): AppendOutcome {
  if (!isCheckpoint(next)) return refuse('checkpoint', 'invalid_checkpoint');
  const length = BigInt(lineage.length);
  if (next.sequence < length) {
    const standing = lineage[Number(next.sequence)] as RecoveryCheckpoint;
    return sameCheckpoint(standing, next) ? { outcome: 'identical' } : refuse('checkpoint', 'checkpoint_conflict');
  }
  if (next.sequence > length) refuse('checkpoint', 'checkpoint_sequence_gap');
  validateSuccessor(lineage[lineage.length - 1] ?? null, next, length);
  const text = RecoveryCheckpoint.toJson(next);
  if (text.length > MAX_CHECKPOINT_BYTES) refuse('checkpoint', 'checkpoint_too_large');
  return { outcome: 'create', name: checkpointFileName(next.sequence), text };
}

/** Equality of values, which the digest covers completely: how a file spells them does not count. */
export function sameCheckpoint(left: RecoveryCheckpoint, right: RecoveryCheckpoint): boolean {
  return left.checkpointDigest === right.checkpointDigest;
}
