/**
 * What becomes of a call whose worker was killed, stopped or asked to end, by the tool's class. Real processes, real signals.
 *
 * Held here:
 * - read_only and idempotent_write: the same call is executed again by another worker, and its result delivered (acceptance 2);
 * - non_idempotent_write, irreversible_action and an undeclared class: not executed again; a review stands open (acceptance 3, dispatch);
 * - a look-up that finds the write settles the call without anybody, and without a second execution;
 * - losing the lease makes a call unknown, not failed, and frees its place for the next call;
 * - while a stopped worker still has the call, another worker neither executes nor completes it; its late result settles the call;
 * - SIGTERM of a tool worker finishes the call in hand, and keeps every waiting call for the next worker;
 * - all that while workflows are evicted from memory again and again: no more than two of them are kept.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { carrierWorkflowId } from '../../../src/rules/plans/identity';
import type { SideEffectClass } from '../../../src/ports';
import type { PlanStatus } from '../../../src/client';
import { QueueStand } from './stand';

const stand = new QueueStand();
beforeAll(async () => {
  await stand.open();
  await stand.workflows(2);
});
afterAll(() => stand.close());

const until = <T>(look: () => T | Promise<T>) => expect.poll(look, { timeout: 90_000, interval: 50 });
const LEASE = { lease_ms: 3_000 };
const WRITES: readonly (SideEffectClass | undefined)[] = ['non_idempotent_write', 'irreversible_action', undefined];
const classOf = (sideEffect: SideEffectClass | undefined): object => (sideEffect === undefined ? {} : { sideEffect });

async function planStatus(runId: string): Promise<PlanStatus> {
  return stand.client.workflow.getHandle(carrierWorkflowId(runId)).query<PlanStatus>('status');
}

describe('the worker is killed in the middle of a call', { timeout: 240_000 }, () => {
  test.each(['read_only', 'idempotent_write'] as const)('%s: executed again', async (sideEffect) => {
    const tool = stand.tool();
    const first = await stand.tools([{ tool, sideEffect, slots: 1 }]);
    const session = await stand.caller(tool, [{ n: 7, until: `go-${tool}` }], LEASE);
    await until(() => stand.executions(tool).length).toBe(1);
    await first.kill();
    const second = await stand.tools([{ tool, sideEffect, slots: 1 }]);
    await until(() => stand.executions(tool).length).toBe(2);
    stand.release(`go-${tool}`);
    const [end] = await stand.ends(session);
    expect(end).toMatchObject({ status: 'settled', phase: 'completed', proof: 'acked', attempts: 2 });
    const executions = stand.executions(tool);
    expect(new Set(executions.map(({ call, key }) => `${call} ${key}`)).size).toBe(1);
    expect(new Set(executions.map(({ by }) => by)).size).toBe(2);
    expect(end?.worker_identity).toBe(executions[1]?.by);
    await second.kill();
  });

  test.each(WRITES)('%s: a review, and no further execution', async (sideEffect) => {
    const tool = stand.tool();
    const orders = [{ tool, ...classOf(sideEffect), slots: 1, deadlineMs: 3_000, settleMs: 200 }];
    const first = await stand.tools(orders);
    const session = await stand.caller(tool, [{ n: 7, until: `go-${tool}` }], { ...LEASE, carry: true });
    await until(() => stand.executions(tool).length).toBe(1);
    const runId = String((await stand.planCall(session, 0)).plan['run_id']);
    await first.kill();
    const second = await stand.tools(orders);
    await until(() => planStatus(runId).catch(() => null)).toMatchObject({
      state: 'parked',
      reason: 'ambiguous_effect',
      effects: [{ state: 'unknown', doubt: 'outcome_unknown' }],
    });
    expect(stand.executions(tool)).toHaveLength(1);
    const [heard] = await stand.heard(session);
    expect(heard).toMatchObject({ status: 'unknown', code: 'dispatch:indeterminate', attempts: 2 });
    await stand.giveUp(session);
    await second.kill();
  });

  test('a look-up that finds the write settles it', async () => {
    const tool = stand.tool();
    const orders = [{ tool, slots: 1, lookup: 'kept' as const }];
    const first = await stand.tools(orders);
    const session = await stand.caller(tool, [{ n: 7, until: `go-${tool}` }], LEASE);
    await until(() => stand.executions(tool).length).toBe(1);
    await first.kill();
    const second = await stand.tools(orders);
    const [end] = await stand.ends(session);
    expect(end).toMatchObject({ status: 'settled', phase: 'completed', proof: 'looked_up' });
    expect(end?.result_digest).toMatch(/^sha256:/);
    expect(stand.executions(tool)).toHaveLength(1);
    await second.kill();
  });
});

test('a stopped worker keeps its call; its late result settles it', { timeout: 240_000 }, async () => {
  const tool = stand.tool();
  const orders = [{ tool, slots: 1, deadlineMs: 12_000, settleMs: 200 }];
  const first = await stand.tools(orders);
  const session = await stand.caller(tool, [{ n: 0, until: `go-${tool}` }, { n: 1 }], { ...LEASE, carry: true });
  await until(() => stand.executions(tool).length).toBe(1);
  first.signal('SIGSTOP');
  const second = await stand.tools(orders);
  // The lease is lost: the call leaves as unknown, and the next one is done by the other worker.
  await until(async () => (await stand.heard(session)).map(({ status }) => status).sort()).toEqual([
    'settled',
    'unknown',
  ]);
  expect(stand.executions(tool).map(({ n }) => n)).toEqual([0, 1]);
  stand.release(`go-${tool}`);
  first.signal('SIGCONT');
  const ends = await stand.ends(session);
  expect(ends.map(({ phase, proof }) => [phase, proof])).toEqual(Array(2).fill(['completed', 'acked']));
  expect(stand.executions(tool)).toHaveLength(2);
  await Promise.all([first.kill(), second.kill()]);
});

test('SIGTERM finishes the call in hand and keeps those that wait', { timeout: 240_000 }, async () => {
  const tool = stand.tool();
  const first = await stand.tools([{ tool, slots: 1 }]);
  const session = await stand.caller(tool, [{ n: 0, until: `go-${tool}` }, { n: 1 }, { n: 2 }]);
  await until(() => stand.executions(tool).length).toBe(1);
  await until(async () => (await stand.status(tool)).waiting.length).toBe(2);
  first.signal('SIGTERM');
  await until(async () => (await stand.status(tool)).workers).toEqual([]);
  stand.release(`go-${tool}`);
  await first.exited;
  expect(await stand.status(tool)).toMatchObject({ running: [], waiting: { length: 2 } });
  const second = await stand.tools([{ tool, slots: 1 }]);
  const ends = await stand.ends(session);
  expect(ends.map(({ status, phase, attempts }) => [status, phase, attempts])).toEqual(
    Array(3).fill(['settled', 'completed', 1]),
  );
  expect(stand.executions(tool).map(({ n }) => n)).toEqual([0, 1, 2]);
  await second.kill();
});

test('what happened is replayed by the present code', async () => {
  const { failures, replayed } = await stand.replay(await stand.endAll());
  expect(failures).toEqual([]);
  expect(replayed).toBeGreaterThan(16);
});
