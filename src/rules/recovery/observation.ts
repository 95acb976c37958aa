/**
 * What a sink was found to hold for one effect.
 */
import { type ObservationState } from './vocabulary';

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

export const EffectObservation = {
  create(_input: EffectObservationInput): EffectObservation {
    throw new Error('not built');
  },
} as const;
