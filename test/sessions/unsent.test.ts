/**
 * Properties of calls of which somebody says that nobody had them, on a real server:
 * - a call that no worker takes in time is closed in the journal before it is given up: whoever comes later cannot do it; its code says
 *   whether a worker of its tool has ever been there, also where the call went past the queue;
 * - where a worker has the call, such a word is not believed, whoever says it: the call is done once, and its result is what counts.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src';
import { Journal } from '../../src/activities/journal';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { QueueStatus } from '../../src/workflows/queue-messages';
import { useRig } from '../support/rig';
import { SessionRig, auditedLog, call, uniqueTool, until } from './support';

const rig = useRig();
/** A worker of the tool has been there. */
async function cameAndWent(play: SessionRig): Promise<void> {
  const worker = await play.toolWorker();
  const [handler] = play.play.handlers ?? [];
  const queue = rig.client.workflow.getHandle(`countersign-queue/${handler?.tool}@default`);
  const status = (): Promise<QueueStatus | null> => queue.query<QueueStatus>('queue').catch(() => null);
  await expect.poll(async () => (await status())?.workers.length, { timeout: 20_000 }).toBe(1);
  worker.shutdown();
  await expect.poll(async () => (await status())?.workers.length, { timeout: 20_000 }).toBe(0);
}

const inputSchema = z.object({ n: z.number().int() });

test.each([
  ['native', 'dispatch:no_handler'],
  ['native', 'dispatch:capacity_exhausted'],
  ['queue', 'dispatch:no_handler'],
  ['queue', 'dispatch:capacity_exhausted'],
] as const)('a call that nobody takes is closed, then given up: %s, %s', async (capacity, code) => {
  const done: unknown[] = [];
  const handler = defineTool({
    tool: uniqueTool('absent'),
    inputSchema,
    run: ({ n }) => Promise.resolve(done.push(n)),
  }) as ToolHandler;
  const asked: ModelRequest[] = [];
  const play = new SessionRig(rig, {
    script: [{ toolCalls: [call(handler.tool, { n: 1 })] }, { text: 'so be it' }],
    tools: [{ ...handler, capacity, queueWaitMs: 500 }],
    handlers: [handler],
    onRequest: (request) => void asked.push(request),
  });
  await play.worker();
  if (code === 'dispatch:capacity_exhausted') await cameAndWent(play);
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(asked.at(-1)?.messages.at(-1)).toMatchObject({ results: [{ ok: false, value: { code } }] });
  const { view } = await auditedLog(rig, session.session);
  const [invocation] = [...view.calls.values()];
  expect(invocation).toMatchObject({ status: 'failed', errorCode: code });
  const chain = await new Journal(rig.journal).chain(invocation?.runId ?? '', 1);
  expect(chain.at(-1)?.phase).toBe('aborted');
  expect(done).toEqual([]);
});

test('a worker has the call, whatever is said of it', async () => {
  const done: unknown[] = [];
  let begun = (): void => undefined;
  const running = new Promise<void>((resolve) => (begun = resolve));
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const handler = defineTool({
    tool: uniqueTool('slow'),
    inputSchema,
    deadlineMs: 5_000,
    settleMs: 200,
    run: async ({ n }) => {
      begun();
      await released;
      done.push(n);
      return { did: n };
    },
  }) as ToolHandler;
  const asked: ModelRequest[] = [];
  const play = new SessionRig(rig, {
    script: [{ toolCalls: [call(handler.tool, { n: 1 })] }, { text: 'thanks' }],
    tools: [handler],
    onRequest: (request) => void asked.push(request),
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  await running;
  const { calls } = await until(session, (status) => status.calls.length === 1);
  const lie = { call_id: calls[0]?.call_id, run_id: calls[0]?.run_id, request: 1, status: 'failed' };
  const code = 'dispatch:capacity_exhausted';
  const times = { queued_at: Date.now(), dispatched_at: null, completed_at: Date.now() };
  await session.workflow.signal('report', {
    ...lie,
    code,
    worker_identity: null,
    attempts: 0,
    ...times,
    head: null,
    result: null,
  });
  // Somebody carries the call on: it was not given up.
  await until(session, (status) => status.calls[0]?.review !== null);
  release();
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([1]);
  expect(asked.at(-1)?.messages.at(-1)).toMatchObject({ results: [{ ok: true, value: { did: 1 } }] });
  const { view } = await auditedLog(rig, session.session);
  expect([...view.calls.values()]).toMatchObject([{ status: 'succeeded' }]);
});
