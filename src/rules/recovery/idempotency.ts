/**
 * The idempotency key of an effect.
 */
import { type EffectKind } from './vocabulary';

export interface EffectIdentity {
  readonly runId: string;
  readonly actionId: string;
  readonly toolId: string;
  readonly kind: EffectKind;
  readonly operationDigest: string;
}

export function deriveIdempotencyKey(_identity: EffectIdentity): string {
  throw new Error('not built');
}
