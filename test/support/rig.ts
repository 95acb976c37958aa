/**
 * What a test of governed plans on the real server works with: per test a task queue, a journal, a content store and a
 * counting server of its own; workers and plans on them. After each test every execution that it started, on whatever way
 * and through every continue-as-new, is replayed with the present code and held against the journal.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, WorkflowFailedError, type WorkflowClientInterceptor, type WorkflowHandle } from '@temporalio/client';
import { TemporalFailure, type DataConverter } from '@temporalio/common';
import {
  DefaultLogger,
  Runtime,
  Worker,
  makeTelemetryFilterString,
  type LogEntry,
  type LogLevel,
  type WorkerOptions,
  type WorkerPlugin,
  type WorkflowBundle,
} from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import {
  CountersignPlugin,
  initJournal,
  type CountersignPluginOptions,
  type EffectDefinition,
  type Store,
} from '../../src';
import { fileStore } from '../../src/adapters/stores';
import { PlanClient, type GovernedPlan, type PlanHandle, type PlanStatus } from '../../src/client';
import {
  COUNTING_MODES,
  countingSink,
  replayAndVerify,
  startCountingServer,
  type CountingMode,
  type CountingSinkOptions,
  type RecordedHistory,
  type ReplayFailure,
  type ReplayReport,
  type SinkServer,
} from '../../src/testing';
import { historyToJson, type HistoryJson } from '../../src/testing/history-json';
import { bundleOf } from './bundle';
import { connectTemporal, uniqueTaskQueue, type TestTemporal } from './temporal';

export interface RigOptions {
  /** Module whose exports are the workflows. @default `countersign/workflow` itself */
  readonly workflowsPath?: string;
  readonly dataConverter?: DataConverter;
  /** For every worker of this rig; 0 forces a replay at each step. @default 100 */
  readonly maxCachedWorkflows?: number;
  /** What `rig.logs` keeps. @default 'INFO' */
  readonly logLevel?: LogLevel;
  /** Where this process serves its metrics, as in `127.0.0.1:9464`; see `freeAddress`. @default nowhere */
  readonly prometheus?: () => Promise<string>;
  /** Another server than the one that all tests share; see `connectTemporal`. */
  readonly address?: () => Promise<string>;
  /** Of the three counting sinks. @default deadlineMs 1000, settleMs 300 */
  readonly sink?: Partial<CountingSinkOptions>;
}

export interface RigWorker {
  readonly worker: Worker;
  /** Settles when the worker has ended. */
  readonly running: Promise<void>;
  /** Orderly shutdown; resolves when the worker has ended. */
  stop(): Promise<void>;
}

/** An execution to replay at the end. */
export interface Execution {
  readonly client: Client;
  readonly workflowId: string;
  readonly runId: string;
}

/** One effect of a draft: a counting sink by its mode, or more of it. */
export type RigEffect = CountingMode | ({ readonly mode: CountingMode } & Readonly<Record<string, unknown>>);

export const toolId = (mode: CountingMode): string => `tool:example.org/${mode}@1.0.0`;

const DEFAULT_SINK = { deadlineMs: 1_000, settleMs: 300 };
const UNTIL_MS = 45_000;
const logs: LogEntry[] = [];

/** Call at the top of a test file, or inside a `describe`; then use the rig in its tests. */
export function useRig(options: RigOptions = {}): Rig {
  const rig = new Rig(options);
  beforeAll(() => rig.open());
  beforeEach(() => rig.begin());
  afterEach(() => rig.end());
  afterAll(() => rig.close());
  return rig;
}

export class Rig {
  readonly logs = logs;
  temporal!: TestTemporal;
  client!: Client;
  bundle!: WorkflowBundle;
  taskQueue!: string;
  folder!: string;
  journal!: Store;
  journalId!: string;
  contents!: Store;
  sinks!: SinkServer;
  plans!: PlanClient;
  /** What the end of this test may find wrong; a test that breaks a journal sets it. @default nothing */
  expectedFailures: (failure: ReplayFailure) => boolean = () => false;
  private workers: RigWorker[] = [];
  private started: Execution[] = [];
  private cleanups: (() => Promise<void>)[] = [];
  private stops: (() => Promise<void>)[] = [];
  private names = 0;

  constructor(readonly options: RigOptions) {}

  async open(): Promise<void> {
    const { logLevel = 'INFO', prometheus, address } = this.options;
    installRuntime(logLevel, prometheus === undefined ? undefined : await prometheus());
    this.temporal = await connectTemporal(address === undefined ? {} : { address: await address() });
    this.bundle = await bundleOf(this.options.workflowsPath ?? path.resolve(__dirname, '../../src/workflow.ts'));
  }

  async begin(): Promise<void> {
    this.client = this.newClient();
    this.taskQueue = uniqueTaskQueue();
    this.folder = await mkdtemp(path.join(tmpdir(), 'countersign-'));
    this.journal = this.store('journal');
    this.journalId = (await initJournal(this.journal)).journalId;
    this.contents = this.store('contents');
    this.sinks = await startCountingServer();
    this.plans = new PlanClient({ client: this.client, contents: this.contents, taskQueue: this.taskQueue });
    this.expectedFailures = () => false;
    this.logs.length = 0;
  }

  async end(): Promise<void> {
    this.sinks.faults.clear();
    this.sinks.faults.release('*', 'drop');
    await Promise.all(this.stops.splice(0).map((stop) => stop()));
    await Promise.all(this.workers.splice(0).map((worker) => worker.stop()));
    const executions = this.started.splice(0);
    try {
      const { failures } = await this.verify(await this.histories(executions));
      const unexpected = failures.filter((failure) => !this.expectedFailures(failure));
      if (unexpected.length > 0) throw new Error(`After the test: ${JSON.stringify(unexpected, null, 2)}`);
    } finally {
      for (const execution of executions) await terminate(execution);
      for (const cleanup of this.cleanups.splice(0)) await cleanup();
      await this.sinks.close();
      await rm(this.folder, { recursive: true, force: true });
    }
  }

  async close(): Promise<void> {
    await this.temporal.close();
  }

  /** A file store in this test's folder. */
  store(name: string): Store {
    return fileStore(path.join(this.folder, name), { createRoot: true });
  }

  /** Another client of this rig: what it starts is tracked, too. */
  newClient(options: Partial<ConstructorParameters<typeof Client>[0]> = {}): Client {
    const { dataConverter } = this.options;
    const given = options.interceptors?.workflow as WorkflowClientInterceptor[] | undefined;
    const client: Client = new Client({
      connection: this.temporal.client.connection,
      namespace: this.temporal.namespace,
      ...(dataConverter === undefined ? {} : { dataConverter }),
      ...options,
      interceptors: { ...options.interceptors, workflow: [...(given ?? []), this.tracker(() => client)] },
    });
    return client;
  }

  definitions(sink: Partial<CountingSinkOptions> = {}): EffectDefinition[] {
    return COUNTING_MODES.map((mode) => ({
      toolId: toolId(mode),
      sink: countingSink({ url: this.sinks.url, mode, ...DEFAULT_SINK, ...this.options.sink, ...sink }),
    }));
  }

  plugin(options: Partial<CountersignPluginOptions> = {}): CountersignPlugin {
    const { journal: store, contents } = this;
    return new CountersignPlugin({ store, contents, effects: this.definitions(), ...options });
  }

  /** Starts a worker on this test's task queue; it ends with the test at the latest. */
  async worker(
    options: Partial<WorkerOptions> & { readonly plugin?: Partial<CountersignPluginOptions> } = {},
  ): Promise<RigWorker> {
    const { plugin, ...more } = options;
    const { dataConverter, maxCachedWorkflows = 100 } = this.options;
    const worker = await Worker.create({
      connection: this.temporal.nativeConnection,
      namespace: this.temporal.namespace,
      taskQueue: this.taskQueue,
      workflowBundle: this.bundle,
      maxCachedWorkflows,
      ...(dataConverter === undefined ? {} : { dataConverter }),
      plugins: [this.plugin(plugin)],
      ...more,
    });
    const running = worker.run();
    running.catch(() => undefined); // a test that wants the failure awaits `running`
    const stop = async (): Promise<void> => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await running.catch(() => undefined);
    };
    const started = { worker, running, stop };
    this.workers.push(started);
    return started;
  }

  /** A draft of a run of its own; the n-th effect is called `e<n>`. */
  draft(effects: readonly RigEffect[], more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    return {
      workflow_id: 'workflow:example.org/rig',
      ...('run_id' in more ? {} : { name: `${this.taskQueue}/${(this.names += 1)}` }),
      effects: effects.map((effect, index) => {
        const { mode, ...fields } = typeof effect === 'string' ? { mode: effect } : effect;
        return { id: `e${index}`, tool_id: toolId(mode), kind: 'local_tool', operation: { amount: index }, ...fields };
      }),
      ...more,
    };
  }

  prepare(effects: readonly RigEffect[], more: Readonly<Record<string, unknown>> = {}): Promise<GovernedPlan> {
    return this.plans.prepare(this.draft(effects, more));
  }

  async start(effects: readonly RigEffect[], more: Readonly<Record<string, unknown>> = {}): Promise<PlanHandle> {
    return this.plans.start(await this.prepare(effects, more));
  }

  /** Writes that the sinks hold, in all. */
  get writes(): number {
    return this.sinks.counts().writes;
  }

  /** Polls the plan's status until it is as wanted; fails with what it is instead. */
  async until(handle: PlanHandle, wanted: (status: PlanStatus) => boolean): Promise<PlanStatus> {
    const limit = performance.now() + UNTIL_MS;
    for (let last: unknown = null; ;) {
      try {
        const status = await handle.status();
        if (wanted(status)) return status;
        last = status;
      } catch (fault) {
        last = String(fault);
      }
      if (performance.now() > limit) throw new Error(`the plan did not get there; it is ${JSON.stringify(last)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async historyOf(handle: Pick<PlanHandle, 'workflow'>): Promise<HistoryJson> {
    return historyToJson(await handle.workflow.fetchHistory());
  }

  /** To be done when the test is over, before its executions are replayed. */
  beforeEnd(stop: () => Promise<void>): void {
    this.stops.push(stop);
  }

  /** To be done after the test and its replays. */
  atEnd(cleanup: () => Promise<void>): void {
    this.cleanups.push(cleanup);
  }

  /** Resets the latest execution to its very start; answers the new one. */
  async reset(handle: Pick<PlanHandle, 'workflowId'>): Promise<WorkflowHandle> {
    const { client } = this;
    const { workflowId } = handle;
    const { runId } = await client.workflow.getHandle(workflowId).describe();
    const reset = await client.workflowService.resetWorkflowExecution({
      namespace: this.temporal.namespace,
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: 3 as never, // declared Long, a number does
      requestId: `${runId}-reset`,
      reason: 'a test',
    });
    this.track({ client, workflowId, runId: reset.runId ?? '' });
    return client.workflow.getHandle(workflowId, reset.runId ?? '');
  }

  /** Adds an execution that no client of this rig started. */
  track(execution: Execution): void {
    if (!this.started.some((known) => known.runId === execution.runId)) this.started.push(execution);
  }

  verify(histories: Iterable<RecordedHistory>, journal = this.journal): Promise<ReplayReport> {
    const { dataConverter } = this.options;
    return replayAndVerify({
      workflowBundle: this.bundle,
      plugins: [this.plugin({ effects: [] })] as WorkerPlugin[],
      ...(dataConverter === undefined ? {} : { dataConverter }),
      histories,
      journal,
    });
  }

  /** The histories of executions, each with the runs that it continued as. */
  async histories(executions: readonly Execution[] = this.started): Promise<RecordedHistory[]> {
    const histories: RecordedHistory[] = [];
    for (const { client, workflowId, runId } of executions) {
      for (let next: string | undefined = runId; next !== undefined;) {
        const history = historyToJson(await client.workflow.getHandle(workflowId, next).fetchHistory());
        histories.push({ workflowId, history });
        next = continuedAs(history);
      }
    }
    return histories;
  }

  private tracker(client: () => Client): WorkflowClientInterceptor {
    return {
      startWithDetails: async (input, next) => {
        const output = await next(input);
        this.track({ client: client(), workflowId: input.options.workflowId, runId: output.runId });
        return output;
      },
      signalWithStart: async (input, next) => {
        const runId = await next(input);
        this.track({ client: client(), workflowId: input.options.workflowId, runId });
        return runId;
      },
    };
  }
}

async function terminate({ client, workflowId }: Execution): Promise<void> {
  await client.workflow
    .getHandle(workflowId)
    .terminate('the test is over')
    .catch(() => undefined);
}

function continuedAs(history: HistoryJson): string | undefined {
  const last = history.events.at(-1);
  const attributes = (last?.['workflowExecutionContinuedAsNewEventAttributes'] ??
    last?.['workflowExecutionCompletedEventAttributes']) as { newExecutionRunId?: string } | undefined;
  return attributes?.newExecutionRunId || undefined;
}

/** The current details that the Web UI shows. */
export async function details(handle: Pick<PlanHandle, 'workflow'>): Promise<string> {
  const metadata = await handle.workflow.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return metadata.currentDetails ?? '';
}

export async function memoOf(handle: Pick<PlanHandle, 'workflow'>): Promise<unknown> {
  return (await handle.workflow.describe()).memo?.['countersign'];
}

/** The summaries of activities and timers, in order. */
export async function summaries(handle: Pick<PlanHandle, 'workflow'>): Promise<readonly string[]> {
  const { events } = historyToJson(await handle.workflow.fetchHistory());
  return events.flatMap((event) => {
    const metadata = event['userMetadata'] as { summary?: { data?: string } } | undefined;
    const data = metadata?.summary?.data;
    return data === undefined ? [] : [JSON.parse(Buffer.from(data, 'base64').toString('utf8')) as string];
  });
}

/** The cause of a workflow's failure; fails when it does not fail. */
export async function failureOf(result: Promise<unknown>): Promise<TemporalFailure> {
  const fault: unknown = await result.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (fault instanceof WorkflowFailedError && fault.cause instanceof TemporalFailure) return fault.cause;
  throw new Error('the workflow did not fail', { cause: fault });
}

let installed = false;

function installRuntime(level: LogLevel, bindAddress?: string): void {
  if (installed) return;
  installed = true;
  const keep = (entry: LogEntry): void => void logs.push(entry);
  const core = level === 'TRACE' || level === 'DEBUG' ? level : 'WARN';
  Runtime.install({
    logger: new DefaultLogger(level, keep),
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core, other: 'WARN' }), forward: {} },
      ...(bindAddress === undefined ? {} : { metrics: { prometheus: { bindAddress } } }),
    },
  });
}
