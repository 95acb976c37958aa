/**
 * Three hundred calls of ten sessions through one queue, four workers with four places each, while a worker is killed (SIGKILL) every
 * other second, the workers of workflows and the server once each. `npm run queue-storm` does the same with two thousand.
 *
 * Held here:
 * - every call is settled, its effect happens exactly once, and nothing is left waiting or running;
 * - no worker ever does more calls at once than it has places, and no more calls wait than the bound allows;
 * - whenever a call is handed out for the first time, no call that was asked for earlier is waiting;
 * - all that holds through several continuations of the queue, and its histories are replayed by the present code.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueueStand } from './stand';
import { BOUND, storm } from './storm';

const stand = new QueueStand();
beforeAll(() => stand.open());
afterAll(() => stand.close());

test('nothing is lost, doubled, overtaken or left', { timeout: 400_000 }, async () => {
  const tool = stand.tool();
  const size = { calls: 300, workers: 4, slots: 4, killEveryMs: 2_000, sessions: 10, renewAnyhow: 500, ms: 20 };
  const { ends, ...report } = await storm(stand, tool, size);
  expect(new Set(ends.map(({ call_id: id }) => id)).size).toBe(size.calls);
  expect(ends.filter(({ phase }) => phase !== 'completed')).toEqual([]);
  expect(report).toMatchObject({
    done: size.calls,
    begun: size.calls,
    overtaken: [],
    left: { waiting: 0, running: 0 },
  });
  expect(report.mostInWorker).toBeLessThanOrEqual(size.slots);
  expect(report.mostWaiting).toBeLessThanOrEqual(BOUND);
  expect(report.kills).toBeGreaterThan(2);
  expect(report.renewals).toBeGreaterThanOrEqual(3);
  const { failures, replayed } = await stand.replay([stand.queue(tool).workflowId]);
  expect(failures).toEqual([]);
  expect(replayed).toBe(report.renewals + 1);
});
