/**
 * Every refusal of the recovery contract. Invariant: the codes are a closed list, the text is `field: code` (or the bare
 * code), and nothing of what was read ever enters it.
 */
export const RECOVERY_ERROR_CODES = [
  // Reading a record.
  'invalid_json',
  'not_a_mapping',
  'unreadable_mapping',
  'unknown_field',
  'missing_field',
  'duplicate_field',
  'invalid_payload',
  // Identifiers and typed values.
  'invalid_identifier',
  'wrong_identifier_kind',
  'invalid_identifier_type',
  'identifier_too_long',
  'unknown_kind',
  'wrong_kind',
  'namespace_too_long',
  'invalid_run_id',
  'invalid_workflow_id',
  'invalid_action_id',
  'invalid_tool_id',
  'invalid_digest',
  'invalid_idempotency_key',
  'invalid_boolean',
  'invalid_non_negative_integer',
  'unknown_phase',
  'unknown_effect_kind',
  'unknown_effect_state',
  'unknown_compensation_limit',
  'unknown_observation_state',
  'unknown_disposition',
  'unknown_reason',
  // Effects, observations, checkpoints.
  'invalid_effect',
  'invalid_effects',
  'invalid_effect_order',
  'duplicate_action_id',
  'duplicate_idempotency_key',
  'idempotency_key_mismatch',
  'incomplete_effects',
  'unexpected_commit_evidence',
  'missing_commit_evidence',
  'invalid_checkpoint',
  'unsupported_schema_version',
  'incomplete_approval_receipt',
  'missing_approval_receipt',
  'approval_action_mismatch',
  'unexpected_previous_digest',
  'missing_previous_digest',
  'checkpoint_digest_mismatch',
  // Lineages.
  'invalid_lineage',
  'empty_lineage',
  'checkpoint_sequence_gap',
  'lineage_digest_mismatch',
  'workflow_identity_changed',
  'approval_receipt_changed',
  'approval_added_out_of_phase',
  'invalid_phase_transition',
  'effect_set_changed',
  'effect_identity_changed',
  'committed_effect_changed',
  // Part of the vocabulary; valid records cannot lead to it.
  'invalid_effect_transition',
  // Recovery and decisions.
  'invalid_observations',
  'invalid_observation',
  'duplicate_observation',
  'observation_coverage_mismatch',
  'unsupported_evidence_version',
  'invalid_sequence',
  'duplicate_item',
  'retry_count_mismatch',
  'invalid_committed_effect',
  'invalid_resume_decision',
  'invalid_complete_decision',
  'invalid_review_decision',
  'invalid_retired_decision',
  'evidence_digest_mismatch',
  'invalid_decision',
  'decision_checkpoint_mismatch',
  'terminal_decision_mismatch',
  'unknown_committed_effect',
  'unknown_retry_effect',
  'invalid_compensation_effect',
  'retry_key_mismatch',
  'commit_evidence_changed',
  // Journals.
  'journal_retired',
  'journal_unavailable',
  'journal_unreadable',
  'journal_lock_failed',
  'unsafe_journal',
  'unsafe_journal_lock',
  'unexpected_journal_entry',
  'unsafe_checkpoint_file',
  'checkpoint_too_large',
  'checkpoint_read_failed',
  'checkpoint_filename_mismatch',
  'checkpoint_conflict',
  'checkpoint_write_failed',
  'unsafe_retired_file',
  'retired_record_too_large',
  'retired_read_failed',
  // Retirement.
  'unsupported_retired_version',
  'nonterminal_record',
  'ambiguous_terminal_record',
  'retired_digest_mismatch',
  'invalid_retired_record',
  'invalid_retention_policy',
  'invalid_retirement_plan',
  'invalid_checkpoint_manifest',
  'retirement_plan_digest_mismatch',
  'retirement_plan_stale',
  'confirmation_required',
  'clock_moved_backwards',
  'retirement_io_failed',
  'invalid_summary',
] as const;
export type RecoveryErrorCode = (typeof RECOVERY_ERROR_CODES)[number];

export class RecoveryError extends Error {
  override readonly name = 'RecoveryError';
  constructor(
    readonly code: RecoveryErrorCode,
    readonly fieldName: string | null = null,
    options?: { cause?: unknown },
  ) {
    super(fieldName === null ? code : `${fieldName}: ${code}`, options);
  }
}

/** Throws the refusal `field: code`. */
export function refuse(fieldName: string, code: RecoveryErrorCode): never {
  throw new RecoveryError(code, fieldName);
}
