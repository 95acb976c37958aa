/**
 * Any fault as an error of the governed workflow commands. Invariant: scripts see codes of the contract only; each of our own codes
 * has one of them by an exhaustive table.
 */
import { CustodyError, type CustodyErrorCode } from '../../adapters/reviewers';
import { StoreError } from '../../ports';
import { GovernedError, type GovernedErrorCode } from '../../rules/governed/vocabulary';
import { RecoveryError } from '../../rules/recovery';
import { REFUSAL_CODES, type RefusalCode } from '../../rules/refusal';
import { CLI_CODES, type CliCode } from '../exit-codes';
import { failureOf } from '../failure';

const OF_REFUSAL: Record<RefusalCode, GovernedErrorCode> = {
  invalid_plan: 'service_result_invalid',
  invalid_arguments: 'input_invalid',
  invalid_record: 'service_result_invalid',
  plan_conflict: 'action_conflict',
  plan_too_large: 'input_invalid',
  no_adapter: 'adapter_unavailable',
  wrong_journal: 'action_conflict',
  journal_missing: 'adapter_unavailable',
  journal_behind: 'service_failed',
  journal_invalid: 'service_result_invalid',
  journal_conflict: 'state_conflict',
  content_missing: 'service_failed',
  not_the_plans_workflow: 'service_failed',
  unknown_run: 'input_invalid',
  run_open: 'state_conflict',
  journal_retired: 'service_result_invalid',
  stale_head: 'state_conflict',
  chain_divergence: 'service_result_invalid',
  receipt_malformed: 'receipt_invalid',
  receipt_wrong_type: 'receipt_invalid',
  receipt_unsigned: 'receipt_unverified',
  receipt_unknown_key: 'receipt_unverified',
  receipt_revoked: 'receipt_unverified',
  receipt_lifetime: 'receipt_unverified',
  receipt_wrong_role: 'receipt_unverified',
  receipt_requester: 'receipt_unverified',
  receipt_voted: 'receipt_conflict',
  receipt_late: 'receipt_expired',
  receipt_expired: 'receipt_expired',
  receipt_not_yet_valid: 'receipt_future',
  receipt_wrong_plan: 'receipt_conflict',
  receipt_wrong_run: 'receipt_conflict',
  receipt_wrong_lineage: 'receipt_conflict',
  receipt_wrong_journal: 'receipt_conflict',
  receipt_replayed: 'receipt_conflict',
  receipt_stale_head: 'receipt_conflict',
  receipt_not_wanted: 'receipt_conflict',
  receipt_wrong_launch: 'receipt_conflict',
  receipt_wrong_origin: 'receipt_conflict',
  reviewers_unavailable: 'adapter_unavailable',
  record_conflict: 'state_conflict',
  job_closed: 'state_conflict',
  worker_unknown: 'service_failed',
  recheck_refused: 'input_invalid',
  call_conflict: 'action_conflict',
  call_closed: 'state_conflict',
  session_closed: 'terminal_state',
  invalid_policy: 'input_invalid',
};

const OF_CLI: Record<CliCode, GovernedErrorCode> = {
  invalid_argument: 'input_invalid',
  input_unreadable: 'input_unreadable',
  connection_invalid: 'adapter_unavailable',
  service_unavailable: 'adapter_unavailable',
  service_failed: 'service_failed',
  workflow_terminated: 'service_failed',
  workflow_timed_out: 'service_failed',
  preview_failed: 'service_failed',
  effect_rejected: 'terminal_state',
  approval_rejected: 'terminal_state',
  plan_cancelled: 'terminal_state',
  not_verified: 'service_result_invalid',
  sink_broken: 'service_failed',
  output_exists: 'input_invalid',
  interrupted: 'service_failed',
};

const OF_CUSTODY: Record<CustodyErrorCode, GovernedErrorCode> = {
  input_unreadable: 'input_unreadable',
  input_unprotected: 'input_unprotected',
  input_limit: 'input_limit',
  key_name_invalid: 'input_invalid',
  key_exists: 'input_invalid',
  key_unknown: 'input_invalid',
  key_invalid: 'input_invalid',
};

export function governedError(fault: unknown): GovernedError {
  if (fault instanceof GovernedError) return fault;
  const { code, message } = failureOf(fault);
  if (fault instanceof CustodyError) return new GovernedError(OF_CUSTODY[fault.code], message);
  if (fault instanceof StoreError) return new GovernedError('service_failed', message);
  if (fault instanceof RecoveryError) return new GovernedError('service_result_invalid', message);
  const refusal = REFUSAL_CODES.find((known) => known === code);
  if (refusal !== undefined) return new GovernedError(OF_REFUSAL[refusal], message);
  const own = CLI_CODES.find((known) => known === code);
  return new GovernedError(own === undefined ? 'service_failed' : OF_CLI[own], message);
}
