/**
 * What is left of a journal after its retirement. Invariant: only a finished run has one, every effect of it is committed,
 * and the record's digest covers all other fields.
 */
import { canonicalJson } from './canonical-json';
import { refuse } from './errors';
import { requireDigest, requireDigestOrNull, requireFields, requireInteger } from './fields';
import { parseJson } from './json-reader';
import { type JsonObject } from './json-value';
import { RETIRED_JOURNAL_SCHEMA_VERSION } from './limits';
import { Seal } from './sealed';
import { sha256Digest } from './sha256';
import { isTerminalPhase, isWord, RECOVERY_PHASES, type TerminalPhase } from './vocabulary';

export interface RetiredJournalRecord {
  readonly schemaVersion: string;
  readonly finalCheckpointDigest: string;
  /** Evidence digest of recovering the finished lineage. */
  readonly recoveryEvidenceDigest: string;
  /** Evidence digest that the final checkpoint itself carries. */
  readonly checkpointRecoveryEvidenceDigest: string | null;
  readonly phase: TerminalPhase;
  readonly checkpointCount: bigint;
  readonly effectCount: bigint;
  readonly committedEffectCount: bigint;
  readonly recordDigest: string;
}

export type RetiredJournalRecordInput = Omit<RetiredJournalRecord, 'schemaVersion' | 'recordDigest'>;

type Unsealed = Omit<RetiredJournalRecord, 'recordDigest'>;

const FIELDS: ReadonlySet<string> = new Set([
  'schema_version',
  'final_checkpoint_digest',
  'recovery_evidence_digest',
  'checkpoint_recovery_evidence_digest',
  'phase',
  'checkpoint_count',
  'effect_count',
  'committed_effect_count',
  'record_digest',
]);

const seal = new Seal<RetiredJournalRecord>();

export const RetiredJournalRecord = {
  create(input: RetiredJournalRecordInput): RetiredJournalRecord {
    const unsealed = requireRules({
      schemaVersion: RETIRED_JOURNAL_SCHEMA_VERSION,
      finalCheckpointDigest: input.finalCheckpointDigest,
      recoveryEvidenceDigest: input.recoveryEvidenceDigest,
      checkpointRecoveryEvidenceDigest: input.checkpointRecoveryEvidenceDigest,
      phase: input.phase,
      checkpointCount: input.checkpointCount,
      effectCount: input.effectCount,
      committedEffectCount: input.committedEffectCount,
    });
    return seal.seal({ ...unsealed, recordDigest: digestOf(unsealed) });
  },

  fromJson(source: string | Uint8Array): RetiredJournalRecord {
    return RetiredJournalRecord.fromDict(parseJson(source, 'record'));
  },

  /** Reads a record from parsed JSON, where integers are `bigint`. */
  fromDict(value: unknown): RetiredJournalRecord {
    const dict = requireFields(value, 'record', FIELDS);
    const unsealed = requireRules({
      schemaVersion: dict.schema_version as string,
      finalCheckpointDigest: dict.final_checkpoint_digest as string,
      recoveryEvidenceDigest: dict.recovery_evidence_digest as string,
      checkpointRecoveryEvidenceDigest: dict.checkpoint_recovery_evidence_digest as string | null,
      phase: dict.phase as TerminalPhase,
      checkpointCount: dict.checkpoint_count as bigint,
      effectCount: dict.effect_count as bigint,
      committedEffectCount: dict.committed_effect_count as bigint,
    });
    const recordDigest = requireDigest(dict.record_digest, 'record_digest');
    if (recordDigest !== digestOf(unsealed)) refuse('record', 'retired_digest_mismatch');
    return seal.seal({ ...unsealed, recordDigest });
  },

  toDict(record: RetiredJournalRecord): JsonObject {
    return { ...toUnsealedDict(record), record_digest: record.recordDigest };
  },

  /** Canonical JSON: exactly the content of `retired.json`. */
  toJson(record: RetiredJournalRecord): string {
    return canonicalJson(RetiredJournalRecord.toDict(record));
  },

  /** Whether a run's summary names both digests that this record vouches for. */
  verifiesSummary(record: RetiredJournalRecord, summary: { readonly artifactDigests: readonly string[] }): boolean {
    if (!isRetiredRecord(record)) refuse('record', 'invalid_retired_record');
    const digests: unknown = (summary as { readonly artifactDigests?: unknown } | null | undefined)?.artifactDigests;
    if (!Array.isArray(digests)) return refuse('summary', 'invalid_summary');
    return digests.includes(record.finalCheckpointDigest) && digests.includes(record.recoveryEvidenceDigest);
  },
} as const;

export function isRetiredRecord(value: unknown): value is RetiredJournalRecord {
  return seal.holds(value);
}

function requireRules(record: Unsealed): Unsealed {
  const { phase, effectCount, committedEffectCount } = record;
  if (!isWord(RECOVERY_PHASES, phase)) refuse('record', 'invalid_retired_record');
  if (record.schemaVersion !== RETIRED_JOURNAL_SCHEMA_VERSION) refuse('schema_version', 'unsupported_retired_version');
  requireDigest(record.finalCheckpointDigest, 'final_checkpoint_digest');
  requireDigest(record.recoveryEvidenceDigest, 'recovery_evidence_digest');
  requireDigestOrNull(record.checkpointRecoveryEvidenceDigest, 'checkpoint_recovery_evidence_digest');
  if (!isTerminalPhase(phase)) refuse('record', 'nonterminal_record');
  requireInteger(record.checkpointCount, 'checkpoint_count');
  requireInteger(effectCount, 'effect_count');
  requireInteger(committedEffectCount, 'committed_effect_count');
  if (record.checkpointCount === 0n || effectCount !== committedEffectCount) {
    refuse('record', 'ambiguous_terminal_record');
  }
  return record;
}

function digestOf(record: Unsealed): string {
  return sha256Digest(canonicalJson(toUnsealedDict(record)));
}

function toUnsealedDict(record: Unsealed): JsonObject {
  return {
    schema_version: record.schemaVersion,
    final_checkpoint_digest: record.finalCheckpointDigest,
    recovery_evidence_digest: record.recoveryEvidenceDigest,
    checkpoint_recovery_evidence_digest: record.checkpointRecoveryEvidenceDigest,
    phase: record.phase,
    checkpoint_count: record.checkpointCount,
    effect_count: record.effectCount,
    committed_effect_count: record.committedEffectCount,
  };
}
