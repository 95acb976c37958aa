/**
 * A store that is taken from a running worker process in the middle of a plan, for a while, and given back.
 *
 * Held here, for every store and every way of losing it:
 * - while it is away nothing more is sent than was begun, and the plan says so: in its status with the fault of the store, in its
 *   memo, and so in `countersign ls`
 * - once it is back the plan goes on by itself, with the same worker, and ends; each effect stands at its sink once
 * - the journal verifies strictly afterwards: nothing of it was lost
 *
 * A store joins with a row of `STORES`: how it is started, and the outages that can be made of it.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fileStore, openContentStore } from '../../src/adapters/stores';
import { PlanClient } from '../../src/client';
import type { Store, StoreErrorCode } from '../../src/ports';
import { startCountingServer, type SinkServer } from '../../src/testing';
import { startDevServer, type DevServer } from '../../src/testing/dev-server';
import { storeView, verifyJournal } from '../../src/verify';
import { answerOf, cli } from '../cli/support';
import { bundleOf } from '../support/bundle';
import { temporalCli } from '../support/temporal';
import { until } from './clusters';
import type { OutageWorkerOrders } from './outage-worker';

const EFFECTS = 4;

/** A journal that can be lost. */
interface Losable {
  /** As `--journal` and `openStore` take it. */
  readonly journal: string;
  /** Put before the worker's command, where the outage is made in the worker's own view of the machine. */
  readonly prelude?: readonly string[];
  /** The journal as this process reads it when all is over. */
  look(worker: OutageWorker): Store;
  lose(worker: OutageWorker): Promise<unknown>;
  restore(worker: OutageWorker): Promise<unknown>;
  /** Which fault the plan shows meanwhile. */
  readonly shows: StoreErrorCode;
}

interface OutageRow {
  readonly name: string;
  /** One clear sentence where this machine cannot make it. */
  readonly missing?: string;
  make(folder: string): Promise<Losable>;
}

const NAMESPACE = process.getuid?.() === 0 ? ['unshare', '-m'] : ['unshare', '-rm'];
const MOUNTS = spawnSync(NAMESPACE[0] as string, [...NAMESPACE.slice(1), 'mount', '-t', 'tmpfs', 'none', os.tmpdir()]);
const CANNOT_MOUNT = MOUNTS.status === 0 ? {} : { missing: 'a process cannot mount a filesystem of its own here' };

/** On a small filesystem of the worker's own, which ends with it. */
async function onOwnDisk(folder: string): Promise<Pick<Losable, 'journal' | 'prelude' | 'look'>> {
  const journal = path.join(folder, 'disk');
  mkdirSync(journal);
  const script = 'mount -t tmpfs -o size=512k none "$1" && shift && exec "$@"';
  return {
    journal,
    prelude: [...NAMESPACE, 'sh', '-c', script, 'sh', journal],
    look: ({ pid }) => fileStore(`/proc/${pid}/root${journal}`),
  };
}

const STORES: Readonly<Record<string, readonly OutageRow[]>> = {
  'files on one host': [
    {
      name: 'the folder is gone',
      make: async (folder) => {
        const journal = path.join(folder, 'journal');
        mkdirSync(journal);
        return {
          journal,
          look: () => fileStore(journal),
          lose: async () => renameSync(journal, `${journal}-away`),
          restore: async () => renameSync(`${journal}-away`, journal),
          shows: 'store_unavailable',
        };
      },
    },
    {
      name: 'an empty folder stands in its place, as where a disk is not mounted',
      make: async (folder) => {
        const journal = path.join(folder, 'journal');
        mkdirSync(journal);
        return {
          journal,
          look: () => fileStore(journal),
          lose: async () => {
            renameSync(journal, `${journal}-away`);
            mkdirSync(journal);
          },
          restore: async () => {
            rmdirSync(journal); // fails if anything was written there
            renameSync(`${journal}-away`, journal);
          },
          shows: 'store_unavailable',
        };
      },
    },
    {
      name: 'the disk becomes read-only',
      ...CANNOT_MOUNT,
      make: async (folder) => {
        const disk = await onOwnDisk(folder);
        return {
          ...disk,
          lose: (worker) => worker.runs('mount', '-o', 'remount,ro', disk.journal),
          restore: (worker) => worker.runs('mount', '-o', 'remount,rw', disk.journal),
          shows: 'store_read_only',
        };
      },
    },
    {
      name: 'the disk is full',
      ...CANNOT_MOUNT,
      make: async (folder) => {
        const disk = await onOwnDisk(folder);
        const ballast = path.join(disk.journal, '.tmp', 'ballast');
        return {
          ...disk,
          lose: (worker) => worker.runs('sh', '-c', `cat /dev/zero > "${ballast}" 2>/dev/null || true`),
          restore: (worker) => worker.runs('rm', ballast),
          shows: 'store_full',
        };
      },
    },
  ],
};

/** The worker in a process of its own. */
class OutageWorker {
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

describe.each(Object.entries(STORES))('%s', (_kind, rows) => {
  test.for(rows)('$name', { timeout: 180_000 }, async ({ missing, make }, { skip }) => {
    if (missing !== undefined && process.env['COUNTERSIGN_SYSTEMS'] === 'all') throw new Error(missing);
    skip(missing !== undefined, missing);
    const own = mkdtempSync(path.join(folder, 'row-'));
    const losable = await make(own);
    const contents = path.join(own, 'contents');
    mkdirSync(contents);
    const taskQueue = path.basename(own);
    const { journal, prelude } = losable;
    const orders = { address: server.address, taskQueue, bundle, journal, contents, sink: sinks.url };
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
      const waiting = await until(handle, ({ reason }) => reason === 'activity_failed');
      expect(waiting.state).toBe('waiting');
      const away = sinks.counts().writes;
      // What was under way when the store went; nothing begins without a slot.
      expect(away).toBeLessThanOrEqual(before + 2);
      const said = await until(handle, ({ message }) => message?.includes(losable.shows) === true);
      expect(said.message).toContain('goes on by itself');
      process.env['TEMPORAL_ADDRESS'] = server.address;
      const listed = async (): Promise<unknown> =>
        (answerOf(await cli('ls', '--json')).data as { plans: unknown }).plans;
      await expect
        .poll(listed, { timeout: 30_000 })
        .toEqual([expect.objectContaining({ run_id: handle.runId, state: 'stale', reason: 'activity_failed' })]);
      expect(sinks.counts().writes).toBe(away);

      await losable.restore(worker);
      expect(await handle.result()).toMatchObject({ status: 'completed' });
      expect(sinks.counts().writes).toBe(before + EFFECTS);
      expect((await handle.workflow.describe()).memo?.['countersign']).not.toMatchObject({ reason: 'activity_failed' });
      const report = await verifyJournal(storeView(losable.look(worker), handle.runId), { strict: true });
      expect(report).toMatchObject({ ok: true, justified: true, findings: [] });
    } finally {
      sinks.faults.clear();
      await worker.end();
    }
  });
});
