/**
 * The exit code of every way in which a command can end. Invariant: each table is exhaustive over its union, so a new
 * refusal, park reason or outcome does not compile until somebody has decided what a script should see.
 */
import type { ParkReason, PreviewedEffect } from '../activities/contract';
import type { CustodyErrorCode } from '../adapters/reviewers';
import type { AnchorErrorCode } from '../anchor';
import type { PlanOutcome } from '../client';
import type { StoreErrorCode } from '../ports';
import type { GovernedErrorCode, GovernedStatus } from '../rules/governed/vocabulary';
import type { InvocationStatus, SessionStatus } from '../rules/invocations/vocabulary';
import type { RecoveryPhase } from '../rules/recovery';
import type { RefusalCode } from '../rules/refusal';

export const EXIT = {
  done: 0,
  service_failure: 1,
  invalid_input: 2,
  denied: 3,
  review_required: 4,
  cancelled: 5,
  conflict: 6,
  no_adapter: 7,
  /** As a shell reports a command that Ctrl-C ended. */
  interrupted: 130,
} as const;
export type ExitName = keyof typeof EXIT;

/** Faults that only the command line has. */
export const CLI_CODES = [
  'invalid_argument',
  'input_unreadable',
  'connection_invalid',
  'service_unavailable',
  'service_failed',
  'workflow_terminated',
  'workflow_timed_out',
  'preview_failed',
  'effect_rejected',
  'approval_rejected',
  'plan_cancelled',
  'not_verified',
  'sink_broken',
  'output_exists',
  'interrupted',
] as const;
export type CliCode = (typeof CLI_CODES)[number];

export const CLI_EXITS: Record<CliCode, ExitName> = {
  invalid_argument: 'invalid_input',
  input_unreadable: 'invalid_input',
  connection_invalid: 'invalid_input',
  service_unavailable: 'service_failure',
  service_failed: 'service_failure',
  workflow_terminated: 'service_failure',
  workflow_timed_out: 'service_failure',
  preview_failed: 'service_failure',
  effect_rejected: 'denied',
  approval_rejected: 'denied',
  plan_cancelled: 'cancelled',
  not_verified: 'denied',
  sink_broken: 'denied',
  output_exists: 'conflict',
  interrupted: 'interrupted',
};

/** Refused before anything happened. */
export const REFUSED_EXITS: Record<RefusalCode, ExitName> = {
  invalid_plan: 'invalid_input',
  invalid_arguments: 'invalid_input',
  plan_too_large: 'invalid_input',
  unknown_run: 'invalid_input',
  run_open: 'conflict',
  journal_retired: 'denied',
  journal_missing: 'invalid_input',
  plan_conflict: 'conflict',
  wrong_journal: 'conflict',
  journal_conflict: 'conflict',
  stale_head: 'conflict',
  no_adapter: 'no_adapter',
  journal_behind: 'review_required',
  content_missing: 'service_failure',
  not_the_plans_workflow: 'denied',
  invalid_record: 'denied',
  journal_invalid: 'denied',
  chain_divergence: 'denied',
  receipt_malformed: 'invalid_input',
  receipt_wrong_type: 'invalid_input',
  receipt_unsigned: 'denied',
  receipt_unknown_key: 'denied',
  receipt_revoked: 'denied',
  receipt_lifetime: 'denied',
  receipt_wrong_role: 'denied',
  receipt_requester: 'denied',
  receipt_voted: 'conflict',
  receipt_late: 'review_required',
  receipt_expired: 'review_required',
  receipt_not_yet_valid: 'review_required',
  receipt_wrong_plan: 'conflict',
  receipt_wrong_run: 'conflict',
  receipt_wrong_lineage: 'conflict',
  receipt_wrong_journal: 'conflict',
  receipt_replayed: 'conflict',
  receipt_stale_head: 'conflict',
  receipt_not_wanted: 'conflict',
  receipt_wrong_launch: 'conflict',
  receipt_wrong_origin: 'conflict',
  reviewers_unavailable: 'service_failure',
  record_conflict: 'conflict',
  job_closed: 'conflict',
  worker_unknown: 'denied',
  recheck_refused: 'denied',
  call_conflict: 'conflict',
  call_closed: 'conflict',
  session_closed: 'conflict',
  invalid_policy: 'invalid_input',
};

/** Begun, and now waiting for a person. */
export const PARKED_EXITS: Record<ParkReason, ExitName> = {
  approval_missing: 'review_required',
  approval_expired: 'review_required',
  approval_revoked: 'review_required',
  reviewers_unavailable: 'review_required',
  ambiguous_effect: 'review_required',
  effect_mismatch: 'review_required',
  wrong_journal: 'review_required',
  journal_missing: 'review_required',
  journal_behind: 'review_required',
  journal_invalid: 'review_required',
  content_missing: 'review_required',
  chain_divergence: 'review_required',
  no_adapter: 'no_adapter',
};

export const OUTCOME_EXITS: Record<PlanOutcome['status'], ExitName> = {
  completed: 'done',
  previewed: 'done',
  permitted: 'done',
  cancelled: 'cancelled',
};

/** The worst of a preview's effects decides: an effect that would need a person makes the preview ask for one. */
export const PREVIEW_EXITS: Record<PreviewedEffect['state'], ExitName> = {
  absent: 'done',
  committed: 'done',
  wait: 'done',
  ambiguous: 'review_required',
  changed: 'review_required',
};

/** Where a verification run stands. Without all results, or a receipt that it waits for, a person must look at it. */
export const RUN_EXITS: Record<'open' | 'receipt_wanted' | 'completed' | 'incomplete', ExitName> = {
  open: 'done',
  receipt_wanted: 'review_required',
  completed: 'done',
  incomplete: 'review_required',
};

/** Where a session stands. */
export const SESSION_EXITS: Record<SessionStatus, ExitName> = {
  pending: 'done',
  running: 'done',
  awaiting_input: 'done',
  awaiting_tool: 'done',
  awaiting_approval: 'review_required',
  completed: 'done',
  failed: 'denied',
  cancelled: 'cancelled',
};

/** Where a call stands. */
export const INVOCATION_EXITS: Record<InvocationStatus, ExitName> = {
  pending: 'done',
  queued: 'done',
  dispatched: 'done',
  succeeded: 'done',
  failed: 'denied',
  awaiting_approval: 'review_required',
  indeterminate: 'review_required',
};

/** What the journal alone says of a run. */
export const PHASE_EXITS: Record<RecoveryPhase, ExitName> = {
  planned: 'done',
  approval_recorded: 'done',
  dispatching: 'done',
  reconciling: 'done',
  completed: 'done',
  aborted: 'cancelled',
};

export const STORE_EXITS: Record<StoreErrorCode, ExitName> = {
  store_invalid_path: 'invalid_input',
  store_unavailable: 'service_failure',
  store_read_only: 'service_failure',
  store_permission_denied: 'service_failure',
  store_full: 'service_failure',
  store_entry_too_large: 'service_failure',
  store_unsafe_entry: 'service_failure',
  store_io_failed: 'service_failure',
};

export const CUSTODY_EXITS: Record<CustodyErrorCode, ExitName> = {
  input_unreadable: 'invalid_input',
  input_unprotected: 'invalid_input',
  input_limit: 'invalid_input',
  key_name_invalid: 'invalid_input',
  key_unknown: 'invalid_input',
  key_invalid: 'invalid_input',
  key_exists: 'conflict',
};

export const ANCHOR_EXITS: Record<AnchorErrorCode, ExitName> = {
  anchor_missing: 'invalid_input',
  anchor_head_unknown: 'invalid_input',
  anchor_wrong_journal: 'conflict',
  anchor_wrong_key: 'conflict',
  anchor_not_alone: 'conflict',
  anchor_damaged: 'denied',
  anchor_unsigned: 'denied',
  anchor_split_view: 'denied',
  anchor_checkpoint_old: 'denied',
};

/** Of the governed workflow commands, as their contract has them. */
export const GOVERNED_STATUS_EXITS: Record<GovernedStatus, ExitName> = {
  ready: 'done',
  completed: 'done',
  failed: 'service_failure',
  denied: 'denied',
  review_required: 'review_required',
  cancelled: 'cancelled',
  conflict: 'conflict',
  unavailable: 'no_adapter',
};

export const GOVERNED_ERROR_EXITS: Record<GovernedErrorCode, ExitName> = {
  input_invalid: 'invalid_input',
  input_unprotected: 'invalid_input',
  input_unreadable: 'invalid_input',
  input_limit: 'invalid_input',
  adapter_unavailable: 'no_adapter',
  service_failed: 'service_failure',
  service_result_invalid: 'service_failure',
  action_conflict: 'conflict',
  state_conflict: 'conflict',
  receipt_conflict: 'conflict',
  terminal_state: 'conflict',
  receipt_invalid: 'invalid_input',
  receipt_unverified: 'denied',
  receipt_expired: 'review_required',
  receipt_future: 'review_required',
};
