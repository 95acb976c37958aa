/**
 * Only a finished, settled and old enough run is retired, and only as it was confirmed.
 *
 * Held here:
 * - eligibility: terminal, all committed, strictly older than the policy asks, to the nanosecond;
 * - the plan lists the whole lineage, its digest covers every field, and it survives its own text;
 * - the confirmation must be exact, the clock must not go back, and the journal must still be the planned one.
 */
import { describe, expect, it } from 'vitest';
import {
  deriveJournalBinding,
  JournalRetentionPolicy,
  JournalRetirementPlan,
  parseJson,
  planRetirement,
  recoverWorkflow,
  requireConfirmedRetirement,
  RetiredJournalRecord,
  type JsonObject,
  type JsonValue,
  type RetirementInput,
} from '../../../src/rules/recovery';
import { COMMITTED, digest, makeCheckpoint, makeEffects, makeSuccessor, refusalOf, toText } from './support';

const S = 1_000_000_000n;
const MTIME = 1_700_000_000n * S;
const start = makeCheckpoint({ phase: 'dispatching', effects: makeEffects(2, COMMITTED) });
const finished = [start, makeSuccessor(start, { phase: 'completed' })];
const journalBinding = deriveJournalBinding({ device: 66n, inode: 2n ** 60n });

const input: RetirementInput = {
  lineage: finished,
  terminalMtimeNs: MTIME,
  journalBinding,
  now: 1_700_000_101n,
  policy: JournalRetentionPolicy.create({ minimumAgeSeconds: 100n }),
};
const plan = planRetirement(input) as JournalRetirementPlan;

describe('eligibility', () => {
  const pending = makeCheckpoint({ phase: 'aborted' });
  it.each<readonly [string, Partial<RetirementInput>, boolean]>([
    ['finished and old', {}, true],
    [
      'aborted, all committed',
      { lineage: [makeCheckpoint({ phase: 'aborted', effects: makeEffects(1, COMMITTED) })] },
      true,
    ],
    ['aborted, one pending', { lineage: [pending] }, false],
    ['not finished', { lineage: [start] }, false],
    ['empty', { lineage: [] }, false],
    ['exactly as old as asked', { now: 1_700_000_100n }, false],
    ['a nanosecond older', { now: 1_700_000_100n, terminalMtimeNs: MTIME - 1n }, true],
    ['from the future', { now: 1_600_000_000n }, false],
  ])('%s: %s', (_, fields, eligible) => {
    expect(planRetirement({ ...input, ...fields }) !== null).toBe(eligible);
  });

  it.each<readonly [string, string, Partial<Record<keyof RetirementInput, unknown>>]>([
    ['policy: invalid_retention_policy', 'a policy that was not made', { policy: { minimumAgeSeconds: 0n } }],
    ['now: invalid_non_negative_integer', 'no time', { now: -1n }],
    ['lineage: checkpoint_sequence_gap', 'a lineage that is none', { lineage: [finished[1]] }],
    ['terminal_mtime_ns: invalid_non_negative_integer', 'no age', { terminalMtimeNs: 1 }],
    ['journal_binding: invalid_digest', 'no journal', { journalBinding: 'here' }],
  ])('%s for %s', (text, _, fields) => {
    expect(refusalOf(() => planRetirement({ ...input, ...fields } as RetirementInput))).toBe(text);
  });

  it('a policy needs an age', () => {
    expect(refusalOf(() => JournalRetentionPolicy.create({ minimumAgeSeconds: 1.5 as unknown as bigint }))).toBe(
      'minimum_age_seconds: invalid_non_negative_integer',
    );
  });
});

describe('the plan', () => {
  it('lists the whole lineage and vouches for its end', () => {
    expect(plan.checkpointDigests).toEqual(finished.map(({ checkpointDigest }) => checkpointDigest));
    expect(plan.record).toMatchObject({
      finalCheckpointDigest: finished[1]?.checkpointDigest,
      recoveryEvidenceDigest: recoverWorkflow(finished, [], { now: 0n }).evidenceDigest,
      phase: 'completed',
      checkpointCount: 2n,
      effectCount: 2n,
      committedEffectCount: 2n,
    });
    expect(JournalRetirementPlan.dryRun(plan)).toBe(true);
    expect(JournalRetirementPlan.confirmationToken(plan)).toBe(`confirm:${plan.planDigest}`);
  });

  it('survives its own text', () => {
    expect(JournalRetirementPlan.fromJson(JournalRetirementPlan.toJson(plan))).toEqual(plan);
  });

  it('has a digest over every field', () => {
    const dict = JournalRetirementPlan.toDict(plan);
    for (const [field, value] of Object.entries(dict)) {
      const changed = typeof value === 'bigint' ? value + 1n : field === 'journal_binding' ? digest('other') : null;
      if (changed === null) continue;
      expect(refusalOf(() => JournalRetirementPlan.fromJson(toText({ ...dict, [field]: changed })))).toBe(
        'plan: retirement_plan_digest_mismatch',
      );
    }
  });

  const other = planRetirement({
    ...input,
    lineage: [makeCheckpoint({ phase: 'completed', effects: makeEffects(1, COMMITTED) })],
  });
  it.each<readonly [string, string, (dict: JsonObject) => JsonValue]>([
    ['plan: not_a_mapping', 'a list', () => []],
    ['plan: unknown_field', 'one field more', (dict) => ({ ...dict, note: 1n })],
    ['plan: missing_field', 'one field less', ({ dry_run: _, ...dict }) => dict],
    ['plan: invalid_retirement_plan', 'another version', (dict) => ({ ...dict, schema_version: 'v2' })],
    ['plan: invalid_retirement_plan', 'no dry run', (dict) => ({ ...dict, dry_run: false })],
    ['record: not_a_mapping', 'no record', (dict) => ({ ...dict, record: null })],
    ['plan: invalid_checkpoint_manifest', 'no manifest', (dict) => ({ ...dict, checkpoint_digests: {} })],
    [
      'checkpoint_digests: invalid_digest',
      'a manifest of something else',
      (dict) => ({ ...dict, checkpoint_digests: ['x', 'y'] }),
    ],
    [
      'plan: invalid_checkpoint_manifest',
      'a shorter manifest',
      (dict) => ({ ...dict, checkpoint_digests: [plan.record.finalCheckpointDigest] }),
    ],
    [
      'plan: invalid_checkpoint_manifest',
      'a manifest with another end',
      (dict) => ({ ...dict, checkpoint_digests: [...plan.checkpointDigests].reverse() }),
    ],
    [
      'plan: invalid_checkpoint_manifest',
      'the record of another run',
      (dict) => ({ ...dict, record: RetiredJournalRecord.toDict((other as JournalRetirementPlan).record) }),
    ],
    ['plan_digest: invalid_digest', 'no digest', (dict) => ({ ...dict, plan_digest: null })],
  ])('%s: %s', (text, _, change) => {
    const changed = change(JournalRetirementPlan.toDict(plan));
    expect(refusalOf(() => JournalRetirementPlan.fromJson(toText(changed)))).toBe(text);
  });

  it.each<readonly [string, Partial<Record<keyof JournalRetirementPlan, unknown>>]>([
    ['minimum_age_seconds: invalid_non_negative_integer', { minimumAgeSeconds: -1n }],
    ['terminal_mtime_ns: invalid_non_negative_integer', { terminalMtimeNs: 2n ** 63n }],
    ['planned_at: invalid_non_negative_integer', { plannedAt: 1 }],
    ['journal_binding: invalid_digest', { journalBinding: 'x' }],
    ['plan: invalid_checkpoint_manifest', { checkpointDigests: null }],
    [
      'plan: invalid_checkpoint_manifest',
      { checkpointDigests: [plan.record.finalCheckpointDigest, plan.record.finalCheckpointDigest] },
    ],
  ])('%s', (text, fields) => {
    expect(refusalOf(() => JournalRetirementPlan.create({ ...plan, ...fields } as JournalRetirementPlan))).toBe(text);
  });

  it('takes only a record that was read or made', () => {
    const forged = { ...plan, record: { ...plan.record } };
    expect(refusalOf(() => JournalRetirementPlan.create(forged))).toBe('plan: invalid_retired_record');
  });
});

describe('carrying it out', () => {
  const confirmation = JournalRetirementPlan.confirmationToken(plan);
  const current = planRetirement({ ...input, now: input.now + 50n });
  const again = { plan, confirmation, now: input.now + 50n, current };
  it.each<readonly [string, Partial<Record<keyof typeof again, unknown>>]>([
    ['no refusal', {}],
    ['plan: invalid_retirement_plan', { plan: { ...plan } }],
    ['now: invalid_non_negative_integer', { now: 1.5 }],
    ['plan: confirmation_required', { confirmation: '' }],
    ['plan: confirmation_required', { confirmation: plan.planDigest }],
    ['plan: confirmation_required', { confirmation: `${confirmation} ` }],
    ['now: clock_moved_backwards', { now: input.now - 1n }],
    ['plan: retirement_plan_stale', { current: null }],
    ['plan: retirement_plan_stale', { current: planRetirement({ ...input, terminalMtimeNs: MTIME - 1n }) }],
    ['plan: retirement_plan_stale', { current: planRetirement({ ...input, journalBinding: digest('elsewhere') }) }],
  ])('%s', (text, fields) => {
    expect(refusalOf(() => requireConfirmedRetirement({ ...again, ...fields } as typeof again))).toBe(text);
  });
});

describe('the record that stays', () => {
  it('verifies a summary that names both of its digests', () => {
    const { finalCheckpointDigest, recoveryEvidenceDigest } = plan.record;
    const verify = (artifactDigests: readonly string[]): boolean =>
      RetiredJournalRecord.verifiesSummary(plan.record, { artifactDigests });
    expect(verify([digest('x'), recoveryEvidenceDigest, finalCheckpointDigest])).toBe(true);
    expect(verify([finalCheckpointDigest])).toBe(false);
    expect(verify([recoveryEvidenceDigest])).toBe(false);
    expect(refusalOf(() => verify(null as unknown as string[]))).toBe('summary: invalid_summary');
    expect(refusalOf(() => RetiredJournalRecord.verifiesSummary({ ...plan.record }, { artifactDigests: [] }))).toBe(
      'record: invalid_retired_record',
    );
  });

  it('is the canonical text of its fields', () => {
    const text = RetiredJournalRecord.toJson(plan.record);
    expect(RetiredJournalRecord.fromDict(parseJson(text, 'record'))).toEqual(plan.record);
  });
});
