/**
 * What a sink was found to hold for one effect. Invariant: only a committed observation carries evidence, and it always
 * does.
 */
import { requireEvidence } from './effect-record';
import { refuse } from './errors';
import { requireDigest, requireWord } from './fields';
import { isIdempotencyKey, parseActionId } from './identifiers';
import { Seal } from './sealed';
import { OBSERVATION_STATES, type ObservationState } from './vocabulary';

export interface EffectObservation {
  readonly actionId: string;
  readonly operationDigest: string;
  readonly idempotencyKey: string;
  readonly state: ObservationState;
  readonly commitEvidenceDigest: string | null;
}

export interface EffectObservationInput {
  readonly actionId: string;
  readonly operationDigest: string;
  readonly idempotencyKey: string;
  readonly state: ObservationState;
  /** Present exactly when `state` is `committed`. @default null */
  readonly commitEvidenceDigest?: string | null;
}

const seal = new Seal<EffectObservation>();

export const EffectObservation = {
  create(input: EffectObservationInput): EffectObservation {
    if (typeof input.actionId !== 'string') refuse('action_id', 'invalid_action_id');
    const observation: EffectObservation = {
      actionId: parseActionId(input.actionId),
      operationDigest: requireDigest(input.operationDigest, 'operation_digest'),
      idempotencyKey: isIdempotencyKey(input.idempotencyKey)
        ? input.idempotencyKey
        : refuse('idempotency_key', 'invalid_idempotency_key'),
      state: requireWord(OBSERVATION_STATES, input.state, 'state', 'unknown_observation_state'),
      commitEvidenceDigest: input.commitEvidenceDigest ?? null,
    };
    requireEvidence(observation.state === 'committed', observation.commitEvidenceDigest, 'observation');
    return seal.seal(observation);
  },
} as const;

export function isObservation(value: unknown): value is EffectObservation {
  return seal.holds(value);
}
