/**
 * Order, bound and waits of a tool's queue, and what its callers are told. Real worker processes.
 *
 * Held here:
 * - a full queue answers at once, an expired wait at its deadline; `dispatch:no_handler` where no worker ever came,
 *   `dispatch:capacity_exhausted` where workers stay busy (acceptance 4);
 * - waiting and executing have deadlines of their own: a call that a worker took in time may execute for longer than it may wait;
 * - never more calls run than workers have places; who waits is taken in the order of asking; other versions have other queues;
 * - a call that is withdrawn while it waits is never executed; one that runs is finished, and its end reported;
 * - asked for again, a finished call is answered again and not executed, by the queue that remembers it and by one that does not; the
 *   same call with other arguments is a conflict;
 * - a handler's own error settles the call with a short code and nothing of its message; an outcome that nobody knows is not an error;
 * - a worker that is not on the list executes nothing of a call, and one that is does; while only the first is there, the call is not handed
 *   out, and calls that it may do are;
 * - who asks for another plan under the name of a call that waits hears of the conflict, and the call goes on;
 * - what strangers send, garbage above all, changes nothing; the queue goes on;
 * - a queue that continues as new, idle or in the middle of work, loses nothing of this.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DRIVE_ACTIVITY } from '../../../src/activities/contract';
import { descriptorHash } from '../../../src/adapters/tools';
import { callRunId, toolTaskQueue } from '../../../src/rules/invocations/names';
import { askAgainSignal, withdrawCallSignal } from './caller-workflows';
import { QueueStand, TASK_QUEUE } from './stand';
import { INPUT } from './worker-main';

const stand = new QueueStand();
beforeAll(async () => {
  await stand.open();
  await stand.workflows();
});
afterAll(() => stand.close());

const until = <T>(look: () => T | Promise<T>) => expect.poll(look, { timeout: 60_000, interval: 30 });
const errands = (count: number, more: object = {}) => Array.from({ length: count }, (_, n) => ({ n, ...more }));

describe('codes', () => {
  test('no worker ever: full at once, expired at the deadline', async () => {
    const tool = stand.tool();
    const session = await stand.caller(tool, errands(3), { wait_ms: 4_000, bound: 2 });
    const ends = await stand.ends(session);
    expect(ends.map(({ status, code }) => `${status} ${code}`)).toEqual(Array(3).fill('failed dispatch:no_handler'));
    const waited = ends.map(({ completed_at: completed, queued_at: queued }) => completed - queued);
    expect(waited[2]).toBeLessThan(4_000);
    expect(Math.min(...waited.slice(0, 2))).toBeGreaterThanOrEqual(4_000);
    expect(stand.executions(tool)).toEqual([]);
  });

  test('busy workers: full at once, expired at the deadline; a call that was taken in time executes on', async () => {
    const tool = stand.tool();
    const worker = await stand.tools([{ tool, slots: 1 }]);
    await until(async () => (await stand.status(tool)).capacity).toBe(1);
    const go = `go-${tool}`;
    const session = await stand.caller(tool, errands(4, { until: go }), { wait_ms: 4_000, bound: 2 });
    await until(async () => (await stand.heard(session)).length).toBe(3);
    const failed = await stand.heard(session);
    expect(failed.map(({ status, code }) => `${status} ${code}`)).toEqual(
      Array(3).fill('failed dispatch:capacity_exhausted'),
    );
    // The one that found no room is answered before those whose wait had to end.
    const order = failed.map(({ call_id: id }) => id.split(':').at(-1));
    expect([order[0], order.slice(1).sort()]).toEqual(['3', ['1', '2']]);
    stand.release(go);
    const [first] = await stand.ends(session);
    expect(first).toMatchObject({ status: 'settled', phase: 'completed' });
    expect((first?.completed_at ?? 0) - (first?.queued_at ?? 0)).toBeGreaterThan(4_000);
    expect(stand.executions(tool).map(({ n }) => n)).toEqual([0]);
    await worker.kill();
  });
});

test('order and room: two workers with two places each, sixty calls of three sessions', async () => {
  const tool = stand.tool();
  const sessions = await Promise.all([0, 1, 2].map((part) => stand.caller(tool, errands(20, { ms: 20 * part }))));
  await until(async () => (await stand.status(tool).catch(() => null))?.waiting.length).toBe(60);
  const { waiting } = await stand.status(tool);
  const workers = [await stand.tools([{ tool, slots: 2 }]), await stand.tools([{ tool, slots: 2 }])];
  const ends = (await Promise.all(sessions.map((session) => stand.ends(session)))).flat();
  expect(ends.every(({ status, attempts }) => status === 'settled' && attempts === 1)).toBe(true);
  expect(stand.dispatched(await stand.histories(stand.queue(tool).workflowId))).toEqual(waiting);
  const { most, began } = stand.overlap(tool);
  expect(most).toBeLessThanOrEqual(4);
  expect([...began].sort()).toEqual([...waiting].sort());
  await Promise.all(workers.map((worker) => worker.kill()));
});

test('versions do not share workers', async () => {
  const tool = stand.tool();
  const worker = await stand.tools([{ tool, version: '1.0.0' }]);
  const [one, two] = await Promise.all([
    stand.caller(tool, [{ n: 1 }], { version: '1.0.0' }),
    stand.caller(tool, [{ n: 2 }], { version: '1.0.1', wait_ms: 1_000 }),
  ]);
  expect((await stand.ends(one))[0]).toMatchObject({ status: 'settled' });
  expect((await stand.ends(two))[0]).toMatchObject({ status: 'failed', code: 'dispatch:no_handler' });
  await worker.kill();
});

test('withdrawn', async () => {
  const tool = stand.tool();
  const worker = await stand.tools([{ tool, slots: 1 }]);
  const session = await stand.caller(tool, [{ n: 0, until: `go-${tool}` }, { n: 1 }, { n: 2 }]);
  await until(async () => (await stand.status(tool)).waiting.length).toBe(2);
  await session.signal(withdrawCallSignal, 1);
  await session.signal(withdrawCallSignal, 0);
  await until(async () => (await stand.heard(session)).length).toBe(1);
  stand.release(`go-${tool}`);
  const ends = await stand.ends(session);
  expect(ends.map(({ status, code }) => [status, code])).toEqual([
    ['settled', null],
    ['failed', 'dispatch:withdrawn'],
    ['settled', null],
  ]);
  expect(stand.executions(tool).map(({ n }) => n)).toEqual([0, 2]);
  await worker.kill();
});

test('asked for again', async () => {
  const tool = stand.tool();
  const worker = await stand.tools([{ tool, slots: 1 }]);
  const session = await stand.caller(tool, [{ n: 0 }, { n: 1, until: `go-${tool}` }]);
  await until(async () => (await stand.heard(session)).length).toBe(1);
  await session.signal(askAgainSignal, 0);
  await until(async () => (await stand.heard(session)).length).toBe(2);
  await stand.queue(tool).terminate('it forgets');
  await session.signal(askAgainSignal, 0);
  await until(async () => (await stand.heard(session)).length).toBe(3);
  const [first, again, anew] = await stand.heard(session);
  // The first was the worker's word, this one is the queue's.
  expect(again).toEqual({ ...first, completed_at: again?.completed_at, head: null, result: null });
  expect(anew).toMatchObject({ status: 'settled', result: { status: 'done', replayed: true } });
  expect(stand.executions(tool).filter(({ n }) => n === 0)).toHaveLength(1);
  // Another plan under the name of this call.
  const call = String(first?.call_id);
  const other = await stand.call(call.split(':')[0] ?? '', 0, tool, 'default', { n: 99 });
  await stand.queue(tool).terminate('it forgets');
  const conflict = await stand.client.workflow.start('caller', {
    ...{ workflowId: `rival-${tool}`, taskQueue: TASK_QUEUE },
    args: [{ tool, version: 'default', calls: [other], at_once: 1, wait_ms: 60_000, execution_ms: 1_000 }],
  });
  await until(async () => (await stand.heard(conflict)).at(-1) ?? null).toMatchObject({
    status: 'failed',
    code: 'plan_conflict',
  });
  stand.release(`go-${tool}`);
  await Promise.all([stand.giveUp(conflict), stand.giveUp(session)]);
  expect(stand.executions(tool)).toHaveLength(2);
  await worker.kill();
});

test('what handlers throw', async () => {
  const [write, read] = [stand.tool('write'), stand.tool('read')];
  const worker = await stand.tools([{ tool: write }, { tool: read, sideEffect: 'read_only' }]);
  const fails = (['typed', 'untyped', 'unknown', 'transport'] as const).map((how, n) => ({ n, fails: how }));
  const [writes, reads] = await Promise.all([stand.caller(write, fails), stand.caller(read, fails.slice(0, 2))]);
  await until(async () => (await stand.heard(writes)).length).toBe(4);
  const heard = [...(await stand.heard(writes))].sort((a, b) => a.call_id.localeCompare(b.call_id));
  expect(heard.map(({ status }) => status)).toEqual(['settled', 'settled', 'unknown', 'unknown']);
  const read2 = await stand.ends(reads);
  expect(read2.map(({ status, phase, refused }) => [status, phase, refused])).toEqual([
    ['settled', 'aborted', 'card_declined'],
    ['settled', 'aborted', 'handler_failed'],
  ]);
  expect(stand.executions(write)).toHaveLength(4);
  const told = JSON.stringify([
    await stand.histories(stand.queue(read).workflowId),
    await stand.histories(reads.workflowId),
  ]);
  expect(Buffer.from(told).toString('latin1')).not.toContain(Buffer.from('a secret').toString('base64').slice(0, 8));
  expect(told).not.toContain('a secret');
  await stand.giveUp(writes);
  await worker.kill();
});

test('only workers of the list execute', async () => {
  const tool = stand.tool();
  const stranger = await stand.tools([{ tool, slots: 1, changed: true }]);
  await until(async () => (await stand.status(tool)).capacity).toBe(1);
  const allow = { descriptor_hashes: [descriptorHash({ tool, inputSchema: INPUT })] };
  const session = await stand.caller(tool, errands(2), { allow });
  await until(async () => (await stand.status(tool)).waiting.length).toBe(2);
  const other = await stand.ends(await stand.caller(tool, [{ n: 7 }]));
  expect(other).toMatchObject([{ status: 'settled', attempts: 1 }]);
  expect(stand.executions(tool).map(({ n }) => n)).toEqual([7]);
  expect(stand.dispatched(await stand.histories(stand.queue(tool).workflowId))).toEqual([other[0]?.call_id]);
  const listed = await stand.tools([{ tool, slots: 1 }], 'listed');
  await stranger.kill();
  const ends = await stand.ends(session);
  expect(ends.map(({ worker_identity: by, phase }) => [by, phase])).toEqual(Array(2).fill(['listed', 'completed']));
  expect(
    stand
      .executions(tool)
      .map(({ by }) => by)
      .slice(1),
  ).toEqual(['listed', 'listed']);
  await listed.kill();
});

test('another plan under the name of a call that waits', async () => {
  const tool = stand.tool();
  const session = await stand.caller(tool, [{ n: 0 }]);
  await until(async () => (await stand.status(tool).catch(() => null))?.waiting.length).toBe(1);
  const [name] = (await stand.status(tool)).waiting;
  const other = await stand.call(String(name).split(':')[0] ?? '', 0, tool, 'default', { n: 99 });
  const rival = await stand.client.workflow.start('caller', {
    ...{ workflowId: `rival-${tool}`, taskQueue: TASK_QUEUE },
    args: [{ tool, version: 'default', calls: [other], at_once: 1, wait_ms: 60_000, execution_ms: 1_000 }],
  });
  await until(async () => (await stand.heard(rival)).at(-1) ?? null).toMatchObject({
    ...{ call_id: name, status: 'failed', code: 'plan_conflict', attempts: 0 },
  });
  const worker = await stand.tools([{ tool, slots: 1 }]);
  expect(await stand.ends(session)).toMatchObject([{ status: 'settled', phase: 'completed' }]);
  expect(stand.executions(tool).map(({ n }) => n)).toEqual([0]);
  await stand.giveUp(rival);
  await worker.kill();
});

test('garbage and strangers', async () => {
  const tool = stand.tool();
  const worker = await stand.tools([{ tool, slots: 1 }]);
  const session = await stand.caller(tool, [{ n: 0, until: `go-${tool}` }, { n: 1 }]);
  await until(() => stand.executions(tool).length).toBe(1);
  const before = await stand.status(tool);
  const queue = stand.queue(tool);
  const [good] = [await stand.call('elsewhere', 0, tool, 'default', { n: 5 })];
  const foreign = await stand.call('elsewhere', 0, 'another-tool', 'default', { n: 5 });
  const enqueue = {
    ...{
      call_id: good.call_id,
      run_id: callRunId(good.call_id, { tool, version: null }),
      plan: good.plan,
      journal_id: null,
    },
    ...{ reply_to: 'nobody', queue_wait_ms: 10, deadline_at: 1, execution_ms: 10, sequence: 0 },
  };
  for (const bad of [
    null,
    7,
    'x',
    {},
    [],
    { call_id: 'x' },
    { ...enqueue, plan: {} },
    { ...enqueue, plan: foreign.plan },
  ]) {
    for (const signal of ['enqueue', 'withdraw', 'register']) await queue.signal(signal, bad);
  }
  await queue.signal('enqueue', { ...enqueue, run_id: foreign.plan['run_id'] });
  await queue.signal('enqueue', { ...enqueue, surprise: 1 });
  await queue.signal('register', { identity: 'x', instance: 'x', slots: 0, descriptor_hash: 'x', event: 'started' });
  await queue.signal('withdraw', { call_id: (await stand.planCall(session, 1)).call_id, reply_to: 'somebody-else' });
  expect(await stand.status(tool)).toEqual(before);
  // Another workflow calls `drive` for a call that is not its own, on the tool's own workers.
  const { call_id: call, plan } = await stand.planCall(session, 1);
  const request = {
    ...{ run_id: plan['run_id'], call_id: call, lineage: 1, intent: 'drive', plan, journal_id: null },
    ...{ expected_head: null, epoch: null, reclaim: true, waited: [] },
  };
  const drive = (workflowId: string, more: object = {}) =>
    stand.client.workflow.execute('stranger', {
      ...{ workflowId, taskQueue: TASK_QUEUE },
      args: [toolTaskQueue({ tool, version: null }), { ...request, ...more }],
    });
  const strange = drive('countersign-queue/another-tool@default');
  stand.release(`go-${tool}`);
  expect(await strange).toMatchObject({ status: 'refused', code: 'not_the_plans_workflow' });
  expect(await drive(`stranger-${tool}`)).toMatchObject({ status: 'refused', code: 'not_the_plans_workflow' });
  expect(await stand.ends(session)).toMatchObject(Array(2).fill({ status: 'settled', phase: 'completed' }));
  expect(stand.executions(tool).map(({ n }) => n)).toEqual([0, 1]);
  expect(DRIVE_ACTIVITY).toBe('countersign.drive');
  await worker.kill();
});

test('continues as new, idle and in the middle of work', async () => {
  const tool = stand.tool();
  await stand.openQueue(tool, { renew_when_idle: 60, renew_anyhow: 120 });
  const session = await stand.caller(tool, errands(120, { ms: 5 }));
  const worker = await stand.tools([{ tool, slots: 3 }]);
  const ends = await stand.ends(session);
  expect(ends.every(({ status, attempts }) => status === 'settled' && attempts === 1)).toBe(true);
  const histories = await stand.histories(stand.queue(tool).workflowId);
  expect(histories.length).toBeGreaterThan(3);
  expect(stand.dispatched(histories)).toEqual(ends.map(({ call_id: id }) => id));
  expect(stand.overlap(tool).most).toBeLessThanOrEqual(3);
  await worker.kill();
});

test('what happened is replayed by the present code', async () => {
  const { failures, replayed } = await stand.replay(await stand.endAll());
  expect(failures.filter(({ workflowId }) => !workflowId.startsWith('rival-'))).toEqual([]);
  expect(replayed).toBeGreaterThan(20);
});
