/**
 * Properties of the plugin on real workers:
 * - a name collision, a plugin that is added twice, two copies of the SDK, a missing journal and a store without its folder
 *   are refused in one sentence;
 * - the user's activities and interceptors, of every kind, go on working; a bundle made with or without the plugin does, too;
 * - the grace time of a shutdown is raised to the longest deadline and never lowered; heartbeats are never held back longer
 *   than a second;
 * - a sink or a store that fails its start-up test stops the worker with its own sentence, before any task is taken.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import {
  DefaultLogger,
  NativeConnection,
  bundleWorkflowCode,
  type LogEntry,
  type WorkerOptions,
} from '@temporalio/worker';
import { describe, expect, test } from 'vitest';
import { fileStore } from '../../src/adapters/stores';
import { DRIVE_ACTIVITY } from '../../src/activities/contract';
import { PlanClient } from '../../src/client';
import { StoreError } from '../../src/ports';
import { refuseTwoSdkCopies } from '../../src/sdk-copies';
import { useRig } from '../support/rig';
import { temporalAddress, uniqueTaskQueue } from '../support/temporal';

const rig = useRig();
const ROOT = path.resolve(__dirname, '../..');
const WORKFLOWS = path.join(ROOT, 'src/workflow.ts');

/** A worker that is refused at its start never runs, so it keeps its connection: give it one that nobody closes. */
async function apart(): Promise<{ connection: NativeConnection }> {
  return { connection: await NativeConnection.connect({ address: temporalAddress() }) };
}

describe('what is refused', () => {
  test('an activity of the same name', async () => {
    const activities = { [DRIVE_ACTIVITY]: async () => undefined };
    await expect(rig.worker({ activities })).rejects.toThrow(
      'An activity named "countersign.drive" is already registered; add CountersignPlugin once only.',
    );
  });

  test('the plugin twice, the same one or another', async () => {
    const plugin = rig.plugin();
    for (const plugins of [
      [plugin, plugin],
      [plugin, rig.plugin()],
    ]) {
      await expect(rig.worker({ plugins })).rejects.toThrow(/add CountersignPlugin once only/);
    }
  });

  test('a worker without a journal, unless it is for development', async () => {
    const store = rig.store('nothing-here');
    const worker = await rig.worker({ ...(await apart()), taskQueue: uniqueTaskQueue(), plugin: { store } });
    await expect(worker.running).rejects.toThrow(
      'journal_missing: this store holds no journal; make one with "countersign journal init"',
    );
    const developing = await rig.worker({ plugin: { store, development: true } });
    const handle = await rig.start(['lookup']);
    const outcome = await handle.result();
    expect(outcome.journal_id).toMatch(/^jrn_[0-9a-f]{32}$/);
    expect(outcome.journal_id).not.toBe(rig.journalId);
    await developing.stop();
    rig.expectedFailures = ({ kind }) => kind === 'journal'; // the rig's own journal is another one
    expect((await rig.verify(await rig.histories(), store)).failures).toEqual([]);
  });

  test.each([
    ['journal', 'store'],
    ['content store', 'contents'],
  ] as const)('a worker whose %s has no folder', async (which, option) => {
    const missing = fileStore(path.join(rig.folder, 'nowhere'));
    const plugin = { [option]: missing };
    const worker = await rig.worker({ ...(await apart()), taskQueue: uniqueTaskQueue(), plugin });
    await expect(worker.running).rejects.toThrow(
      `store_unavailable: ${which}: the root folder does not exist; make it`,
    );
  });

  test('a sink that does not keep what it declares', async () => {
    const [enforcing, ...others] = rig.definitions();
    const sink = { ...enforcing!.sink, probe: () => Promise.reject(new Error('this sink forgot its keys')) };
    const effects = [{ ...enforcing!, sink }, ...others];
    const worker = await rig.worker({ ...(await apart()), plugin: { effects } });
    const handle = await rig.start(['enforcing']);
    await expect(worker.running).rejects.toThrow('this sink forgot its keys');
    expect((await rig.historyOf(handle)).events.map(({ eventType }) => eventType)).toEqual([
      'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED',
      'EVENT_TYPE_WORKFLOW_TASK_SCHEDULED',
    ]);
  });

  test.each([
    ['journal', 'store'],
    ['content store', 'contents'],
  ] as const)('a %s that fails its start-up test', async (name, option) => {
    const kept = option === 'store' ? rig.journal : rig.contents;
    const failing = {
      scope: kept.scope,
      create: kept.create.bind(kept),
      read: kept.read.bind(kept),
      list: kept.list.bind(kept),
      probe: () => Promise.reject(new StoreError('store_unavailable', 'this server overwrites')),
    };
    const worker = await rig.worker({ ...(await apart()), plugin: { [option]: failing } });
    await expect(worker.running).rejects.toThrow(`store_unavailable: ${name}: this server overwrites`);
  });

  test('two copies of the SDK in one process', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'two-copies-'));
    try {
      await layDownSecondCopy(folder);
      const program = `
        require(${JSON.stringify(path.join(folder, 'node_modules/@temporalio/common'))});
        const { CountersignPlugin } = require(${JSON.stringify(path.join(ROOT, 'src/plugin.ts'))});
        require('@temporalio/common');
        try { new CountersignPlugin({}).configureWorker({ taskQueue: 'q' }); } catch (fault) { console.log(fault.message); }`;
      const { stdout } = await promisify(execFile)(process.execPath, ['--require', 'tsx/cjs', '-e', program], {
        cwd: ROOT,
      });
      expect(stdout).toMatch(/^Two copies of @temporalio\/common are loaded \(.* and .*\); install one version only:/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test.each([
    ['one copy of each', ['/a/@temporalio/common/lib/index.js', '/a/@temporalio/worker/lib/index.js'], false],
    ['two of one', ['/a/@temporalio/common/lib/index.js', '/b/@temporalio/common/lib/index.js'], true],
    [
      'two, on Windows',
      ['C:\\a\\@temporalio\\client\\lib\\index.js', 'C:\\b\\@temporalio\\client\\lib\\index.js'],
      true,
    ],
    ['others of that name', ['/a/@temporalio/common/lib/index.js', '/a/x/common/lib/index.js'], false],
  ])('%s', (_name, files, refused) => {
    const check = (): void => refuseTwoSdkCopies(files);
    if (refused) expect(check).toThrow(/Two copies of @temporalio/);
    else expect(check).not.toThrow();
  });
});

describe('what stays as it was', () => {
  test('the user’s activities and interceptors, on worker and client', async () => {
    const seen: string[] = [];
    const note =
      (what: string) =>
      <I, O>(input: I, next: (input: I) => O): O => {
        seen.push(what);
        return next(input);
      };
    const mine = async (): Promise<string> => 'mine';
    const interceptors: WorkerOptions['interceptors'] = {
      activity: [() => ({ inbound: { execute: note('activity') } })],
      activityInbound: [() => ({ execute: note('activityInbound') })],
    };
    const { worker } = await rig.worker({ activities: { mine }, interceptors });
    expect(worker.options.activities.get('mine')).toBe(mine);
    expect(worker.options.activities.has(DRIVE_ACTIVITY)).toBe(true);
    const client = rig.newClient({
      plugins: [rig.plugin()],
      interceptors: { workflow: [{ startWithDetails: note('client') as never }] },
    });
    const plans = new PlanClient({ client, contents: rig.contents, taskQueue: rig.taskQueue });
    await plans.execute(await rig.prepare(['lookup']));
    expect(seen).toEqual(['client', 'activityInbound', 'activity']);
  });

  test.each([
    ['with the plugin', true],
    ['without the plugin', false],
  ])('a bundle made before, %s, runs without a warning', async (_name, withPlugin) => {
    const entries: LogEntry[] = [];
    const logger = new DefaultLogger('WARN', (entry) => entries.push(entry));
    const plugins = withPlugin ? [rig.plugin()] : [];
    const workflowBundle = await bundleWorkflowCode({ workflowsPath: WORKFLOWS, plugins, logger });
    await rig.worker({ workflowBundle });
    expect(await (await rig.start(['lookup'])).result()).toMatchObject({ status: 'completed' });
    expect([...entries, ...rig.logs].filter(({ level }) => level === 'WARN' || level === 'ERROR')).toEqual([]);
  });

  test('a worker that bundles by itself runs without a warning', async () => {
    await rig.worker({ workflowsPath: WORKFLOWS, workflowBundle: undefined as never });
    expect(await (await rig.start(['lookup'])).result()).toMatchObject({ status: 'completed' });
    expect(rig.logs.filter(({ level }) => level === 'WARN' || level === 'ERROR')).toEqual([]);
  });
});

describe('times', () => {
  const configure = (options: Partial<WorkerOptions>): WorkerOptions =>
    rig.plugin({ effects: rig.definitions({ deadlineMs: 7_000 }) }).configureWorker({ taskQueue: 'q', ...options });

  test.each([
    [undefined, 7_000],
    [1_000, 7_000],
    ['6 seconds', 7_000],
    [9_000, 9_000],
    ['1 minute', 60_000],
  ] as const)('a grace time of %s becomes %s', (given, becomes) => {
    expect(configure(given === undefined ? {} : { shutdownGraceTime: given }).shutdownGraceTime).toBe(becomes);
  });

  test.each([
    [undefined, 1_000],
    ['1 minute', 1_000],
    [200, 200],
  ] as const)('a heartbeat throttle of %s becomes %s', (given, becomes) => {
    const options = configure(given === undefined ? {} : { maxHeartbeatThrottleInterval: given });
    expect(options.maxHeartbeatThrottleInterval).toBe(becomes);
  });
});

/** A copy of @temporalio/common with everything that it requires, outside of this project. */
async function layDownSecondCopy(folder: string): Promise<void> {
  const [from, to] = [path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules')];
  await mkdir(path.join(to, '@temporalio'), { recursive: true });
  await cp(path.join(from, '@temporalio/common'), path.join(to, '@temporalio/common'), { recursive: true });
  const linked = [...(await readdir(from)).filter((name) => !name.startsWith('@temporalio')), '@temporalio/proto'];
  for (const name of linked) await symlink(path.join(from, name), path.join(to, name));
}
