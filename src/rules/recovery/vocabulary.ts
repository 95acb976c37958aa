/**
 * The closed vocabularies of the recovery contract. Invariant: these words are wire format and never change.
 */
export const EFFECT_KINDS = ['local_tool', 'fhir_write', 'omop_batch'] as const;
export type EffectKind = (typeof EFFECT_KINDS)[number];

export const COMPENSATION_LIMITS = ['none', 'propose_only'] as const;
export type CompensationLimit = (typeof COMPENSATION_LIMITS)[number];
