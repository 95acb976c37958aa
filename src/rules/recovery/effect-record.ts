/**
 * One effect of a plan as a checkpoint records it.
 */
import { type JsonObject } from './json-value';
import { type CompensationLimit, type EffectKind, type EffectState } from './vocabulary';

export interface EffectRecord {
  readonly ordinal: bigint;
  readonly actionId: string;
  readonly toolId: string;
  readonly kind: EffectKind;
  readonly operationDigest: string;
  readonly idempotencyKey: string;
  readonly approvalRequired: boolean;
  readonly compensationLimit: CompensationLimit;
  readonly state: EffectState;
  readonly commitEvidenceDigest: string | null;
}

export interface EffectRecordInput {
  readonly runId: string;
  readonly ordinal: bigint;
  readonly actionId: string;
  readonly toolId: string;
  readonly kind: EffectKind;
  readonly operationDigest: string;
  readonly approvalRequired: boolean;
  readonly compensationLimit: CompensationLimit;
  /** @default 'pending' */
  readonly state?: EffectState;
  /** @default null */
  readonly commitEvidenceDigest?: string | null;
}

export const EffectRecord = {
  create(_input: EffectRecordInput): EffectRecord {
    throw new Error('not built');
  },
  fromDict(_value: unknown): EffectRecord {
    throw new Error('not built');
  },
  toDict(_effect: EffectRecord): JsonObject {
    throw new Error('not built');
  },
} as const;
