/**
 * Why something was refused, as data. Invariant: every refusal outside the recovery contract has a code of this union and
 * one sentence that names what was refused, why, and what to do; it never quotes contents.
 */
export const REFUSAL_CODES = [
  'invalid_plan',
  'invalid_arguments',
  'invalid_record',
  'plan_conflict',
  'plan_too_large',
  'no_adapter',
  'wrong_journal',
  'journal_missing',
  'journal_behind',
  'journal_invalid',
  'journal_conflict',
  'content_missing',
  'not_the_plans_workflow',
  'unknown_run',
  'run_open',
  'journal_retired',
  'stale_head',
  'chain_divergence',
  'receipt_malformed',
  'receipt_unsigned',
  'receipt_wrong_type',
  'receipt_unknown_key',
  'receipt_revoked',
  'receipt_expired',
  'receipt_not_yet_valid',
  'receipt_lifetime',
  'receipt_wrong_plan',
  'receipt_wrong_run',
  'receipt_wrong_lineage',
  'receipt_wrong_journal',
  'receipt_wrong_role',
  'receipt_requester',
  'receipt_voted',
  'receipt_late',
  'receipt_replayed',
  'receipt_stale_head',
  'receipt_not_wanted',
  'receipt_wrong_launch',
  'receipt_wrong_origin',
  'reviewers_unavailable',
  'record_conflict',
  'job_closed',
  'worker_unknown',
  'recheck_refused',
  'call_conflict',
  'call_closed',
  'session_closed',
  'invalid_policy',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** A refusal that has to be thrown. `field` is a path such as `effects[2].tool_id`. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly code: RefusalCode,
    readonly reason: string,
    readonly field: string | null = null,
  ) {
    super(field === null ? `${code}: ${reason}` : `${code}: ${field}: ${reason}`);
  }
}
