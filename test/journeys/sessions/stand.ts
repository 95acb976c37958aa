/**
 * What tests of sessions under kills work with: a Temporal server of their own, worker processes, one journal on disk, and the lists of
 * every request to the model and every execution that a handler ever began.
 */
import { setMaxListeners } from 'node:events';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { buildChildren } from '../../../scripts/kill-matrix/build-child';
import { Child } from '../../../scripts/kill-matrix/child';
import { Journal } from '../../../src/activities/journal';
import { SessionShelf } from '../../../src/activities/session-shelf';
import { fileStore, type FileStore } from '../../../src/adapters/stores';
import {
  PlanClient,
  SessionClient,
  type PlanHandle,
  type Question,
  type SessionHandle,
  type SessionStart,
} from '../../../src/client';
import { initJournal } from '../../../src/journal-init';
import { CountersignPlugin } from '../../../src/plugin';
import type { PolicyRule } from '../../../src/rules/invocations/policy';
import { SessionLogReader } from '../../../src/rules/invocations/session-log';
import { SessionView } from '../../../src/rules/invocations/session-view';
import { recordToText, type SessionRecord } from '../../../src/rules/invocations/session-record';
import { replayAndVerify, type ReplayReport } from '../../../src/testing';
import { startDevServer, type DevServer } from '../../../src/testing/dev-server';
import { historyToJson } from '../../../src/testing/history-json';
import { findTemporalCli } from '../../../src/testing/temporal-cli';
import { bundleOf } from '../../support/bundle';
import type { Execution, Orders, Request, ToolOrders, Wish } from './worker-main';

const TASK_QUEUE = 'sessions';

export class SessionStand {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'tool-sessions-'));
  readonly store: FileStore = fileStore(path.join(this.folder, 'journal'), { createRoot: true });
  readonly contents: FileStore = fileStore(path.join(this.folder, 'contents'), { createRoot: true });
  sessions!: SessionClient;
  plans!: PlanClient;
  client!: Client;
  private bundle!: Awaited<ReturnType<typeof bundleOf>>;
  private server!: DevServer;
  private connection!: Connection;
  private readonly log = openSync(path.join(this.folder, 'workers.log'), 'a');
  private readonly children = new Set<Child>();
  private names = 0;
  private outlives = false;

  constructor(
    readonly tools: readonly ToolOrders[],
    readonly policies: readonly PolicyRule[] = [],
  ) {}

  /** `outlives`: the server can be killed and comes back with all that it knew. */
  async open({ outlives = false } = {}): Promise<void> {
    this.outlives = outlives;
    await initJournal(this.store);
    await this.contents.list('');
    await buildChildren(this.folder, { worker: path.join(__dirname, 'worker-main.ts') });
    this.bundle = await bundleOf(path.resolve(__dirname, '../../../src/workflow.ts'));
    writeFileSync(path.join(this.folder, 'workflow.js'), (this.bundle as { code: string }).code);
    await this.startServer();
  }

  private async startServer(port?: number): Promise<void> {
    const { path: executable } = await findTemporalCli({});
    this.server = await startDevServer({
      ...{ executable, ...(this.outlives ? { dbFile: path.join(this.folder, 'temporal.db') } : {}) },
      dynamicConfig: { 'history.transferProcessorMaxPollRPS': 10_000 },
      ...(port === undefined ? {} : { port }),
    });
    await this.connection?.close();
    this.connection = await Connection.connect({ address: this.server.address });
    this.client = new Client({ connection: this.connection });
    const { client, contents, store } = this;
    this.sessions = new SessionClient({ client, contents, store, taskQueue: TASK_QUEUE });
    this.plans = new PlanClient({ client, contents, taskQueue: TASK_QUEUE });
  }

  /** SIGKILL. Handles that were made before are of no use any more. */
  async killServer(): Promise<void> {
    await this.server.kill();
  }

  /** It comes back with its database on the same port. */
  restartServer(): Promise<void> {
    return this.startServer(this.server.port);
  }

  async close(): Promise<void> {
    for (const child of this.children) await child.kill();
    await this.connection.close();
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get workerLog(): string {
    return readFileSync(path.join(this.folder, 'workers.log'), 'utf8');
  }

  sessionWorker(more: Partial<Orders> = {}): Promise<Child> {
    return this.start({ role: 'sessions', ...more });
  }

  /** @param names the tools that it has; all of them by default */
  toolWorker(names?: readonly string[]): Promise<Child> {
    const tools = this.tools.filter(({ tool }) => names === undefined || names.includes(tool));
    return this.start({ role: 'tools', tools });
  }

  private async start(orders: Pick<Orders, 'role'> & Partial<Orders>): Promise<Child> {
    const whole: Orders = {
      ...{ address: this.server.address, taskQueue: TASK_QUEUE, folder: this.folder, tools: this.tools },
      journal: path.join(this.folder, 'journal'),
      contents: path.join(this.folder, 'contents'),
      bundle: path.join(this.folder, 'workflow.js'),
      identity: `${orders.role}-${(this.names += 1)}`,
      policies: this.policies,
      ...orders,
    };
    const child = new Child(path.join(this.folder, 'worker.js'), [JSON.stringify(whole)], this.log);
    this.children.add(child);
    void child.exited.then(() => this.children.delete(child));
    await child.line((line) => line === 'ready', 1, 'ready', 60_000);
    return child;
  }

  /** A session of its own name, with a wish as its first message. */
  begin(wish: Wish, more: Pick<SessionStart, 'kind' | 'requester'> = {}): Promise<SessionHandle> {
    const tools = this.tools.map(({ tool }) => ({ tool }));
    const session = `s-${(this.names += 1)}`;
    return this.sessions.start({
      session,
      agentVersion: '1',
      model: 'wishing',
      tools,
      message: wishText(wish),
      ...more,
    });
  }

  /** What people are asked about the n-th call under way, as soon as they are, and who takes their answer. */
  async asked(
    session: SessionHandle,
    index: number,
  ): Promise<{ readonly handle: PlanHandle; readonly question: Question }> {
    const runId = (await session.status()).calls[index]?.run_id ?? '';
    const handle = this.plans.getHandle(runId);
    for (let waited = 0; ; waited += 200) {
      const status = await handle.status().catch(() => null);
      const question = status?.state === 'parked' ? await handle.approvals() : null;
      if (question !== null) return { handle, question };
      if (waited > 90_000) throw new Error(`nobody is asked about call ${index}; it is ${JSON.stringify(status)}`);
      await sleep(200);
    }
  }

  release(name: string): void {
    writeFileSync(path.join(this.folder, name), '');
  }

  takeBack(name: string): void {
    rmSync(path.join(this.folder, name));
  }

  get executions(): readonly Execution[] {
    return this.lines('executions') as readonly Execution[];
  }

  /** The numbers of all executions that began, in order. */
  get begun(): readonly number[] {
    return this.executions.filter(({ at }) => at === 'start').map(({ n }) => n);
  }

  get requests(): readonly Request[] {
    return this.lines('requests') as readonly Request[];
  }

  private lines(name: string): readonly unknown[] {
    const file = path.join(this.folder, name);
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));
  }

  /** The log as whoever audits it reads it; throws where a record could not have followed. */
  async audited({ session }: SessionHandle): Promise<SessionLogReader> {
    const reader = new SessionLogReader(session);
    for (const record of await this.records(session)) reader.take(recordToText(record));
    return reader;
  }

  /** The records of a session's log. */
  records(session: string): Promise<readonly SessionRecord[]> {
    return new SessionShelf(new Journal(this.store)).log(session);
  }

  /** Waits for what the log says, without a word to the workers, who have enough to do. */
  async reaches({ session }: SessionHandle, wanted: (view: SessionView) => boolean, stop: AbortSignal): Promise<void> {
    const shelf = new SessionShelf(new Journal(this.store));
    const view = new SessionView(session);
    for (let taken = 0; ; await sleep(1_000)) {
      const records = await shelf.log(session);
      for (; taken < records.length; taken += 1) {
        const { event, at } = records[taken] as (typeof records)[number];
        view.take(event, at);
      }
      if (wanted(view)) return;
      if (stop.aborted) throw new Error(`${session} is ${view.status} in turn ${view.turn} when all is stopped`);
    }
  }

  /** Waits until so many executions have begun. */
  async begins(count: number, stop: AbortSignal): Promise<void> {
    while (this.begun.length < count) {
      if (stop.aborted) throw new Error(`${this.begun.length} executions have begun when all is stopped, not ${count}`);
      await sleep(200);
    }
  }

  /**
   * Does all parts side by side. The first that fails, or the end of the time, stops the others; the caller hears of it only when none
   * of them asks the server for anything any more.
   */
  async together<T>(ms: number, parts: (stop: AbortSignal) => readonly Promise<T>[]): Promise<readonly T[]> {
    const late = AbortSignal.timeout(ms);
    const failed = new AbortController();
    const stop = AbortSignal.any([late, failed.signal]);
    setMaxListeners(0, stop);
    const all = await this.connection.withAbortSignal(stop, () => Promise.resolve(parts(stop)));
    for (const part of all) part.catch((fault: unknown) => failed.abort(fault));
    await Promise.allSettled(all);
    if (late.aborted) throw new Error(`all this was not over after ${ms} ms`, { cause: failed.signal.reason });
    if (failed.signal.aborted) throw failed.signal.reason;
    return Promise.all(all);
  }

  /** Replays the histories of sessions with the present code. */
  async replayed(handles: readonly SessionHandle[]): Promise<ReplayReport> {
    const histories = await Promise.all(
      handles.map(async ({ workflow, workflowId }) => ({
        workflowId,
        history: historyToJson(await workflow.fetchHistory()),
      })),
    );
    const plugins = [new CountersignPlugin({ store: this.store, contents: this.contents })];
    return replayAndVerify({ workflowBundle: this.bundle, plugins, histories, journal: this.store });
  }
}

export function wishText(wish: Wish): string {
  return JSON.stringify(wish);
}
