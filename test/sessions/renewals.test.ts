/**
 * Properties of sessions and queues that continue as new again and again, each carried by workers that keep no workflow in memory:
 * - a session with a long log takes messages while it continues: each has its turn, once and in order, each call is done once, and the
 *   log is one chain through all of its runs;
 * - a queue that is idle past its events continues, and knows its workers and its calls as before;
 * - a queue that is never idle stops handing out until it can continue: the calls that wait keep their order, none is lost or doubled;
 * - every run of all of them replays.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src';
import { scriptedModel } from '../../src/adapters/models';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { SessionHandle } from '../../src/client';
import { Journal } from '../../src/activities/journal';
import { SessionShelf } from '../../src/activities/session-shelf';
import { queueWorkflowId, toolIdOf } from '../../src/rules/invocations/names';
import { SessionLogReader } from '../../src/rules/invocations/session-log';
import { recordToText } from '../../src/rules/invocations/session-record';
import { storeView, verifyJournal } from '../../src/verify';
import type { QueueStatus, ToolQueueInput } from '../../src/workflows/queue-messages';
import { useRig } from '../support/rig';
import { OwnServer } from './own-server';
import { call, until } from './support';

const rig = useRig();

interface Scene {
  readonly own: OwnServer;
  /** What the tool was asked for, in order. */
  readonly done: readonly number[];
  start(session: string, message?: string): Promise<SessionHandle>;
}

/** The model calls the tool once for each number that the user's message names, all in one round. */
async function scene(eventsBeforeRenewal: number, queue?: Omit<ToolQueueInput, 'tool' | 'version'>): Promise<Scene> {
  const own = await OwnServer.open(eventsBeforeRenewal);
  rig.atEnd(() => own.close());
  const done: number[] = [];
  const tool = defineTool({
    tool: 'count',
    maxConcurrency: 1,
    inputSchema: z.object({ n: z.int() }),
    run: ({ n }) => Promise.resolve(done.push(n)),
  }) as ToolHandler;
  const answer = ({ messages }: ModelRequest) => {
    const last = messages.at(-1);
    if (last?.role !== 'user') return { text: 'counted' };
    return { toolCalls: last.text.split(' ').map((n) => call('count', { n: Number(n) })) };
  };
  const model = scriptedModel({ name: 'counter', script: Array.from({ length: 200 }, () => answer) });
  if (queue !== undefined) {
    const args: [ToolQueueInput] = [{ tool: 'count', version: 'default', ...queue }];
    const { taskQueue } = own;
    await own.client.workflow.start('toolQueue', { workflowId: QUEUE, taskQueue, args });
  }
  await own.worker({ models: [model], tools: [{ ...tool, queueWaitMs: 120_000 }] });
  await own.tools([tool]);
  const about = { agentVersion: '1', model: 'counter', tools: [{ tool: 'count' }] };
  return {
    ...{ own, done },
    start: (session, message) =>
      own.sessions.start({ session, ...about, ...(message === undefined ? {} : { message, kind: 'child' }) }),
  };
}

const QUEUE = queueWorkflowId(toolIdOf({ tool: 'count', version: null })) ?? '';
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);

async function proven(own: OwnServer, ...workflowIds: readonly string[]): Promise<number> {
  const histories = (await Promise.all(workflowIds.map((id) => own.histories(id)))).flat();
  expect(await rig.verify(histories, own.store)).toMatchObject({ failures: [] });
  expect((await verifyJournal(storeView(own.store), { strict: true })).findings).toEqual([]);
  return histories.length;
}

test('a session with a long log', { timeout: 240_000 }, async () => {
  const { own, done, start } = await scene(150);
  const session = await start('long');
  const turns = 24;
  // Four people at once, each in their own order.
  await Promise.all(
    numbers(0, 4).map(async (who) => {
      for (let n = who; n < turns; n += 4) await session.send(String(n), { id: `m-${n}` });
    }),
  );
  await session.send('0', { id: 'm-0' });
  await until(session, ({ turn, status }) => turn === turns && status === 'awaiting_input', 150_000);
  await session.complete();
  const reader = new SessionLogReader('long');
  for (const record of await new SessionShelf(new Journal(own.store)).log('long')) reader.take(recordToText(record));
  expect(reader.view).toMatchObject({ status: 'completed', turn: turns });
  expect([...reader.view.calls.values()].map(({ status }) => status)).toEqual(Array(turns).fill('succeeded'));
  expect([...done].sort((one, other) => one - other)).toEqual(numbers(0, turns));
  for (const who of numbers(0, 4)) {
    expect(done.filter((n) => n % 4 === who)).toEqual(numbers(0, turns).filter((n) => n % 4 === who));
  }
  expect(await proven(own, session.workflowId)).toBeGreaterThanOrEqual(4);
});

test('a queue that is idle', { timeout: 180_000 }, async () => {
  const { own, done, start } = await scene(4_000, { renew_when_idle: 50 });
  for (const turn of numbers(0, 4)) await (await start(`idle-${turn}`, `${2 * turn} ${2 * turn + 1}`)).result();
  expect(done).toEqual(numbers(0, 8));
  const status = await own.client.workflow.getHandle(QUEUE).query<QueueStatus>('queue');
  expect(status).toMatchObject({ capacity: 1, waiting: [], running: [], reported: 8 });
  expect(status.renewals).toBeGreaterThanOrEqual(1);
  expect(await proven(own, QUEUE)).toBe(status.renewals + 1);
});

test('a queue that is never idle', { timeout: 240_000 }, async () => {
  const { own, done, start } = await scene(4_000, { renew_when_idle: 10_000, renew_anyhow: 120 });
  const most = 40;
  const all = await start('busy', numbers(0, most).join(' '));
  await all.result();
  expect(done).toEqual(numbers(0, most));
  const status = await own.client.workflow.getHandle(QUEUE).query<QueueStatus>('queue');
  expect(status).toMatchObject({ waiting: [], running: [], reported: most });
  expect(status.renewals).toBeGreaterThanOrEqual(2);
  expect(await proven(own, QUEUE, all.workflowId)).toBe(status.renewals + 2);
});
