/**
 * Properties of staging, over stores in memory:
 * - staging again, and side by side, gives the same plan and stores the same; a Ref and its content are the same call;
 * - a plan that the journal knows is answered as it stands there, whatever this worker demands by now; another tool, other
 *   arguments, another order or another workflow is a conflict, or another run;
 * - a call that is refused stores nothing: an unknown effect, arguments that do not fit, a Ref to nothing, a bad id, one id twice;
 * - a content store that has lost the run says so instead of making another plan of it.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineEffect, type EffectDefinition } from '../../src';
import { Contents } from '../../src/activities/contents';
import type { StageRequest } from '../../src/activities/contract';
import { Journal } from '../../src/activities/journal';
import { Registry } from '../../src/activities/registry';
import { stage } from '../../src/activities/stage';
import { refTo } from '../../src/rules/calls/ref';
import { planFromRecord } from '../../src/rules/plans/plan';
import type { Dict } from '../../src/rules/fields';
import { MemoryStore } from './simulation/store';
import { ToldSink } from './support';

const sink = new ToldSink().sink();
const charge = defineEffect({ tool: 'tool:example.org/charge@1.0.0', sink, input: z.object({ cents: z.number() }) });
const notify = defineEffect({ tool: 'tool:example.org/notify@1.0.0', sink, input: z.unknown() });

let journal: MemoryStore;
let contents: MemoryStore;
beforeEach(() => {
  journal = new MemoryStore();
  contents = new MemoryStore();
});

const CALL: StageRequest = {
  origin: 'order',
  effect: 'charge',
  id: 'payment',
  order: 'ordered',
  calls: [{ effect: 'charge', id: 'payment', args: { cents: 5 } }],
};
const args = (given: unknown): Partial<StageRequest> => ({ calls: [{ effect: 'charge', id: 'payment', args: given }] });

function staged(
  change: Partial<StageRequest> = {},
  effects: Record<string, EffectDefinition> | EffectDefinition[] = { charge, notify },
  workflowId = 'order-7',
): Promise<Dict> {
  const stores = { journal: new Journal(journal), contents: new Contents(contents), registry: new Registry(effects) };
  return stage(stores, workflowId, { ...CALL, ...change });
}

const known = async (): Promise<Dict> => {
  const plan = await staged();
  await new Journal(journal).createPlan(planFromRecord(plan));
  return plan;
};

test('the same call is the same plan', async () => {
  const [first, ...others] = await Promise.all([staged(), staged(), staged()]);
  expect(others).toEqual([first, first]);
  const before = contents.entries.size;
  const ref = refTo(await new Contents(contents).putContent({ cents: 5 }));
  expect(await staged(args(ref))).toEqual(first);
  expect(await staged(args({ cents: refTo(await new Contents(contents).putContent(5)) }))).toEqual(first);
  expect(contents.entries.size).toBe(before + 2);
  expect(journal.entries.size).toBe(0);
});

test('what the journal knows stays as it is', async () => {
  const plan = await known();
  const stricter = {
    charge: { ...charge, approvalRequired: true, compensationLimit: 'propose_only' as const },
    notify,
  };
  expect(await staged({}, stricter)).toEqual(plan);
});

test.each<[string, Partial<StageRequest>, Record<string, EffectDefinition>]>([
  ['other arguments', args({ cents: 6 }), { charge, notify }],
  ['another tool', {}, { charge: { ...charge, toolId: 'tool:example.org/charge@2.0.0' }, notify }],
  ['another order', { order: 'independent' }, { charge, notify }],
  ['another effect in it', { calls: [...CALL.calls, { effect: 'notify', id: 'n', args: 1 }] }, { charge, notify }],
])('%s is a conflict', async (_name, change, effects) => {
  await known();
  await expect(staged(change, effects)).rejects.toMatchObject({ code: 'plan_conflict' });
});

test.each<[string, Partial<StageRequest>, string]>([
  ['origin', { origin: 'invoice' }, 'order-7'],
  ['id', { id: 'second' }, 'order-7'],
  ['effect', { effect: null }, 'order-7'],
  ['workflow', {}, 'order-8'],
])('another %s is another run', async (_name, change, workflowId) => {
  const plan = await known();
  expect((await staged(change, undefined, workflowId))['run_id']).not.toBe(plan['run_id']);
});

describe('a refused call stores nothing', () => {
  test.each<[string, Partial<StageRequest>, string]>([
    ['an unknown effect', { calls: [{ effect: 'refund', id: 'x', args: {} }] }, 'no_adapter'],
    ['an inherited name', { calls: [{ effect: 'toString', id: 'x', args: {} }] }, 'no_adapter'],
    ['arguments that do not fit', args({ cents: 'five' }), 'invalid_arguments'],
    ['a Ref to nothing', args(refTo(`sha256:${'0'.repeat(64)}`)), 'content_missing'],
    ['a bad id', { id: '' }, 'invalid_arguments'],
    ['one id twice', { effect: null, calls: [...CALL.calls, ...CALL.calls] }, 'invalid_plan'],
    ['no effect', { effect: null, calls: [] }, 'invalid_arguments'],
  ])('%s', async (_name, change, code) => {
    await expect(staged(change)).rejects.toMatchObject({ code });
    expect([contents.entries.size, journal.entries.size]).toEqual([0, 0]);
  });

  test('effects without names', async () => {
    await expect(staged({}, [charge, notify])).rejects.toMatchObject({ code: 'no_adapter' });
  });
});

test('a lost salt is not another plan', async () => {
  await known();
  contents.entries.clear();
  await expect(staged()).rejects.toMatchObject({ code: 'content_missing' });
});
