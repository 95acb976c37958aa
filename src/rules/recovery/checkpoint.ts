/**
 * One link of a lineage.
 */
import { type EffectRecord } from './effect-record';
import { type JsonObject } from './json-value';
import { type RecoveryPhase } from './vocabulary';

export interface RecoveryCheckpoint {
  readonly schemaVersion: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly sequence: bigint;
  readonly phase: RecoveryPhase;
  readonly planDigest: string;
  readonly approvalActionDigest: string | null;
  readonly approvalReceiptDigest: string | null;
  readonly approvalExpiresAt: bigint | null;
  readonly previousCheckpointDigest: string | null;
  readonly recoveryEvidenceDigest: string | null;
  readonly effects: readonly EffectRecord[];
  readonly checkpointDigest: string;
}

/** The fields of a checkpoint without its digest; absent optional ones are `null`. */
export interface RecoveryCheckpointInput {
  readonly workflowId: string;
  readonly runId: string;
  readonly sequence: bigint;
  readonly phase: RecoveryPhase;
  readonly planDigest: string;
  readonly approvalActionDigest?: string | null;
  readonly approvalReceiptDigest?: string | null;
  readonly approvalExpiresAt?: bigint | null;
  readonly previousCheckpointDigest?: string | null;
  readonly recoveryEvidenceDigest?: string | null;
  readonly effects: readonly EffectRecord[];
}

export interface ParseOptions {
  /** An earlier checkpoint of the same run: effects that did not change are taken from it, without hashing again. */
  readonly known?: RecoveryCheckpoint | null;
}

export const RecoveryCheckpoint = {
  create(_input: RecoveryCheckpointInput): RecoveryCheckpoint {
    throw new Error('not built');
  },
  fromDict(_value: unknown, _options?: ParseOptions): RecoveryCheckpoint {
    throw new Error('not built');
  },
  fromJson(_source: string | Uint8Array, _options?: ParseOptions): RecoveryCheckpoint {
    throw new Error('not built');
  },
  toDict(_checkpoint: RecoveryCheckpoint): JsonObject {
    throw new Error('not built');
  },
  toJson(_checkpoint: RecoveryCheckpoint): string {
    throw new Error('not built');
  },
} as const;

/** Whether a file holds exactly the canonical bytes of the checkpoint that was read from it. */
export function isCanonicalCheckpoint(_bytes: Uint8Array, _checkpoint: RecoveryCheckpoint): boolean {
  throw new Error('not built');
}
