/**
 * Calls through a tool's queue while the Temporal server, the workers of workflows, or all of it is killed (SIGKILL).
 *
 * Held here:
 * - five calls that are asked for while no worker is connected are executed exactly five times, in their order, once everything has been
 *   killed and one worker comes (acceptance 1);
 * - a result that was finished while the server was down is delivered once and executed once, whether the worker's lease outlived the
 *   outage or not; no call becomes unknown by it (acceptance 7; the same process, reconnecting, keeps its call);
 * - a queue that was terminated, and so has forgotten everything, is rebuilt from those who ask again: in the order and with the
 *   deadlines of the first time, no call lost, none executed twice; and its workers come back to it by themselves.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askAgainSignal } from './caller-workflows';
import { QueueStand } from './stand';

const stand = new QueueStand();
beforeAll(() => stand.open());
afterAll(() => stand.close());

const until = <T>(look: () => T | Promise<T>) => expect.poll(look, { timeout: 90_000, interval: 50 });
const SETTLED = ['settled', 'completed'];
const errands = (count: number, more: object = {}) => Array.from({ length: count }, (_, n) => ({ n, ...more }));

test('calls without a worker survive the death of everything', { timeout: 240_000 }, async () => {
  const tool = stand.tool();
  const workflows = await stand.workflows();
  const session = await stand.caller(tool, errands(5));
  await until(async () => (await stand.status(tool)).waiting.length).toBe(5);
  await workflows.kill();
  await stand.restartServer();
  const again = await stand.workflows();
  const worker = await stand.tools([{ tool, slots: 1 }]);
  const ends = await stand.ends(stand.client.workflow.getHandle(session.workflowId));
  expect(ends.map(({ status, phase }) => [status, phase])).toEqual(Array(5).fill(SETTLED));
  expect(stand.executions(tool).map(({ n }) => n)).toEqual([0, 1, 2, 3, 4]);
  await Promise.all([again.kill(), worker.kill()]);
});

test.each([
  { lease_ms: 60_000, outlives: 'outlives the outage' },
  { lease_ms: 3_000, outlives: 'is lost in the outage' },
])(
  'a result finished while the server was down is found, when the lease $outlives',
  { timeout: 240_000 },
  async (one) => {
    const tool = stand.tool();
    const workflows = await stand.workflows();
    const worker = await stand.tools([{ tool, slots: 1 }]);
    const session = await stand.caller(tool, [{ n: 0, until: `go-${tool}` }], { lease_ms: one.lease_ms });
    await until(() => stand.executions(tool).length).toBe(1);
    const { port } = stand.server;
    await stand.server.kill();
    await workflows.kill();
    stand.release(`go-${tool}`);
    await until(() => stand.executions(tool, 'end').length).toBe(1);
    // The lease is counted by the server's clock, so it must really have passed.
    if (one.lease_ms < 10_000) await new Promise((resolve) => setTimeout(resolve, one.lease_ms + 1_000));
    await stand.startServer(port);
    const again = await stand.workflows();
    const [end] = await stand.ends(stand.client.workflow.getHandle(session.workflowId));
    expect(end).toMatchObject({ status: 'settled', phase: 'completed', proof: 'acked', code: null });
    expect(end?.result_digest).toMatch(/^sha256:/);
    expect(stand.executions(tool)).toHaveLength(1);
    await Promise.all([again.kill(), worker.kill()]);
  },
);

test('a queue that was terminated is rebuilt in its order by those who ask again', { timeout: 240_000 }, async () => {
  const tool = stand.tool();
  const workflows = await stand.workflows();
  const worker = await stand.tools([{ tool, slots: 1 }]);
  const session = await stand.caller(tool, [
    { n: 0, until: `go-${tool}` },
    ...errands(4).map(({ n }) => ({ n: n + 1 })),
  ]);
  await until(() => stand.executions(tool).length).toBe(1);
  await until(async () => (await stand.status(tool)).waiting.length).toBe(4);
  await stand.queue(tool).terminate('a test');
  // In the worst order; the one that runs is asked for last.
  for (const index of [4, 2, 3, 1, 0]) await session.signal(askAgainSignal, index);
  await until(async () => (await stand.status(tool).catch(() => null))?.workers.length).toBe(1);
  stand.release(`go-${tool}`);
  const ends = await stand.ends(session);
  expect(ends.map(({ status, phase }) => [status, phase])).toEqual(Array(5).fill(SETTLED));
  expect(stand.executions(tool).map(({ n }) => n)).toEqual([0, 1, 2, 3, 4]);
  await Promise.all([workflows.kill(), worker.kill()]);
});

test('what happened is replayed by the present code, and its journal verifies', async () => {
  const report = await stand.replay(await stand.endAll());
  expect(report.failures).toEqual([]);
  expect(report.replayed).toBeGreaterThan(8);
  expect(await stand.verify()).toMatchObject({ valid: true, justified: true, findings: [] });
});
