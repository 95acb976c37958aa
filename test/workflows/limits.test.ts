/**
 * Properties at the limits:
 * - a plan of 1,000 effects completes with each written once, in a history of at most 60 events and 2 MB;
 * - a plan one effect past the size of its all-committed form is refused by the client before anything is stored, and by the
 *   workflow, started by hand with a hand-made record, before anything is written or sent.
 */
import { type ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { carrierWorkflowId } from '../../src/rules/plans/identity';
import { createPlan, largestCheckpointBytes, planToRecord, type GovernedPlan } from '../../src/rules/plans/plan';
import { MAX_CHECKPOINT_BYTES, canonicalJson, sha256Digest } from '../../src/rules/recovery';
import { failureOf, useRig } from '../support/rig';
import { runsIn } from './scenarios/support';

const rig = useRig();

test('1,000 effects', async () => {
  await rig.worker();
  const handle = await rig.start(Array.from({ length: 1_000 }, () => 'lookup' as const));
  const outcome = await handle.result();
  expect(outcome.status).toBe('completed');
  expect(outcome.effects.every(({ state }) => state === 'committed')).toBe(true);
  const { keys, received } = rig.sinks.counts();
  expect([keys.length, received, keys.every(({ writes }) => writes === 1)]).toEqual([1_000, 1_000, true]);
  const { historyLength, historySize } = await handle.workflow.describe();
  expect(historyLength).toBeLessThanOrEqual(60);
  expect(historySize).toBeLessThan(2 * 1024 * 1024);
});

/** The most effects that a plan of this kind can have: both sides of the limit, by the rules' own measure. */
async function atTheLimit(): Promise<{ most: number; plan: GovernedPlan }> {
  const one = await rig.prepare(['lookup', 'lookup']);
  const bytes = largestCheckpointBytes(one);
  const single = largestCheckpointBytes(createPlan({ ...one, effects: one.effects.slice(0, 1) }));
  return { most: Math.floor((MAX_CHECKPOINT_BYTES - bytes) / (bytes - single)), plan: one };
}

test('one effect past the size limit', async () => {
  const { most, plan } = await atTheLimit();
  const [fits, count] = await lastThatFits(plan, most);
  expect(largestCheckpointBytes(fits)).toBeLessThanOrEqual(MAX_CHECKPOINT_BYTES);

  const stored = await rig.contents.list('operations');
  const effects = Array.from({ length: count + 1 }, () => 'lookup' as const);
  await expect(rig.prepare(effects)).rejects.toMatchObject({ code: 'plan_too_large', field: 'effects' });
  expect(await rig.contents.list('operations')).toEqual(stored);

  await rig.worker();
  const { plan_digest: _, ...body } = planToRecord(fits);
  const grown = { ...body, effects: planned(plan, count + 1) };
  const input = { plan: { ...grown, plan_digest: sha256Digest(canonicalJson(grown as never)) } };
  const handle = await rig.client.workflow.start('governedPlan', {
    ...{ workflowId: carrierWorkflowId(plan.runId), taskQueue: rig.taskQueue, args: [input] },
  });
  const failure = (await failureOf(handle.result())) as ApplicationFailure;
  expect([failure.type, failure.nonRetryable]).toEqual(['plan_too_large', true]);
  expect([rig.sinks.counts().received, await runsIn(rig)]).toEqual([0, []]);
});

function planned(plan: GovernedPlan, count: number): Record<string, unknown>[] {
  const record = (planToRecord(plan)['effects'] as Record<string, unknown>[])[0];
  return Array.from({ length: count }, (_, index) => ({
    ...record,
    action_id: `act_${index.toString(16).padStart(32, '0')}`,
  }));
}

/** From an estimate to the exact limit. */
async function lastThatFits(plan: GovernedPlan, estimate: number): Promise<[GovernedPlan, number]> {
  const [first] = plan.effects;
  const make = (count: number): GovernedPlan | null => {
    const effects = Array.from({ length: count }, (_, index) => ({
      ...first!,
      actionId: `act_${index.toString(16).padStart(32, '0')}`,
    }));
    try {
      return createPlan({ ...plan, effects });
    } catch {
      return null;
    }
  };
  let count = estimate + 5;
  for (let made = make(count); ; made = make(--count)) if (made !== null) return [made, count];
}
