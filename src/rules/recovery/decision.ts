/**
 * The outcome of a recovery.
 */
import { type JsonObject } from './json-value';
import { type RecoveryDisposition, type RecoveryReason } from './vocabulary';

export interface CommittedEffect {
  readonly actionId: string;
  readonly commitEvidenceDigest: string;
}

export interface RecoveryDecision {
  readonly schemaVersion: string;
  readonly disposition: RecoveryDisposition;
  readonly reason: RecoveryReason;
  readonly sourceCheckpointDigest: string;
  readonly retryEffectIds: readonly string[];
  readonly retryIdempotencyKeys: readonly string[];
  readonly committedEffects: readonly CommittedEffect[];
  readonly compensationEffectIds: readonly string[];
  readonly evidenceDigest: string;
}

export interface RecoveryDecisionInput {
  /** @default RECOVERY_EVIDENCE_SCHEMA_VERSION */
  readonly schemaVersion?: string;
  readonly disposition: RecoveryDisposition;
  readonly reason: RecoveryReason;
  readonly sourceCheckpointDigest: string;
  readonly retryEffectIds?: readonly string[];
  readonly retryIdempotencyKeys?: readonly string[];
  readonly committedEffects?: readonly CommittedEffect[];
  readonly compensationEffectIds?: readonly string[];
  /** When given, it must be the digest of the other fields. */
  readonly evidenceDigest?: string;
}

export const RecoveryDecision = {
  create(_input: RecoveryDecisionInput): RecoveryDecision {
    throw new Error('not built');
  },
  toDict(_decision: RecoveryDecision): JsonObject {
    throw new Error('not built');
  },
  toJson(_decision: RecoveryDecision): string {
    throw new Error('not built');
  },
} as const;
