/**
 * A store that is taken from a running worker process in the middle of a plan, for a while, and given back.
 *
 * Held here, for every store and every way of losing it:
 * - while it is away nothing more is sent than was begun, and the plan says so: in its status with the fault of the store, in its
 *   memo, and so in `countersign ls`
 * - while it is too slow, a right to send that comes too late is not used, and the plan says so in its status
 * - once it is back the plan goes on by itself, with the same worker, and ends; each effect stands at its sink once
 * - the journal verifies strictly afterwards: nothing of it was lost
 *
 * A store joins with a table of `losable-stores`: how it is started, and the outages that can be made of it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openContentStore } from '../../src/adapters/stores';
import { PlanClient, type PlanHandle } from '../../src/client';
import type { StoreErrorCode } from '../../src/ports';
import { startCountingServer, type SinkServer } from '../../src/testing';
import { startDevServer, type DevServer } from '../../src/testing/dev-server';
import { storeView, verifyJournal } from '../../src/verify';
import { answerOf, cli } from '../cli/support';
import { bundleOf } from '../support/bundle';
import { temporalCli } from '../support/temporal';
import { describeWith } from '../systems/available';
import { startPostgres } from '../systems/postgres';
import { startVersitygw } from '../systems/versitygw';
import { until } from './clusters';
import { ON_FILES, onPostgres, onS3, type OutageRow, type WorkerHandle } from './losable-stores';
import type { OutageWorkerOrders } from './outage-worker';

const EFFECTS = 4;

/** The worker in a process of its own. */
class OutageWorker implements WorkerHandle {
  private constructor(private readonly child: ChildProcess) {}

  get pid(): number {
    return this.child.pid as number;
  }

  static async start(orders: OutageWorkerOrders, prelude: readonly string[] = []): Promise<OutageWorker> {
    const node = [process.execPath, '--require', 'tsx/cjs', path.join(__dirname, 'outage-worker.ts')];
    const [command, ...rest] = [...prelude, ...node, JSON.stringify(orders)];
    const child = spawn(command as string, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('the worker ended before it was ready')));
    await Promise.race([once(child, 'message'), ended]);
    ended.catch(() => undefined);
    return new OutageWorker(child);
  }

  async runs(...command: readonly string[]): Promise<void> {
    const answer = once(this.child, 'message');
    this.child.send(command as string[]);
    const [told] = (await answer) as [{ readonly failed?: string }];
    if (told.failed !== undefined) throw new Error(told.failed);
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}

let folder: string;
let server: DevServer;
let sinks: SinkServer;
let client: Client;
let bundle: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'store-outages-'));
  sinks = await startCountingServer();
  const dynamicConfig = { 'history.transferProcessorMaxPollRPS': 10_000 };
  server = await startDevServer({ executable: temporalCli(), dynamicConfig });
  client = new Client({ connection: await Connection.connect({ address: server.address }) });
  const { code } = (await bundleOf(path.resolve(__dirname, '../../src/workflow.ts'))) as { code: string };
  writeFileSync((bundle = path.join(folder, 'workflow.js')), code);
}, 300_000);
afterAll(async () => {
  await client.connection.close();
  await server.stop();
  await sinks.close();
  rmSync(folder, { recursive: true, force: true });
});

function outages(rows: readonly OutageRow[]): void {
  test.for(rows)('$name', { timeout: 240_000 }, async ({ missing, shows, make }, { skip }) => {
    if (missing !== undefined && process.env['COUNTERSIGN_SYSTEMS'] === 'all') throw new Error(missing);
    skip(missing !== undefined, missing);
    const own = mkdtempSync(path.join(folder, 'row-'));
    const losable = await make(own);
    const { journal, prelude, slowWhile = null, env = {} } = losable;
    const contents = path.join(own, 'contents');
    mkdirSync(contents);
    const taskQueue = path.basename(own);
    for (const [variable, value] of Object.entries(env)) vi.stubEnv(variable, value);
    const orders = { address: server.address, taskQueue, bundle, journal, contents, sink: sinks.url, slowWhile };
    const worker = await OutageWorker.start(orders, prelude);
    try {
      const plans = new PlanClient({ client, contents: openContentStore(contents), taskQueue });
      const effects = Array.from({ length: EFFECTS }, (_, index) => ({
        id: `e${index}`,
        tool_id: 'tool:example.org/lookup@1.0.0',
        kind: 'local_tool',
        operation: { index },
      }));
      const draft = { workflow_id: 'workflow:example.org/outage', name: taskQueue, effects };
      const before = sinks.counts().writes;
      sinks.faults.programme([{ fault: 'delay_after', delayMs: 400, times: 0 }]);
      const handle = await plans.start(await plans.prepare(draft));
      await expect.poll(() => sinks.counts().writes, { timeout: 60_000, interval: 20 }).toBeGreaterThan(before);
      await losable.lose(worker);
      if (shows === 'slow') await waitsForSlowStore(handle);
      else await showsOutage(handle, shows);
      // What was under way when the store went; nothing begins without a slot.
      const away = sinks.counts().writes;
      expect(away).toBeLessThanOrEqual(before + 2);

      await losable.restore(worker);
      expect(await handle.result()).toMatchObject({ status: 'completed' });
      expect(sinks.counts().writes).toBe(before + EFFECTS);
      expect((await handle.workflow.describe()).memo?.['countersign']).not.toMatchObject({ reason: 'activity_failed' });
      const report = await verifyJournal(storeView(losable.look(worker), handle.runId), { strict: true });
      expect(report).toMatchObject({ ok: true, justified: true, findings: [] });
    } finally {
      sinks.faults.clear();
      await worker.end();
      await losable.end?.();
      vi.unstubAllEnvs();
    }
  });
}

/** In its status, and in the list of those that wait. */
async function showsOutage(handle: PlanHandle, code: StoreErrorCode): Promise<void> {
  const waiting = await until(handle, ({ reason }) => reason === 'activity_failed');
  expect(waiting.state).toBe('waiting');
  const away = sinks.counts().writes;
  const said = await until(handle, ({ message }) => message?.includes(code) === true);
  expect(said.message).toContain('goes on by itself');
  process.env['TEMPORAL_ADDRESS'] = server.address;
  const listed = async (): Promise<unknown> =>
    (answerOf(await cli('ls', '--json')).data as { plans: { run_id: string }[] }).plans;
  await expect
    .poll(listed, { timeout: 30_000 })
    .toEqual([expect.objectContaining({ run_id: handle.runId, state: 'stale', reason: 'activity_failed' })]);
  expect(sinks.counts().writes).toBe(away);
}

async function waitsForSlowStore(handle: PlanHandle): Promise<void> {
  const waiting = await until(handle, ({ message }) => message?.includes('answers too slowly') === true);
  expect(waiting).toMatchObject({ state: 'waiting', reason: 'settling' });
}

describe('files on one host', () => outages(ON_FILES));
describeWith(
  'PostgreSQL',
  () => startPostgres(),
  (started) => outages(onPostgres(started)),
);
describeWith(
  'S3',
  () => startVersitygw(),
  (started) => outages(onS3(started)),
);
