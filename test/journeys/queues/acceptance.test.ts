/**
 * Calls through a tool's queue, with real worker processes that are killed (SIGKILL) and a server of its own.
 *
 * Held here:
 * - five calls that are asked for while no worker is connected are executed exactly five times, in their order, once everything has
 *   been killed and one worker comes.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueueStand } from './stand';

const stand = new QueueStand();
beforeAll(() => stand.open());
afterAll(() => stand.close());

const until = <T>(look: () => T | Promise<T>, timeout = 60_000) => expect.poll(look, { timeout, interval: 50 });

test('five calls without a worker survive the death of everything, and are executed five times, in order', async () => {
  const tool = stand.tool();
  const workflows = await stand.workflows();
  const session = await stand.caller(tool, [0, 1, 2, 3, 4].map((n) => ({ n })));
  await until(async () => (await stand.status(tool)).waiting.length).toBe(5);
  await workflows.kill();
  await stand.restartServer();
  await stand.workflows();
  await stand.tools([{ tool, slots: 1 }]);
  const ends = await stand.ends(stand.client.workflow.getHandle(session.workflowId));
  console.log(ends);
  expect(ends.map(({ status, phase }) => [status, phase])).toEqual(Array(5).fill(['settled', 'completed']));
  expect(stand.executions(tool).map(({ n }) => n)).toEqual([0, 1, 2, 3, 4]);
  const h = await stand.histories(`countersign-queue/${tool}@default`);
  console.log(h.map((x) => x.events.map((e) => e.eventType).join(' ')));
});
