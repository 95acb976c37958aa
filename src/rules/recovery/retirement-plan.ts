/**
 * The plan of a retirement, as it is shown, stored and confirmed. Invariant: it lists every checkpoint that will be
 * deleted, its digest covers all of it, and the text that confirms it contains that digest.
 */
import { canonicalJson } from './canonical-json';
import { refuse } from './errors';
import { requireDigest, requireFields, requireInteger } from './fields';
import { isDigest } from './identifiers';
import { parseJson } from './json-reader';
import { type JsonObject } from './json-value';
import { RETIREMENT_PLAN_SCHEMA_VERSION } from './limits';
import { isRetiredRecord, RetiredJournalRecord } from './retired-record';
import { Seal } from './sealed';
import { sha256Digest } from './sha256';

export interface JournalRetirementPlan {
  readonly schemaVersion: string;
  /** What will replace the checkpoints. */
  readonly record: RetiredJournalRecord;
  readonly minimumAgeSeconds: bigint;
  readonly terminalMtimeNs: bigint;
  readonly checkpointDigests: readonly string[];
  readonly plannedAt: bigint;
  readonly journalBinding: string;
  readonly planDigest: string;
}

export type JournalRetirementPlanInput = Omit<JournalRetirementPlan, 'schemaVersion' | 'planDigest'>;

type Unsealed = Omit<JournalRetirementPlan, 'planDigest'>;

const FIELDS: ReadonlySet<string> = new Set([
  'schema_version',
  'record',
  'minimum_age_seconds',
  'terminal_mtime_ns',
  'checkpoint_digests',
  'planned_at',
  'journal_binding',
  'dry_run',
  'plan_digest',
]);

const seal = new Seal<JournalRetirementPlan>();

export const JournalRetirementPlan = {
  create(input: JournalRetirementPlanInput): JournalRetirementPlan {
    const unsealed = requireRules({
      schemaVersion: RETIREMENT_PLAN_SCHEMA_VERSION,
      record: input.record,
      minimumAgeSeconds: input.minimumAgeSeconds,
      terminalMtimeNs: input.terminalMtimeNs,
      checkpointDigests: input.checkpointDigests,
      plannedAt: input.plannedAt,
      journalBinding: input.journalBinding,
    });
    return seal.seal({ ...unsealed, planDigest: digestOf(unsealed) });
  },

  fromJson(source: string | Uint8Array): JournalRetirementPlan {
    const dict = requireFields(parseJson(source, 'plan'), 'plan', FIELDS);
    if (dict.schema_version !== RETIREMENT_PLAN_SCHEMA_VERSION || dict.dry_run !== true) {
      refuse('plan', 'invalid_retirement_plan');
    }
    const unsealed = requireRules({
      schemaVersion: RETIREMENT_PLAN_SCHEMA_VERSION,
      record: RetiredJournalRecord.fromDict(dict.record),
      minimumAgeSeconds: dict.minimum_age_seconds as bigint,
      terminalMtimeNs: dict.terminal_mtime_ns as bigint,
      checkpointDigests: dict.checkpoint_digests as readonly string[],
      plannedAt: dict.planned_at as bigint,
      journalBinding: dict.journal_binding as string,
    });
    const planDigest = requireDigest(dict.plan_digest, 'plan_digest');
    if (planDigest !== digestOf(unsealed)) refuse('plan', 'retirement_plan_digest_mismatch');
    return seal.seal({ ...unsealed, planDigest });
  },

  toDict(plan: JournalRetirementPlan): JsonObject {
    return { ...toUnsealedDict(plan), plan_digest: plan.planDigest };
  },

  toJson(plan: JournalRetirementPlan): string {
    return canonicalJson(JournalRetirementPlan.toDict(plan));
  },

  /** The text that a person types to carry the plan out. */
  confirmationToken(plan: JournalRetirementPlan): string {
    return `confirm:${plan.planDigest}`;
  },

  /** Always true: a plan describes, it never deletes. */
  dryRun(_plan: JournalRetirementPlan): true {
    return true;
  },
} as const;

export function isRetirementPlan(value: unknown): value is JournalRetirementPlan {
  return seal.holds(value);
}

function requireRules(plan: Unsealed): Unsealed {
  const { record, checkpointDigests } = plan;
  if (!isRetiredRecord(record)) refuse('plan', 'invalid_retired_record');
  requireInteger(plan.minimumAgeSeconds, 'minimum_age_seconds');
  requireInteger(plan.terminalMtimeNs, 'terminal_mtime_ns');
  requireInteger(plan.plannedAt, 'planned_at');
  if (!Array.isArray(checkpointDigests)) return refuse('plan', 'invalid_checkpoint_manifest');
  if (!checkpointDigests.every(isDigest)) refuse('checkpoint_digests', 'invalid_digest');
  // The manifest is the whole lineage: as long as the record counts, each once, ending with the final checkpoint.
  const whole =
    BigInt(checkpointDigests.length) === record.checkpointCount &&
    new Set(checkpointDigests).size === checkpointDigests.length &&
    checkpointDigests[checkpointDigests.length - 1] === record.finalCheckpointDigest;
  if (!whole) refuse('plan', 'invalid_checkpoint_manifest');
  requireDigest(plan.journalBinding, 'journal_binding');
  return { ...plan, checkpointDigests: Object.freeze([...checkpointDigests]) };
}

function digestOf(plan: Unsealed): string {
  return sha256Digest(canonicalJson(toUnsealedDict(plan)));
}

function toUnsealedDict(plan: Unsealed): JsonObject {
  return {
    schema_version: plan.schemaVersion,
    record: RetiredJournalRecord.toDict(plan.record),
    minimum_age_seconds: plan.minimumAgeSeconds,
    terminal_mtime_ns: plan.terminalMtimeNs,
    checkpoint_digests: plan.checkpointDigests,
    planned_at: plan.plannedAt,
    journal_binding: plan.journalBinding,
    dry_run: true,
  };
}
