/**
 * The rules between two neighbouring checkpoints.
 */
import { type RecoveryCheckpoint } from './checkpoint';

/** Refuses `next` unless it may stand at `index`, right after `previous` (`null` at index 0). */
export function validateSuccessor(
  _previous: RecoveryCheckpoint | null,
  _next: RecoveryCheckpoint,
  _index: number,
): void {
  throw new Error('not built');
}

/** Refuses a list that is not one unbroken lineage from sequence 0; returns its head, `null` for an allowed empty one. */
export function validateCheckpointLineage(
  _lineage: readonly RecoveryCheckpoint[],
  _options: { readonly allowEmpty?: boolean } = {},
): RecoveryCheckpoint | null {
  throw new Error('not built');
}
