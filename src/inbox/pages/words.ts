/** What codes mean, in words for people. Invariant: every code of a closed list has its words; a new one does not compile without. */
import type { ParkReason } from '../../activities/contract';
import type { Resolution } from '../../rules/receipts/claims';
import type { AbsentProof, CommittedProof, Doubt } from '../../rules/sends/proof';
import type { RecoveryPhase } from '../../rules/recovery';
import type { ObligationState } from '../../rules/verification/obligations';

export const DOUBT_WORDS: Record<Doubt | 'changed', string> = {
  lookup_failed: 'The sink could not be asked.',
  in_flight_too_long: 'A send was begun and may still arrive.',
  outcome_unknown: 'A send was begun, and nothing says what became of it.',
  acked_but_absent: 'The sink took it, and now does not know it.',
  committed_then_absent: 'It was there, and now the sink does not know it.',
  beyond_horizon: 'The sink may have forgotten the key by now.',
  attempts_exhausted: 'It was tried as often as it may be.',
  changed: 'The sink holds another operation under this key.',
};

export const PROOF_WORDS: Record<AbsentProof | CommittedProof, string> = {
  never_begun: 'No send was ever begun.',
  closed: 'Every send that could have begun was closed.',
  not_sent: 'The send never left the worker.',
  looked_up: 'The sink was asked by the key, and said so.',
  resend_safe: 'The sink takes each key once: sending again is safe.',
  attested: 'A person signed that it is so.',
  acked: 'The sink answered the send.',
};

export const REASON_WORDS: Record<ParkReason, string> = {
  approval_missing: 'An approval is missing.',
  approval_expired: 'Its approval has expired.',
  approval_revoked: 'A key that approved it was revoked.',
  reviewers_unavailable: 'The workers cannot read the reviewers’ keys.',
  ambiguous_effect: 'Nobody can prove what became of an effect.',
  effect_mismatch: 'A sink holds another operation than this plan’s.',
  no_adapter: 'No worker has one of its tools.',
  wrong_journal: 'The workers write another journal.',
  journal_missing: 'The journal is missing.',
  journal_behind: 'The journal is older than what was already proved.',
  journal_invalid: 'The journal breaks its own rules.',
  content_missing: 'What its effects are about is missing.',
  chain_divergence: 'Two derivations of its chain disagree.',
};

export const OBLIGATION_WORDS: Record<ObligationState, string> = {
  user_action_required: 'What was applied has to be checked again; a person must affirm where.',
  pending_capture: 'What was applied has to be checked again, on a new capture.',
  fulfilled: 'It was checked again.',
};

export const RESOLUTION_WORDS: Record<Resolution, string> = {
  reobserve: 'Ask the sinks again',
  mark_committed: 'It happened: mark effects as committed',
  mark_absent: 'It did not happen: mark effects as absent',
  abort: 'End the plan, and send nothing more',
  new_lineage: 'Begin anew with what is left, under new approvals',
};

export const PHASE_WORDS: Record<RecoveryPhase, string> = {
  planned: 'planned',
  approval_recorded: 'approved',
  dispatching: 'sending',
  reconciling: 'looking',
  completed: 'completed',
  aborted: 'ended',
};

/** The words of a code, or the code of what is not known here. */
export function wordsFor(words: Readonly<Record<string, string>>, code: string): string {
  return Object.hasOwn(words, code) ? (words[code] as string) : code;
}
