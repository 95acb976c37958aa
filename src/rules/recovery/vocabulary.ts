/**
 * The closed vocabularies of the recovery contract. Invariant: these words are wire format and never change.
 */
export const EFFECT_KINDS = ['local_tool', 'fhir_write', 'omop_batch'] as const;
export type EffectKind = (typeof EFFECT_KINDS)[number];

export const COMPENSATION_LIMITS = ['none', 'propose_only'] as const;
export type CompensationLimit = (typeof COMPENSATION_LIMITS)[number];

export const RECOVERY_PHASES = [
  'planned',
  'approval_recorded',
  'dispatching',
  'reconciling',
  'completed',
  'aborted',
] as const;
export type RecoveryPhase = (typeof RECOVERY_PHASES)[number];

/** The phases that nothing follows. */
export type TerminalPhase = Extract<RecoveryPhase, 'completed' | 'aborted'>;

export const EFFECT_STATES = ['pending', 'committed'] as const;
export type EffectState = (typeof EFFECT_STATES)[number];

export const OBSERVATION_STATES = ['absent', 'committed', 'ambiguous'] as const;
export type ObservationState = (typeof OBSERVATION_STATES)[number];

export const RECOVERY_DISPOSITIONS = ['retired', 'resume', 'complete', 'review_required'] as const;
export type RecoveryDisposition = (typeof RECOVERY_DISPOSITIONS)[number];

export const RECOVERY_REASONS = [
  'journal_retired',
  'safe_to_resume',
  'effects_reconciled',
  'already_complete',
  'workflow_aborted',
  'ambiguous_effect',
  'effect_mismatch',
  'approval_missing',
  'approval_expired',
] as const;
export type RecoveryReason = (typeof RECOVERY_REASONS)[number];

/** Whether `value` is one of the words of a vocabulary. */
export function isWord<Word extends string>(words: readonly Word[], value: unknown): value is Word {
  return (words as readonly unknown[]).includes(value);
}

export function isTerminalPhase(phase: RecoveryPhase): phase is TerminalPhase {
  return phase === 'completed' || phase === 'aborted';
}
