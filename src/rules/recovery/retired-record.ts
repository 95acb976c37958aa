/**
 * What is left of a journal after its retirement.
 */
import { type JsonObject } from './json-value';
import { type TerminalPhase } from './vocabulary';

export interface RetiredJournalRecord {
  readonly schemaVersion: string;
  readonly finalCheckpointDigest: string;
  readonly recoveryEvidenceDigest: string;
  readonly checkpointRecoveryEvidenceDigest: string | null;
  readonly phase: TerminalPhase;
  readonly checkpointCount: bigint;
  readonly effectCount: bigint;
  readonly committedEffectCount: bigint;
  readonly recordDigest: string;
}

export type RetiredJournalRecordInput = Omit<RetiredJournalRecord, 'schemaVersion' | 'recordDigest'>;

export const RetiredJournalRecord = {
  create(_input: RetiredJournalRecordInput): RetiredJournalRecord {
    throw new Error('not built');
  },
  fromDict(_value: unknown): RetiredJournalRecord {
    throw new Error('not built');
  },
  fromJson(_source: string | Uint8Array): RetiredJournalRecord {
    throw new Error('not built');
  },
  toDict(_record: RetiredJournalRecord): JsonObject {
    throw new Error('not built');
  },
  toJson(_record: RetiredJournalRecord): string {
    throw new Error('not built');
  },
  /** Whether a run summary names this record's final checkpoint and evidence among its artifact digests. */
  verifiesSummary(_record: RetiredJournalRecord, _summary: { readonly artifactDigests: readonly string[] }): boolean {
    throw new Error('not built');
  },
} as const;
