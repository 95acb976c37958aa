/**
 * Properties of how long the queue of a tool holds back after a call came back untaken, on a real server:
 * - while all workers are seen to be there, a call that comes back again and again is handed out more often than two holds of full length
 *   let it within its wait;
 * - it ends at its deadline as one that nobody took, never executed; and its queue replays (the rig checks that after the test).
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, descriptorHash, type ToolHandler } from '../../src/adapters/tools';
import { queueWorkflowId, toolIdOf } from '../../src/rules/invocations/names';
import { FIRST_HOLD_MS } from '../../src/rules/invocations/queue-state';
import { historyToJson } from '../../src/testing/history-json';
import type { QueueStatus } from '../../src/workflows/queue-messages';
import { useRig } from '../support/rig';
import { SessionRig, auditedLog, call, uniqueTool } from './support';

const rig = useRig();
const silent = (): Promise<never> => Promise.reject(new Error('nobody hears it'));

test('a worker that is there and gives the call back', async () => {
  const name = uniqueTool('held');
  const done: unknown[] = [];
  const handler = (inputSchema: z.ZodType): ToolHandler =>
    defineTool({ tool: name, inputSchema, run: (args) => Promise.resolve(done.push(args)) }) as ToolHandler;
  const [tool, other] = [handler(z.object({ n: z.int() })), handler(z.object({ m: z.int() }))];
  // After a bounce it is 5 s, then 10 s: of full length, the third of these would begin behind the wait.
  const queueWaitMs = 3 * FIRST_HOLD_MS - 500;
  const play = new SessionRig(rig, {
    script: [{ toolCalls: [call(name, { n: 1 })] }, { text: 'done' }],
    tools: [{ ...tool, queueWaitMs }],
    toolWorker: {
      identity: name,
      worker: { interceptors: { client: { workflow: [{ signal: silent, signalWithStart: silent }] } } },
    },
  });
  await Promise.all([play.worker(), play.toolWorker([other])]);
  const session = await play.start({ message: 'please', kind: 'child' });
  const queue = rig.client.workflow.getHandle(queueWorkflowId(toolIdOf({ tool: name, version: null })) ?? '');
  const waiting = async (): Promise<number> => (await queue.query<QueueStatus>('queue')).waiting.length;
  await expect.poll(() => waiting().catch(() => 0), { interval: 20 }).toBe(1);
  // It says of itself that it can do the call.
  const descriptor_hash = descriptorHash(tool);
  await queue.signal('register', { identity: name, instance: 'one', slots: 1, descriptor_hash, event: 'started' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  const { view } = await auditedLog(rig, session.session);
  expect([...view.calls.values()].map(({ errorCode }) => errorCode)).toEqual(['dispatch:capacity_exhausted']);
  expect(done).toEqual([]);
  const { events } = historyToJson(await queue.fetchHistory());
  const drives = events.filter((event) => JSON.stringify(event).includes('"name":"countersign.drive"'));
  expect(drives.length).toBeGreaterThanOrEqual(3);
});
