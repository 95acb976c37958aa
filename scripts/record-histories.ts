/**
 * Records the histories of this version under `test/histories/<version>` and the journal that they belong to: one execution
 * for each way in which a plan can go. Invariant: what is recorded was run on a real server, and names no machine; the
 * histories of released versions stay, so that later ones are held to what they wrote.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import { CountersignPlugin } from '../src';
import { fileStore } from '../src/adapters/stores';
import { PlanClient, type PlanHandle } from '../src/client';
import { initJournal } from '../src/journal-init';
import { countingSink, recordHistory, startCountingServer, type CountingMode, type Fault } from '../src/testing';
import { startDevServer } from '../src/testing/dev-server';
import { REPOSITORY } from './dev/repository';
import { ensureTemporalCli } from './dev/temporal-cli';

const { version } = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
const HISTORIES = path.join(REPOSITORY, 'test', 'histories', version);
const IDENTITY = 'countersign@recording';
const OTHER = 'other';
/** Few enough that a plan that is asked a dozen times continues as new. */
const EVENTS_BEFORE_RENEWAL = 60;
/** Planted in every operation; no history may hold it. */
const CONTENT = 'planted-operation-content';

interface Setting {
  readonly address: string;
  readonly sinkUrl: string;
  readonly folder: string;
  readonly taskQueue: string;
  readonly namespace: string;
}

function plugin({ folder, sinkUrl: url }: Setting, killAt: string | null): CountersignPlugin {
  const [store, contents] = ['journal', 'contents'].map((name) =>
    fileStore(path.join(folder, name), { createRoot: true }),
  );
  const limits = { deadlineMs: 5_000, settleMs: 1_000 };
  return new CountersignPlugin({
    store: store!,
    contents: contents!,
    effects: (['enforcing', 'lookup', 'blind'] as const).map((mode) => ({
      toolId: toolId(mode),
      sink: countingSink({ url, mode, ...limits }),
    })),
    at: (point) => {
      if (point === killAt) process.kill(process.pid, 'SIGKILL');
    },
  });
}

const toolId = (mode: CountingMode): string => `tool:example.org/${mode}@1.0.0`;

async function startWorker(setting: Setting, killAt: string | null = null): Promise<() => Promise<void>> {
  const connection = await NativeConnection.connect({ address: setting.address });
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: path.join(REPOSITORY, 'src/workflow.ts'),
    logger: new DefaultLogger('ERROR'),
  });
  const { taskQueue, namespace } = setting;
  const worker = await Worker.create({
    ...{ connection, taskQueue, namespace, workflowBundle, identity: IDENTITY, plugins: [plugin(setting, killAt)] },
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
}

/** This program again, as a worker that is to be killed. */
async function runToBeKilled(): Promise<void> {
  const { setting, killAt } = JSON.parse(process.env['RECORD_WORKER'] ?? '') as { setting: Setting; killAt: string };
  await startWorker(setting, killAt);
}

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { path: executable } = await ensureTemporalCli({});
  const server = await startDevServer({
    executable,
    namespaces: [OTHER],
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': EVENTS_BEFORE_RENEWAL },
  });
  const sinks = await startCountingServer();
  const folder = await mkdtemp(path.join(tmpdir(), 'record-histories-'));
  const connection = await Connection.connect({ address: server.address });
  try {
    const base = { address: server.address, sinkUrl: sinks.url, folder };
    const setting: Setting = { ...base, taskQueue: 'recording', namespace: 'default' };
    await initJournal(fileStore(path.join(folder, 'journal'), { createRoot: true }));
    await rm(HISTORIES, { recursive: true, force: true });
    await new Recorder(connection, setting, sinks).all();
    await cp(path.join(folder, 'journal'), path.join(HISTORIES, 'journal'), { recursive: true });
    await withoutMachine();
  } finally {
    await connection.close();
    await sinks.close();
    await server.stop();
    await rm(folder, { recursive: true });
  }
}

class Recorder {
  private readonly client: Client;
  private readonly plans: PlanClient;

  constructor(
    private readonly connection: Connection,
    private readonly setting: Setting,
    private readonly sinks: Awaited<ReturnType<typeof startCountingServer>>,
  ) {
    this.client = this.clientOf('default');
    this.plans = this.plansOf(this.client);
  }

  async all(): Promise<void> {
    const stop = await startWorker(this.setting);
    await this.record('completed-1-effect', ['lookup']);
    await this.record('completed-3-effects', ['enforcing', 'lookup', 'blind']);
    await this.record('rejected', ['lookup', 'enforcing'], { faults: [{ fault: 'status', status: 400 }] });
    await this.record('cancelled-by-update', ['blind', 'lookup'], {
      faults: [{ fault: 'drop_reply' }],
      meanwhile: async (handle) => {
        await until(handle, 'parked');
        await handle.cancel();
      },
    });
    await this.record('parked-and-reobserved', ['lookup'], {
      faults: [{ fault: 'wrong_digest', times: 0 }],
      meanwhile: async (handle) => {
        await until(handle, 'parked');
        await handle.reobserve();
        this.sinks.faults.clear();
        await handle.reobserve();
      },
    });
    await this.record('waited-in-flight', ['lookup', 'enforcing'], { faults: [{ fault: 'in_flight', times: 2 }] });
    await this.continuedAsNew();
    await this.overtaken();
    const plan = await this.plans.prepare(draft('previewed', ['lookup', 'blind']));
    await this.plans.preview(plan);
    await this.write('previewed', `${this.plans.getHandle(plan.runId).workflowId}/preview`);
    await stop();
    await this.workerKilled();
  }

  private async record(
    name: string,
    modes: readonly CountingMode[],
    story: { faults?: readonly Fault[]; meanwhile?: (handle: PlanHandle) => Promise<void> } = {},
  ): Promise<void> {
    this.sinks.faults.programme(story.faults ?? []);
    const handle = await this.plans.start(await this.plans.prepare(draft(name, modes)));
    await story.meanwhile?.(handle);
    await handle.result().catch(() => undefined);
    this.sinks.faults.clear();
    await this.write(name, handle.workflowId);
  }

  private async continuedAsNew(): Promise<void> {
    this.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const started = await this.plans.start(await this.plans.prepare(draft('continued', ['lookup'])));
    await until(started, 'parked');
    const { runId: first } = await started.workflow.describe();
    const handle = this.plans.getHandle(started.runId);
    while ((await handle.workflow.describe()).runId === first) await handle.reobserve();
    this.sinks.faults.clear();
    await handle.reobserve();
    await handle.result();
    await this.write('continued-as-new-1', handle.workflowId, first);
    await this.write('continued-as-new-2', handle.workflowId);
  }

  /** Two namespaces on one journal. */
  private async overtaken(): Promise<void> {
    this.sinks.faults.programme([{ fault: 'in_flight', times: 0 }]);
    const plan = await this.plans.prepare(draft('overtaken', ['lookup', 'enforcing']));
    const handle = await this.plans.start(plan);
    await until(handle, 'waiting');
    const stop = await startWorker({ ...this.setting, namespace: OTHER });
    const client = this.clientOf(OTHER);
    const other = await this.plansOf(client).start(plan);
    await until(handle, 'following');
    this.sinks.faults.clear();
    await Promise.all([handle.result(), other.result()]);
    await this.write('overtaken-follower', handle.workflowId);
    await recordHistory(client, other.workflowId, path.join(HISTORIES, 'overtaking.json'));
    await stop();
  }

  private async workerKilled(): Promise<void> {
    const env = { ...process.env, RECORD_WORKER: JSON.stringify({ setting: this.setting, killAt: 'ended' }) };
    const child = spawn(process.execPath, [...process.execArgv, __filename], { env, stdio: 'inherit' });
    const handle = await this.plans.start(await this.plans.prepare(draft('worker-killed', ['lookup', 'enforcing'])));
    await once(child, 'exit');
    const stop = await startWorker(this.setting);
    await handle.result();
    await this.write('worker-killed', handle.workflowId);
    await stop();
  }

  private write(name: string, workflowId: string, runId?: string): Promise<void> {
    return recordHistory(this.client, workflowId, path.join(HISTORIES, `${name}.json`), runId);
  }

  private clientOf(namespace: string): Client {
    return new Client({ connection: this.connection, namespace, identity: IDENTITY });
  }

  private plansOf(client: Client): PlanClient {
    const contents = fileStore(path.join(this.setting.folder, 'contents'), { createRoot: true });
    return new PlanClient({ client, contents, taskQueue: this.setting.taskQueue });
  }
}

function draft(name: string, modes: readonly CountingMode[]): Record<string, unknown> {
  return {
    workflow_id: 'workflow:example.org/recorded',
    name,
    effects: modes.map((mode, index) => ({
      ...{ id: `e${index}`, tool_id: toolId(mode), kind: 'local_tool', operation: { text: `${CONTENT} ${index}` } },
    })),
  };
}

async function until(handle: PlanHandle, state: string): Promise<void> {
  while ((await handle.status().catch(() => null))?.state !== state) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Stack traces name the folder that the code stood in. */
async function withoutMachine(): Promise<void> {
  for (const name of (await readdir(HISTORIES)).filter((entry) => entry.endsWith('.json'))) {
    const file = path.join(HISTORIES, name);
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(`${REPOSITORY}/`, ''));
  }
}

void (process.env['RECORD_WORKER'] === undefined ? main() : runToBeKilled());
