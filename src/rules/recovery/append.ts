/**
 * What an append to a lineage would do, without doing it.
 */
import { type RecoveryCheckpoint } from './checkpoint';

export type AppendOutcome =
  | { readonly outcome: 'create'; readonly name: string; readonly text: string }
  /** The very same checkpoint stands there already: nothing to write. */
  | { readonly outcome: 'identical' };

/** `lineage` must have been validated. Throws `checkpoint_conflict`, `checkpoint_sequence_gap`, `checkpoint_too_large` or a lineage error. */
export function appendOutcome(_lineage: readonly RecoveryCheckpoint[], _next: RecoveryCheckpoint): AppendOutcome {
  throw new Error('not built');
}
