/**
 * Decides how a run goes on, from its lineage and what its sinks were found to hold.
 */
import { type RecoveryCheckpoint } from './checkpoint';
import { type RecoveryDecision } from './decision';
import { type EffectObservation } from './observation';
import { type RetiredJournalRecord } from './retired-record';

export function recoverWorkflow(
  _lineage: readonly RecoveryCheckpoint[] | RetiredJournalRecord,
  _observations: readonly EffectObservation[],
  _clock: { readonly now: bigint },
): RecoveryDecision {
  throw new Error('not built');
}
