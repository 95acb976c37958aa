/**
 * An obligation as it is told: what is owed, not the receipts that it follows from. Invariant: names and counts only, and never
 * stored: whoever reads one reads what followed from the journal at that moment.
 */
import { isRunId } from '../recovery';
import { Fields, type Dict } from '../fields';
import { digestAt, isProposalId, isSittingId, setAt } from './names';
import { OBLIGATION_STATES, type Obligation, type ObligationState } from './obligations';
import { runIdOf } from './run';
import type { RecheckIntent } from './sitting';

export interface OwedRecheck extends RecheckIntent {
  readonly intentId: string;
  readonly state: ObligationState;
  /** The run whose results the proposals address. */
  readonly sourceRunId: string;
  readonly pending: readonly string[];
  /** Unix milliseconds. */
  readonly committedAt: number;
}

export function obligationToRecord(obligation: Obligation): Dict {
  const { intentId, state, sittingId, sourceRun, proposals, pending, committedAt } = obligation;
  return {
    ...{ intent_id: intentId, state, sitting_id: sittingId, source_run: sourceRun, source_run_id: runIdOf(sourceRun) },
    ...{ proposals, pending, committed_at: committedAt },
  };
}

export function obligationFromRecord(value: unknown, path = 'obligation'): OwedRecheck {
  const at = new Fields(value, path);
  const obligation = {
    intentId: digestAt(at, 'intent_id'),
    state: at.oneOf('state', OBLIGATION_STATES),
    sittingId: at.text('sitting_id', '"sit_" and 32 lowercase hex digits', isSittingId),
    sourceRun: digestAt(at, 'source_run'),
    sourceRunId: at.text('source_run_id', 'a run id', isRunId),
    proposals: setAt(at, 'proposals', 'proposal ids', isProposalId, 1),
    pending: setAt(at, 'pending', 'proposal ids', isProposalId),
    committedAt: at.count('committed_at'),
  };
  at.end();
  return obligation;
}
