/** What codes mean, in words for people. Invariant: every code of a closed list has its words; a new one does not compile without. */
import type { ParkReason } from '../../activities/contract';
import type {
  CallResolution,
  InvocationStatus,
  SessionEventType,
  SessionStatus,
} from '../../rules/invocations/vocabulary';
import type { Resolution } from '../../rules/receipts/claims';
import type { AbsentProof, CommittedProof, Doubt } from '../../rules/sends/proof';
import type { RecoveryPhase } from '../../rules/recovery';
import type { JobReason, JobState } from '../../rules/verification/job-states';
import type { LifecycleType } from '../../rules/verification/lifecycle-record';
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

export const LAUNCH_WORDS = { launch_unauthorized: 'A launch waits for the receipt of a person.' } as const;

export const RESOLUTION_WORDS: Record<Resolution, string> = {
  reobserve: 'Ask the sinks again',
  mark_committed: 'It happened: mark effects as committed',
  mark_absent: 'It did not happen: mark effects as absent',
  abort: 'End the plan, and send nothing more',
  new_lineage: 'Begin anew with what is left, under new approvals',
};

/** Of one call of a session, of which nobody knows what became. */
export const CALL_RESOLUTION_WORDS: Record<CallResolution, string> = {
  reobserve: 'Ask its system again',
  mark_succeeded: 'It happened: the call succeeded',
  mark_failed: 'It failed: tell the agent so, and send nothing more',
  redispatch: 'It did not happen: dispatch it again',
};

export const PHASE_WORDS: Record<RecoveryPhase, string> = {
  planned: 'planned',
  approval_recorded: 'approved',
  dispatching: 'sending',
  reconciling: 'looking',
  completed: 'completed',
  aborted: 'ended',
};

export const SESSION_WORDS: Record<SessionStatus, string> = {
  pending: 'not begun',
  running: 'the model is asked',
  awaiting_input: 'waits for its user',
  awaiting_tool: 'waits for its tools',
  awaiting_approval: 'waits for people',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

export const CALL_WORDS: Record<InvocationStatus, string> = {
  pending: 'requested',
  queued: 'queued',
  awaiting_approval: 'awaits approval',
  dispatched: 'dispatched',
  succeeded: 'succeeded',
  failed: 'failed',
  indeterminate: 'indeterminate',
};

export const EVENT_WORDS: Record<SessionEventType, string> = {
  'session.started': 'The session begins.',
  'session.completed': 'It is completed.',
  'session.failed': 'It fails.',
  'session.cancelled': 'It is cancelled.',
  'message.user': 'The user says something.',
  'message.assistant': 'The model answers.',
  'tool.requested': 'A tool is called.',
  'tool.queued': 'The call is queued.',
  'tool.dispatched': 'A worker takes the call.',
  'tool.completed': 'The call is over.',
  'tool.indeterminate': 'Nobody knows what became of the call.',
  'tool.policy_denied': 'A policy forbids the call.',
  'approval.required': 'People are asked.',
  'approval.vote': 'Somebody votes.',
  'approval.decided': 'It is decided.',
  'approval.escalated': 'Nobody answered: others are asked.',
  'approval.expired': 'Nobody answered in time.',
};

export const JOB_WORDS: Record<JobState | 'planned', string> = {
  planned: 'planned',
  prepared: 'prepared',
  launching: 'launching',
  running: 'running',
  submitted: 'submitted',
  completed: 'completed',
  unavailable: 'ended without a result',
  failed: 'failed',
};

/** Why a job ended without a result. */
export const JOB_REASON_WORDS: Record<JobReason, string> = {
  authorization_expired: 'Its authorization expired before it ran.',
  authorization_invalid: 'Its authorization does not count.',
  dispatch_exhausted: 'It could not be handed to anybody.',
  provider_refused: 'Its provider refused to launch it.',
  launch_outcome_unknown: 'Nobody knows whether it was launched.',
  worker_exited_before_submission: 'Its worker ended before it submitted anything.',
  running_deadline_exceeded: 'Its worker took longer than it may.',
  context_integrity_failed: 'What its worker was to be shown is not what was authorized.',
  job_processing_failed: 'What its worker submitted has no known form.',
  submission_integrity_failed: 'What its worker submitted is not what was recorded.',
};

export const LIFECYCLE_WORDS: Record<LifecycleType, string> = {
  run_opened: 'The run is opened.',
  result_committed: 'A check has its result.',
  results_related: 'A result is related to another.',
  job_prepared: 'A job is prepared.',
  job_authorized: 'A person authorizes its launch.',
  job_moved: 'A job moves on.',
  job_submitted: 'A worker submits.',
  job_completed: 'A job is completed.',
  run_closed: 'The run is closed.',
  proposals_applied: 'A person applied proposals.',
  target_affirmed: 'A person affirms where it stands now.',
};

/** The words of a code, or the code of what is not known here. */
export function wordsFor(words: Readonly<Record<string, string>>, code: string): string {
  return Object.hasOwn(words, code) ? (words[code] as string) : code;
}
