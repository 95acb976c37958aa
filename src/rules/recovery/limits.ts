/**
 * The numbers and versions of the recovery contract. Invariant: a change here is a new wire format.
 */
export const RECOVERY_CHECKPOINT_SCHEMA_VERSION = 'openmed.agent.recovery_checkpoint.v1';
export const RECOVERY_EVIDENCE_SCHEMA_VERSION = 'openmed.agent.recovery_evidence.v1';
export const RETIRED_JOURNAL_SCHEMA_VERSION = 'openmed.agent.retired_journal.v1';
export const RETIREMENT_PLAN_SCHEMA_VERSION = 'openmed.agent.journal_retirement_plan.v1';

/** Largest file that a journal reads or writes. Padding counts. */
export const MAX_CHECKPOINT_BYTES = 1_048_576;

/** Largest sequence, ordinal, expiry, count or time. */
export const MAX_INTEGER = 2n ** 63n - 1n;

/** Deepest nesting that is read or written: far beyond any record, far below any call stack. */
export const MAX_JSON_DEPTH = 990;

/** Most digits of an integer that is read or written. */
export const MAX_INTEGER_DIGITS = 4300;
