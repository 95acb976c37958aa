/**
 * Why something was refused, as data. Invariant: every refusal outside the recovery contract has a code of this union and
 * one sentence that names what was refused, why, and what to do; it never quotes contents.
 */
export const REFUSAL_CODES = [
  'invalid_plan',
  'invalid_record',
  'plan_conflict',
  'plan_too_large',
  'no_adapter',
  'wrong_journal',
  'journal_missing',
  'journal_behind',
  'journal_invalid',
  'content_missing',
  'not_the_plans_workflow',
  'unknown_run',
  'chain_divergence',
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
