/**
 * When a journal may be retired, and the plan that a person confirms. Invariant: only a finished run whose effects are all
 * committed and whose last file is old enough; and nothing is retired but exactly what the confirmed plan lists.
 */
import { canonicalJson } from './canonical-json';
import { type RecoveryCheckpoint } from './checkpoint';
import { refuse } from './errors';
import { requireDigest, requireInteger } from './fields';
import { validateCheckpointLineage } from './lineage';
import { recoverWorkflow } from './recover';
import { RetiredJournalRecord } from './retired-record';
import { isRetirementPlan, JournalRetirementPlan } from './retirement-plan';
import { Seal } from './sealed';
import { sha256Digest } from './sha256';
import { isTerminalPhase } from './vocabulary';

const NANOSECONDS = 1_000_000_000n;

export interface JournalRetentionPolicy {
  /** How old the last checkpoint file must be. Age counts from its modification time and must exceed this. */
  readonly minimumAgeSeconds: bigint;
}

const policies = new Seal<JournalRetentionPolicy>();

export const JournalRetentionPolicy = {
  create(input: { readonly minimumAgeSeconds: bigint }): JournalRetentionPolicy {
    return policies.seal({ minimumAgeSeconds: requireInteger(input.minimumAgeSeconds, 'minimum_age_seconds') });
  },
} as const;

/** Digest that ties a plan to one folder on one file system. */
export function deriveJournalBinding(folder: { readonly device: bigint; readonly inode: bigint }): string {
  return sha256Digest(canonicalJson({ device: folder.device, inode: folder.inode }));
}

export interface RetirementInput {
  readonly lineage: readonly RecoveryCheckpoint[];
  /** Modification time of the last checkpoint file. */
  readonly terminalMtimeNs: bigint;
  /** See `deriveJournalBinding`. */
  readonly journalBinding: string;
  /** Seconds. */
  readonly now: bigint;
  readonly policy: JournalRetentionPolicy;
}

/** The plan, or `null` when the journal may not be retired (yet). */
export function planRetirement(input: RetirementInput): JournalRetirementPlan | null {
  const { lineage, terminalMtimeNs, policy } = input;
  if (!policies.holds(policy)) return refuse('policy', 'invalid_retention_policy');
  const now = requireInteger(input.now, 'now');
  const head = validateCheckpointLineage(lineage, { allowEmpty: true });
  if (head === null || !isTerminalPhase(head.phase)) return null;
  if (head.effects.some((effect) => effect.state !== 'committed')) return null;
  requireInteger(terminalMtimeNs, 'terminal_mtime_ns');
  requireDigest(input.journalBinding, 'journal_binding');
  if (now * NANOSECONDS - terminalMtimeNs <= policy.minimumAgeSeconds * NANOSECONDS) return null;
  const effectCount = BigInt(head.effects.length);
  return JournalRetirementPlan.create({
    record: RetiredJournalRecord.create({
      finalCheckpointDigest: head.checkpointDigest,
      recoveryEvidenceDigest: recoverWorkflow(lineage, [], { now }).evidenceDigest,
      checkpointRecoveryEvidenceDigest: head.recoveryEvidenceDigest,
      phase: head.phase,
      checkpointCount: BigInt(lineage.length),
      effectCount,
      committedEffectCount: effectCount,
    }),
    minimumAgeSeconds: policy.minimumAgeSeconds,
    terminalMtimeNs,
    checkpointDigests: lineage.map((checkpoint) => checkpoint.checkpointDigest),
    plannedAt: now,
    journalBinding: input.journalBinding,
  });
}

export interface RetirementConfirmation {
  readonly plan: JournalRetirementPlan;
  /** What the person typed. */
  readonly confirmation: string;
  /** Seconds, read when the plan is carried out. */
  readonly now: bigint;
  /** The plan that the journal gives at that moment; `null` when it may not be retired. */
  readonly current: JournalRetirementPlan | null;
}

/** Refuses to carry out a plan that was not confirmed word for word or no longer describes the journal. */
export function requireConfirmedRetirement({ plan, confirmation, now, current }: RetirementConfirmation): void {
  if (!isRetirementPlan(plan)) refuse('plan', 'invalid_retirement_plan');
  requireInteger(now, 'now');
  if (confirmation !== JournalRetirementPlan.confirmationToken(plan)) refuse('plan', 'confirmation_required');
  if (now < plan.plannedAt) refuse('now', 'clock_moved_backwards');
  const same =
    current !== null &&
    current.record.recordDigest === plan.record.recordDigest &&
    current.terminalMtimeNs === plan.terminalMtimeNs &&
    current.journalBinding === plan.journalBinding &&
    current.checkpointDigests.join() === plan.checkpointDigests.join();
  if (!same) refuse('plan', 'retirement_plan_stale');
}
