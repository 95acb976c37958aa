/**
 * Properties of how a session hears of its calls from a tool's queue, on a real server:
 * - calls of one round go to the queue in one message, and the worker that did a call tells its session: ten in a row cost the queue no more
 *   than twelve events each, and no word of its own;
 * - where the worker cannot tell, the queue does, once for each call;
 * - where neither can, as the queue was lost, the session hears of it soon after the wait of the call, however long it may execute;
 * - every history replays (the rig checks that after each test).
 */
import { ServiceError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import { queueWorkflowId, toolIdOf } from '../../src/rules/invocations/names';
import { historyToJson, type HistoryEventJson } from '../../src/testing/history-json';
import type { CountersignToolWorkerOptions } from '../../src/tool-worker';
import { useRig } from '../support/rig';
import { SessionRig, auditedLog, call, uniqueTool } from './support';

const rig = useRig();

/** A session with a round of three calls, and then rounds of one; answers what the queue has in its history. */
async function played(rounds: number, worker: CountersignToolWorkerOptions['worker'] = {}) {
  const done: number[] = [];
  const tool = defineTool({
    tool: uniqueTool('note'),
    inputSchema: z.object({ n: z.int() }),
    run: ({ n }) => Promise.resolve(done.push(n)),
  }) as ToolHandler;
  const asks = (...numbers: readonly number[]) => ({ toolCalls: numbers.map((n) => call(tool.tool, { n })) });
  const script = [asks(0, 1, 2), ...Array.from({ length: rounds }, (_, n) => asks(3 + n)), { text: 'noted' }];
  const play = new SessionRig(rig, { script, tools: [tool], toolWorker: { worker } });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  await auditedLog(rig, session.session);
  expect(done).toHaveLength(3 + rounds);
  const queue = rig.client.workflow.getHandle(queueWorkflowId(toolIdOf({ tool: tool.tool, version: null })) ?? '');
  await expect.poll(async () => (await queue.query<{ running: unknown[] }>('queue')).running).toEqual([]);
  const { events } = historyToJson(await queue.fetchHistory());
  const enqueues = events.flatMap((event, at) => (signalOf(event) === 'enqueue' ? [at] : []));
  const told = events.filter((event) => 'signalExternalWorkflowExecutionInitiatedEventAttributes' in event);
  return { events: events.length, enqueues, told: told.length };
}

function signalOf(event: HistoryEventJson): unknown {
  return (event['workflowExecutionSignaledEventAttributes'] as { signalName?: unknown } | undefined)?.signalName;
}

test('the worker tells', async () => {
  const { events, enqueues, told } = await played(10);
  expect({ messages: enqueues.length, told }).toEqual({ messages: 11, told: 0 });
  // Behind the first round, whose calls end in one task or in several.
  expect((events - (enqueues[1] ?? 0)) / 10).toBeLessThanOrEqual(12);
});

const refusing = {
  signal: () => Promise.reject(new ServiceError('cut off', { cause: new Error('cut off') })),
};

test('the worker cannot tell', async () => {
  const { enqueues, told } = await played(2, { interceptors: { client: { workflow: [refusing] } } });
  expect({ messages: enqueues.length, told }).toEqual({ messages: 3, told: 5 });
});

test('nobody can tell', async () => {
  let [begun, finish] = [false, (): void => undefined];
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const done: number[] = [];
  const tool = defineTool({
    ...{
      tool: uniqueTool('slow'),
      sideEffect: 'read_only',
      deadlineMs: 600_000,
      inputSchema: z.object({ n: z.int() }),
    },
    run: async ({ n }) => {
      begun = true;
      await finished;
      return done.push(n);
    },
  }) as ToolHandler;
  const script = [{ toolCalls: [call(tool.tool, { n: 1 })] }, { text: 'done' }];
  const tools = [{ ...tool, queueWaitMs: 1_000 }];
  const toolWorker = { worker: { interceptors: { client: { workflow: [refusing] } } } };
  const play = new SessionRig(rig, { script, tools, toolWorker });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  await expect.poll(() => begun).toBe(true);
  const queueId = queueWorkflowId(toolIdOf({ tool: tool.tool, version: null })) ?? '';
  await rig.client.workflow.getHandle(queueId).terminate('it is lost');
  finish();
  expect(await session.result()).toMatchObject({ status: 'completed' });
  await auditedLog(rig, session.session);
  expect(done).toEqual([1]);
});
