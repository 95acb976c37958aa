/**
 * When a journal may be retired, and the plan that a person confirms.
 */
import { type RecoveryCheckpoint } from './checkpoint';
import { type JsonObject } from './json-value';
import { type RetiredJournalRecord } from './retired-record';

export interface JournalRetentionPolicy {
  readonly minimumAgeSeconds: bigint;
}

export const JournalRetentionPolicy = {
  create(_input: { readonly minimumAgeSeconds: bigint }): JournalRetentionPolicy {
    throw new Error('not built');
  },
} as const;

export interface JournalRetirementPlan {
  readonly schemaVersion: string;
  readonly record: RetiredJournalRecord;
  readonly minimumAgeSeconds: bigint;
  readonly terminalMtimeNs: bigint;
  readonly checkpointDigests: readonly string[];
  readonly plannedAt: bigint;
  readonly journalBinding: string;
  readonly planDigest: string;
}

export const JournalRetirementPlan = {
  fromJson(_source: string | Uint8Array): JournalRetirementPlan {
    throw new Error('not built');
  },
  toDict(_plan: JournalRetirementPlan): JsonObject {
    throw new Error('not built');
  },
  toJson(_plan: JournalRetirementPlan): string {
    throw new Error('not built');
  },
  /** The text that a person types to carry the plan out. */
  confirmationToken(_plan: JournalRetirementPlan): string {
    throw new Error('not built');
  },
  /** Always true: a plan describes, it never deletes. */
  dryRun(_plan: JournalRetirementPlan): true {
    return true;
  },
} as const;

/** Digest that ties a plan to one folder on one file system. */
export function deriveJournalBinding(_folder: { readonly device: bigint; readonly inode: bigint }): string {
  throw new Error('not built');
}

export interface RetirementInput {
  readonly lineage: readonly RecoveryCheckpoint[];
  /** Modification time of the last checkpoint file. */
  readonly terminalMtimeNs: bigint;
  readonly journalBinding: string;
  /** Seconds. */
  readonly now: bigint;
  readonly policy: JournalRetentionPolicy;
}

/** The plan, or `null` when the journal may not be retired (yet). */
export function planRetirement(_input: RetirementInput): JournalRetirementPlan | null {
  throw new Error('not built');
}
