/** Sessions on a Temporal server of their own, for tests of what the server is told about them, or tells them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { CountersignPlugin, CountersignToolWorker, type CountersignPluginOptions } from '../../src';
import { fileStore, type FileStore } from '../../src/adapters/stores';
import type { ToolHandler } from '../../src/adapters/tools';
import { PlanClient, SessionClient } from '../../src/client';
import { initJournal } from '../../src/journal-init';
import { startDevServer, type DevServer } from '../../src/testing/dev-server';
import { historyToJson, type HistoryJson } from '../../src/testing/history-json';
import { bundleOf } from '../support/bundle';
import { temporalCli } from '../support/temporal';

const WORKFLOWS = path.resolve(__dirname, '../../src/workflow.ts');

export class OwnServer {
  readonly taskQueue = 'sessions';
  readonly sessions: SessionClient;
  readonly plans: PlanClient;
  private readonly stops: (() => Promise<void>)[] = [];

  get address(): string {
    return this.server.address;
  }

  private constructor(
    private readonly server: DevServer,
    private readonly folder: string,
    private readonly connection: Connection,
    private readonly native: NativeConnection,
    readonly client: Client,
    readonly store: FileStore,
    readonly contents: FileStore,
  ) {
    const { taskQueue } = this;
    this.sessions = new SessionClient({ client, store, contents, taskQueue });
    this.plans = new PlanClient({ client, contents, taskQueue });
  }

  /** `eventsBeforeRenewal`: after so many, workflows are told to continue as new. */
  static async open(eventsBeforeRenewal: number): Promise<OwnServer> {
    const dynamicConfig = {
      'history.transferProcessorMaxPollRPS': 10_000,
      'limit.historyCount.suggestContinueAsNew': eventsBeforeRenewal,
    };
    const server = await startDevServer({ executable: temporalCli(), dynamicConfig });
    const folder = await mkdtemp(path.join(tmpdir(), 'sessions-'));
    const [store, contents] = ['journal', 'contents'].map((name) =>
      fileStore(path.join(folder, name), { createRoot: true }),
    ) as [FileStore, FileStore];
    await initJournal(store);
    const connection = await Connection.connect({ address: server.address });
    const native = await NativeConnection.connect({ address: server.address });
    return new OwnServer(server, folder, connection, native, new Client({ connection }), store, contents);
  }

  /** Carries sessions, and replays them at every step. */
  async worker(plugin: Partial<CountersignPluginOptions>, options: Partial<WorkerOptions> = {}): Promise<void> {
    const { store, contents, native: connection, taskQueue } = this;
    const worker = await Worker.create({
      ...{ connection, taskQueue, workflowBundle: await bundleOf(WORKFLOWS), maxCachedWorkflows: 0 },
      ...options,
      plugins: [new CountersignPlugin({ store, contents, ...plugin })],
    });
    this.runs(worker);
  }

  async tools(handlers: readonly ToolHandler[], plugin: Partial<CountersignPluginOptions> = {}): Promise<void> {
    const { store, contents, native: connection, taskQueue } = this;
    this.runs(await CountersignToolWorker.create({ connection, taskQueue, store, contents, handlers, ...plugin }));
  }

  private runs(worker: { run(): Promise<void>; shutdown(): void }): void {
    const running = worker.run();
    this.stops.push(async () => {
      worker.shutdown();
      await running;
    });
  }

  /** Of all runs of a workflow, oldest first. */
  async histories(workflowId: string): Promise<readonly { workflowId: string; history: HistoryJson }[]> {
    const histories: { workflowId: string; history: HistoryJson }[] = [];
    let runId: string | undefined = (await this.client.workflow.getHandle(workflowId).describe()).runId;
    while (runId !== undefined) {
      const history = historyToJson(await this.client.workflow.getHandle(workflowId, runId).fetchHistory());
      histories.unshift({ workflowId, history });
      const started = history.events[0]?.['workflowExecutionStartedEventAttributes'];
      runId = (started as { continuedExecutionRunId?: string }).continuedExecutionRunId || undefined;
    }
    return histories;
  }

  async close(): Promise<void> {
    await Promise.all(this.stops.map((stop) => stop()));
    await Promise.all([this.native.close(), this.connection.close()]);
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
