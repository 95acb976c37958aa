/**
 * One cell while it is played: a plan of three effects, its workers, its fault, and how it ended. Invariant: a cell has its
 * own journal, task queue and keys, so that cells which run side by side cannot meet.
 */
import { randomUUID } from 'node:crypto';
import { openSync, closeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type Client } from '@temporalio/client';
import { type Closable, openContentStore, openStore } from '../../src/adapters/stores';
import { contentsBeside, makeStore } from '../../src/adapters/stores/open-store';
import { PlanClient, type GovernedPlan, type PlanHandle, type PlanOutcome } from '../../src/client';
import { initJournal } from '../../src/journal-init';
import type { ContentStore, Store } from '../../src/ports';
import { openingCheckpoint } from '../../src/rules/plans/plan';
import type { DevServer } from '../../src/testing/dev-server';
import { programFile } from './build-child';
import type { CellSink } from './cell-sink';
import { COLUMNS, DEADLINE_MS, definitionOf, SETTLE_MS, type SinkName } from './sinks';
import { RIVAL_NAMESPACE, type Stage } from './stage';
import type { CellEnd } from './verdict';
import type { WorkerMoment } from './worker-orders';
import { WorkerProcess } from './worker-process';

/** What may pass beyond deadline and settle time before a cell counts as hung. */
const HANG_MS = 30_000;
const EFFECTS = 3;
const LOOK_MS = 200;

export interface SceneEnd {
  readonly end: CellEnd;
  readonly outcome: PlanOutcome | null;
}

export interface Execution {
  readonly client: Client;
  readonly runId: string;
}

interface SceneGiven {
  readonly order?: 'ordered' | 'independent';
  readonly deadlineMs?: number;
}

interface WorkerGiven {
  readonly namespace?: string;
  readonly bundle?: 'faulty';
}

export class Scene {
  /** What a row itself finds wrong. */
  readonly problems: string[] = [];
  /** What is worth telling beside the result. */
  readonly notes: string[] = [];
  /** Every Temporal run that carried the plan. */
  readonly executions: Execution[] = [];
  /** Where the effects go. */
  readonly receiver: CellSink;
  readonly store: Store & Closable;
  /** Keys of the three effects, in the order of the plan. */
  readonly keys: readonly string[];
  /** From the last fault to the end. */
  tookMs = 0;
  private client: Client;
  private address: string;
  private connection: Connection | null = null;
  private ownServer: DevServer | null = null;
  private struckAt = performance.now();
  private readonly workers: WorkerProcess[] = [];
  private readonly log: number;

  private constructor(
    readonly stage: Stage,
    readonly sink: SinkName,
    readonly folder: string,
    readonly journal: string,
    readonly contents: ContentStore & Closable,
    readonly plan: GovernedPlan,
    private readonly taskQueue: string,
    private readonly deadlineMs: number,
    operations: readonly unknown[],
  ) {
    this.keys = openingCheckpoint(plan).effects.map((effect) => effect.idempotencyKey);
    this.receiver = stage.sink(COLUMNS[sink].server, (key) => operations[this.keys.indexOf(key)]);
    this.store = openStore(journal);
    this.client = stage.client('default');
    this.address = stage.server.address;
    this.log = openSync(path.join(folder, 'workers.log'), 'a');
  }

  static async open(stage: Stage, sink: SinkName, name: string, given: SceneGiven): Promise<Scene> {
    const column = COLUMNS[sink];
    const { order = 'ordered', deadlineMs = column.deadlineMs ?? DEADLINE_MS } = given;
    const folder = path.join(stage.folder, name);
    await mkdir(folder, { recursive: true });
    const journal = stage.systems.journal(folder, name);
    await makeJournal(journal);
    await makeStore(contentsBeside(journal));
    const contents = openContentStore(contentsBeside(journal));
    const taskQueue = `kill-matrix-${randomUUID()}`;
    const operations = Array.from({ length: EFFECTS }, (_, index) => column.operation(index, randomUUID()));
    const { kind } = definitionOf(sink, stage.urls, deadlineMs).sink;
    const plan = await new PlanClient({ client: stage.client('default'), contents, taskQueue }).prepare({
      workflow_id: 'workflow:example.org/kill-matrix',
      name: `${name} ${randomUUID()}`,
      order,
      effects: operations.map((operation, index) => ({
        ...{ id: `effect-${index}`, tool_id: column.toolId, kind, operation },
      })),
    });
    return new Scene(stage, sink, folder, journal, contents, plan, taskQueue, deadlineMs, operations);
  }

  get boundMs(): number {
    return this.deadlineMs + SETTLE_MS + HANG_MS;
  }

  /** The key of the effect that the fault hits. */
  get target(): string {
    return this.keys[1] ?? '';
  }

  /** Starts a worker process and waits until it polls. */
  worker(moment: WorkerMoment | null = null, given: WorkerGiven = {}): Promise<WorkerProcess> {
    return this.startWorker(moment, given, false);
  }

  /** A worker process that polls as soon as it may `proceed`. */
  standby(moment: WorkerMoment | null = null): Promise<WorkerProcess> {
    return this.startWorker(moment, {}, true);
  }

  private async startWorker(moment: WorkerMoment | null, given: WorkerGiven, standby: boolean): Promise<WorkerProcess> {
    const orders = {
      address: this.address,
      namespace: given.namespace ?? 'default',
      taskQueue: this.taskQueue,
      bundle: await this.stage.bundle(given.bundle ?? 'workflow'),
      journal: this.journal,
      contents: contentsBeside(this.journal),
      sink: this.sink,
      urls: this.stage.urls,
      deadlineMs: this.deadlineMs,
      moment,
      standby,
    };
    return this.stage.starts.run(async () => {
      const worker = new WorkerProcess(programFile(this.stage.folder, 'worker'), orders, this.log);
      this.workers.push(worker);
      void worker.exited.then(({ code }) => {
        if (code !== null) this.problems.push(`a worker ended by itself with code ${code}`);
      });
      await worker.passes(standby ? 'standby' : 'ready');
      return worker;
    });
  }

  /** Starts the plan's workflow, or starts it again. */
  async begin(namespace = 'default'): Promise<PlanHandle> {
    if (this.executions.length === 0) this.strike();
    const client = namespace === 'default' ? this.client : this.stage.client(namespace);
    const handle = await this.plans(client).start(this.plan);
    const { runId } = (await handle.workflow.describe()) satisfies { runId: string };
    if (!this.executions.some((known) => known.runId === runId)) this.executions.push({ client, runId });
    return handle;
  }

  beginRival(): Promise<PlanHandle> {
    return this.begin(RIVAL_NAMESPACE);
  }

  /** The fault has just happened: the bound counts from here. */
  strike(): void {
    this.struckAt = performance.now();
    this.tookMs = 0;
  }

  /**
   * Waits until all who carry the plan have ended it, or one of them asks a person (the others then follow that one), but
   * not for longer than the bound.
   */
  async ended(...handles: readonly PlanHandle[]): Promise<SceneEnd> {
    const own = this.plans(this.client).getHandle(this.plan.runId);
    const watched = handles.length === 0 ? [own] : handles;
    let end: SceneEnd | null = null;
    while (end === null && performance.now() - this.struckAt < this.boundMs) {
      const ends = await Promise.all(watched.map((handle) => this.look(handle)));
      const final = ends.find((one) => one !== null && one.end !== 'completed');
      end = final ?? (ends.includes(null) ? null : (ends[0] ?? null));
      if (end === null) await sleep(LOOK_MS);
    }
    this.tookMs = performance.now() - this.struckAt;
    return end ?? { end: 'hung', outcome: null };
  }

  /** Resets the plan's workflow to its start, as `temporal workflow reset --type FirstWorkflowTask` does. */
  async reset(handle: PlanHandle): Promise<void> {
    const { events } = await handle.workflow.fetchHistory();
    const first = events?.find((event) => event.workflowTaskCompletedEventAttributes != null);
    const { runId } = await this.client.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: handle.workflowId, runId: this.executions.at(-1)?.runId ?? null },
      reason: 'kill-matrix',
      requestId: randomUUID(),
      workflowTaskFinishEventId: first?.eventId ?? null,
    });
    this.executions.push({ client: this.client, runId });
  }

  /** Waits until the sink has done with every request for the target that it has received. */
  async sinkAtRest(): Promise<void> {
    for (const until = performance.now() + this.boundMs; performance.now() < until; await sleep(LOOK_MS)) {
      const { inHand } = await this.receiver.counts(this.target);
      if (inHand === 0) return;
    }
    throw new Error('the sink still has a request in hand');
  }

  /** Waits until a workflow task of the plan has failed. */
  async taskFailed(handle: PlanHandle): Promise<void> {
    for (const until = performance.now() + this.boundMs; performance.now() < until; await sleep(LOOK_MS)) {
      const { events } = await handle.workflow.fetchHistory();
      if (events?.some((event) => event.workflowTaskFailedEventAttributes != null)) return;
    }
    throw new Error('no workflow task failed');
  }

  /** How many times the plan's workflow has called `drive`. */
  async drives(handle: PlanHandle): Promise<number> {
    const { events } = await handle.workflow.fetchHistory();
    return events?.filter((event) => event.activityTaskScheduledEventAttributes != null).length ?? 0;
  }

  /** Moves this cell to a Temporal server of its own; only before its first worker. */
  async moveToOwnServer(): Promise<void> {
    this.ownServer = await this.stage.ownServer(path.join(this.folder, 'temporal.db'));
    this.address = this.ownServer.address;
    this.connection = await Connection.connect({ address: this.address });
    this.client = this.stage.client('default', this.connection);
  }

  async killServer(): Promise<void> {
    await this.ownServer?.kill();
  }

  async restartServer(): Promise<void> {
    this.ownServer = await this.stage.ownServer(path.join(this.folder, 'temporal.db'), this.ownServer?.port);
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
    closeSync(this.log);
    await this.connection?.close();
    await this.ownServer?.stop();
    await Promise.all([this.store.close?.(), this.contents.close?.()]);
  }

  private plans(client: Client): PlanClient {
    return new PlanClient({ client, contents: this.contents, taskQueue: this.taskQueue });
  }

  private async look(handle: PlanHandle): Promise<SceneEnd | null> {
    try {
      const { status, memo } = await handle.workflow.describe();
      if (status.name === 'COMPLETED') return { end: 'completed', outcome: await handle.result() };
      if (status.name !== 'RUNNING') return { end: 'failed', outcome: null };
      if ((memo?.['countersign'] as { state?: string } | undefined)?.state !== 'parked') return null;
      return (await handle.status()).state === 'parked' ? { end: 'parked', outcome: null } : null;
    } catch (fault) {
      if (this.ownServer !== null) return null; // it may be down just now
      throw fault;
    }
  }
}

async function makeJournal(address: string): Promise<void> {
  await makeStore(address);
  const store: Store & Closable = openStore(address);
  await initJournal(store);
  await store.close?.();
}
