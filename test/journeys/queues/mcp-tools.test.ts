/**
 * A call of a session whose tool is one of an MCP server, on a real Temporal server, while the server's process is killed by SIGKILL.
 *
 * Held here:
 * - a write whose server died under it is indeterminate: a review stands open, and it is not executed again;
 * - a tool that only reads, by its author's word, is executed again by a server that was started anew, once, and completed.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mcpTools } from '../../../src/adapters/tools';
import type { PlanStatus } from '../../../src/client';
import { carrierWorkflowId } from '../../../src/rules/plans/identity';
import { CountersignToolWorker } from '../../../src/tool-worker';
import { QueueStand, TASK_QUEUE } from './stand';

const stand = new QueueStand();
const logOf = (name: string): string => path.join(stand.folder, 'mcp', name);
const calls = (name: string): { key: string; pid: number }[] =>
  existsSync(logOf(name))
    ? readFileSync(logOf(name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { key: string; pid: number })
    : [];
const until = <T>(look: () => T | Promise<T>) => expect.poll(look, { timeout: 90_000, interval: 50 });
let connection: NativeConnection;
let worker: CountersignToolWorker;
let running: Promise<void>;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  await stand.open();
  await stand.workflows();
  mkdirSync(path.join(stand.folder, 'mcp'));
  const server = path.join(stand.folder, 'mcp-server.js');
  await build({
    entryPoints: [path.join(__dirname, '../../systems/mcp-server.ts')],
    ...{ outfile: server, bundle: true, platform: 'node', logLevel: 'error' },
  });
  const toolsOf = (name: string, sideEffect?: 'read_only'): ReturnType<typeof mcpTools> =>
    mcpTools({
      name,
      server: { command: process.execPath, args: [server, logOf(name)] },
      only: ['stall'],
      tools: { stall: { deadlineMs: 10_000, settleMs: 200, ...(sideEffect === undefined ? {} : { sideEffect }) } },
    });
  connection = await NativeConnection.connect({ address: stand.server.address });
  worker = await CountersignToolWorker.create({
    ...{ connection, taskQueue: TASK_QUEUE, store: stand.store, contents: stand.contents },
    handlers: [...(await toolsOf('writes')), ...(await toolsOf('reads', 'read_only'))],
  });
  running = worker.run();
}, 120_000);

afterAll(async () => {
  worker?.shutdown();
  await running;
  await connection?.close();
  await stand.close();
}, 60_000);

test('a write is left to a person, and not executed again', { timeout: 240_000 }, async () => {
  const session = await stand.caller('writes-stall', [{ n: 1 }], { carry: true });
  await until(() => calls('writes').length).toBe(1);
  process.kill(calls('writes')[0]?.pid ?? 0, 'SIGKILL');
  const runId = String((await stand.planCall(session, 0)).plan['run_id']);
  const status = (): Promise<PlanStatus | null> =>
    stand.client.workflow
      .getHandle(carrierWorkflowId(runId))
      .query<PlanStatus>('status')
      .catch(() => null);
  await until(status).toMatchObject({
    ...{ state: 'parked', reason: 'ambiguous_effect' },
    effects: [{ state: 'unknown', doubt: 'outcome_unknown' }],
  });
  expect(await stand.heard(session)).toMatchObject([{ status: 'unknown', code: 'dispatch:indeterminate' }]);
  expect(calls('writes')).toHaveLength(1);
  await stand.giveUp(session);
});

test('what only reads is executed again', { timeout: 240_000 }, async () => {
  const session = await stand.caller('reads-stall', [{ n: 1 }], { carry: true });
  await until(() => calls('reads').length).toBe(1);
  process.kill(calls('reads')[0]?.pid ?? 0, 'SIGKILL');
  const [end] = await stand.ends(session);
  expect(end).toMatchObject({ phase: 'completed', proof: 'acked' });
  const [first, second, ...more] = calls('reads');
  expect(second?.key).toBe(first?.key);
  expect(second?.pid).not.toBe(first?.pid);
  expect(more).toEqual([]);
});
