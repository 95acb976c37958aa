/**
 * What tests of tools' queues work with: a Temporal server of their own that can be killed, worker processes, one journal on disk, and
 * the list of every execution that a handler ever began.
 */
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { buildChildren } from '../../../scripts/kill-matrix/build-child';
import { Child } from '../../../scripts/kill-matrix/child';
import { DRIVE_ACTIVITY } from '../../../src/activities/contract';
import { Contents } from '../../../src/activities/contents';
import { prepareDraft } from '../../../src/activities/prepare';
import { fileStore, type FileStore } from '../../../src/adapters/stores';
import { initJournal } from '../../../src/journal-init';
import {
  callIdOf,
  callRunId,
  queueWorkflowId,
  sessionWorkflowId,
  toolIdOf,
} from '../../../src/rules/invocations/names';
import { workflowIdDigest } from '../../../src/rules/plans/identity';
import { planToRecord } from '../../../src/rules/plans/plan';
import { replayAndVerify, type ReplayReport } from '../../../src/testing';
import { startDevServer, type DevServer } from '../../../src/testing/dev-server';
import { historyToJson, type HistoryJson } from '../../../src/testing/history-json';
import { findTemporalCli } from '../../../src/testing/temporal-cli';
import { CountersignPlugin } from '../../../src/plugin';
import { storeView, verifyJournal, type VerifyReport } from '../../../src/verify';
import type { CallReport, QueueStatus, ToolQueueInput } from '../../../src/workflows/queue-messages';
import { bundleOf } from '../../support/bundle';
import type { CallEnd, CallToMake, CallerInput } from './caller-workflows';
import type { Errand, Execution, Orders, ToolOrders } from './worker-main';

export const TASK_QUEUE = 'callers';
const CALLERS = path.join(__dirname, 'caller-workflows.ts');

export interface CallerOptions extends Partial<Omit<CallerInput, 'calls' | 'tool' | 'version'>> {
  readonly version?: string;
}

export class QueueStand {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'tool-queues-'));
  readonly journal = path.join(this.folder, 'journal');
  readonly contentsFolder = path.join(this.folder, 'contents');
  readonly store: FileStore = fileStore(this.journal, { createRoot: true });
  readonly contents: FileStore = fileStore(this.contentsFolder, { createRoot: true });
  server!: DevServer;
  client!: Client;
  private connection!: Connection;
  private readonly log = openSync(path.join(this.folder, 'workers.log'), 'a');
  private readonly children = new Set<Child>();
  private names = 0;

  async open(): Promise<void> {
    await initJournal(this.store);
    await this.contents.list('');
    mkdirSync(path.join(this.folder, 'done'), { recursive: true });
    await buildChildren(this.folder, { worker: path.join(__dirname, 'worker-main.ts') });
    const { code } = (await bundleOf(CALLERS)) as { code: string };
    writeFileSync(path.join(this.folder, 'workflow.js'), code);
    await this.startServer();
  }

  async startServer(port?: number): Promise<void> {
    const { path: executable } = await findTemporalCli({});
    this.server = await startDevServer({
      executable,
      dbFile: path.join(this.folder, 'temporal.db'),
      dynamicConfig: { 'history.transferProcessorMaxPollRPS': 10_000 },
      ...(port === undefined ? {} : { port }),
    });
    await this.connection?.close().catch(() => undefined);
    this.connection = await Connection.connect({ address: this.server.address });
    this.client = new Client({ connection: this.connection });
  }

  /** SIGKILL; it comes back with its database on the same port. */
  async restartServer(): Promise<void> {
    const { port } = this.server;
    await this.server.kill();
    await this.startServer(port);
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

  /** A name of a tool that nothing else has. */
  tool(label = 'tool'): string {
    return `${label}-${(this.names += 1)}`;
  }

  workflows(maxCachedWorkflows?: number): Promise<Child> {
    return this.start({ role: 'workflows', ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }) });
  }

  tools(tools: readonly ToolOrders[], identity?: string): Promise<Child> {
    return this.start({ role: 'tools', tools, ...(identity === undefined ? {} : { identity }) });
  }

  private async start(orders: Pick<Orders, 'role'> & Partial<Orders>): Promise<Child> {
    const whole: Orders = {
      ...{ address: this.server.address, namespace: 'default', taskQueue: TASK_QUEUE, journal: this.journal },
      ...{ contents: this.contentsFolder, folder: this.folder, bundle: path.join(this.folder, 'workflow.js') },
      identity: `${orders.role}-${(this.names += 1)}`,
      ...orders,
    };
    const child = new Child(path.join(this.folder, 'worker.js'), [JSON.stringify(whole)], this.log);
    this.children.add(child);
    void child.exited.then(() => this.children.delete(child));
    await child.line((line) => line === 'ready', 1, 'ready', 60_000);
    return child;
  }

  /** A plan of one call, with its contents stored. */
  async call(session: string, index: number, tool: string, version: string, errand: Errand): Promise<CallToMake> {
    const named = { tool, version: version === 'default' ? null : version };
    const callId = callIdOf({ session, agentVersion: 'v1', turn: 1, round: 1, index });
    const runId = callRunId(callId, named);
    const plan = await prepareDraft(
      new Contents(this.contents),
      {
        workflowId: 'workflow:countersign.local/session',
        runId,
        order: 'ordered',
        effects: [
          {
            ...{ id: callId, toolId: toolIdOf(named), kind: 'local_tool', operation: { ...errand } },
            ...{ approvalRequired: false, compensationLimit: 'none' },
          },
        ],
      },
      { origin: workflowIdDigest(sessionWorkflowId(session)), requester: null },
    );
    return { call_id: callId, plan: planToRecord(plan) };
  }

  /** Starts a session that makes these calls of the tool. */
  async caller(
    tool: string,
    errands: readonly Errand[],
    { version = 'default', ...more }: CallerOptions = {},
  ): Promise<WorkflowHandle> {
    const session = `s${(this.names += 1)}-${tool}`;
    const calls = await Promise.all(errands.map((errand, index) => this.call(session, index, tool, version, errand)));
    const input: CallerInput = { tool, version, calls, at_once: 1_000, wait_ms: 60_000, execution_ms: 30_000, ...more };
    return this.client.workflow.start('caller', {
      workflowId: sessionWorkflowId(session),
      taskQueue: TASK_QUEUE,
      args: [input],
    });
  }

  /** Ends a session that the test needs no more; it may have ended by itself. */
  async giveUp(session: WorkflowHandle): Promise<void> {
    await session.terminate().catch(() => undefined);
  }

  async ends(handle: WorkflowHandle): Promise<readonly CallEnd[]> {
    return (await handle.result()) as readonly CallEnd[];
  }

  /** The reports that a session has heard so far. */
  heard(session: WorkflowHandle): Promise<readonly CallReport[]> {
    return session.query<readonly CallReport[]>('heard');
  }

  /** A session's call, as it was started with. */
  async planCall(session: WorkflowHandle, index: number): Promise<CallToMake> {
    const { events } = historyToJson(await session.fetchHistory());
    const started = events[0]?.['workflowExecutionStartedEventAttributes'] as {
      input: { payloads: { data: string }[] };
    };
    const data = started.input.payloads[0]?.data ?? '';
    const input = JSON.parse(Buffer.from(data, 'base64').toString('utf8')) as CallerInput;
    return input.calls[index] as CallToMake;
  }

  /** Starts a queue with limits of its own, before anybody needs it. */
  async openQueue(tool: string, limits: Omit<ToolQueueInput, 'tool' | 'version'>): Promise<void> {
    const { workflowId } = this.queue(tool);
    const args = [{ tool, version: 'default', ...limits }];
    await this.client.workflow.start('toolQueue', { workflowId, taskQueue: TASK_QUEUE, args });
  }

  queue(tool: string, version = 'default'): WorkflowHandle {
    const named = { tool, version: version === 'default' ? null : version };
    return this.client.workflow.getHandle(queueWorkflowId(toolIdOf(named)) ?? '');
  }

  status(tool: string): Promise<QueueStatus> {
    return this.queue(tool).query<QueueStatus>('queue');
  }

  /** Every execution of the tool's calls so far: those whose call is of a session of this tool. */
  executions(tool: string, at: Execution['at'] = 'start'): readonly Execution[] {
    const file = path.join(this.folder, 'executions');
    if (!existsSync(file)) return [];
    const all = readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Execution);
    return all.filter((one) => one.at === at && (one.call ?? '').split(':')[0]?.endsWith(`-${tool}`));
  }

  /** The calls that a queue has handed out, by its own histories, each where it was handed out first. */
  dispatched(histories: readonly HistoryJson[]): readonly string[] {
    const calls = histories.flatMap(({ events }) =>
      events.flatMap((event) => {
        const attributes = event['activityTaskScheduledEventAttributes'] as
          { activityType: { name: string }; input: { payloads: { data: string }[] } } | undefined;
        if (attributes?.activityType.name !== DRIVE_ACTIVITY) return [];
        const data = Buffer.from(attributes.input.payloads[0]?.data ?? '', 'base64').toString('utf8');
        return [(JSON.parse(data) as { call_id: string }).call_id];
      }),
    );
    return [...new Set(calls)];
  }

  /** Most executions of the tool at once, and the calls in the order in which their executions began. */
  overlap(tool: string): { readonly most: number; readonly began: readonly string[] } {
    const ends = new Set(this.executions(tool, 'end').map(({ call }) => call));
    const all = [...this.executions(tool), ...this.executions(tool, 'end')].filter(({ call }) => ends.has(call));
    all.sort((a, b) => a.ms - b.ms || (a.at === b.at ? 0 : a.at === 'end' ? -1 : 1));
    let [running, most] = [0, 0];
    for (const { at } of all) most = Math.max(most, (running += at === 'start' ? 1 : -1));
    return { most, began: this.executions(tool).map(({ call }) => call ?? '') };
  }

  /** Lets executions go on that wait for `name`. */
  release(name: string): void {
    writeFileSync(path.join(this.folder, name), '');
  }

  /** The histories of every run of a workflow, the first one first. */
  async histories(workflowId: string): Promise<readonly HistoryJson[]> {
    const runs: { runId: string; at: number }[] = [];
    for await (const { runId, startTime } of this.client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      runs.push({ runId, at: startTime.getTime() });
    }
    runs.sort((a, b) => a.at - b.at);
    return Promise.all(
      runs.map(async ({ runId }) =>
        historyToJson(await this.client.workflow.getHandle(workflowId, runId).fetchHistory()),
      ),
    );
  }

  /** Ends whatever still runs, so that every history is whole, and names all workflows that ever ran. */
  async endAll(): Promise<readonly string[]> {
    const ids = new Set<string>();
    for await (const { workflowId, status } of this.client.workflow.list()) {
      ids.add(workflowId);
      if (status.name === 'RUNNING') await this.giveUp(this.client.workflow.getHandle(workflowId));
    }
    return [...ids];
  }

  /** Replays every run of these workflows with the present code, against the journal. */
  async replay(workflowIds: readonly string[]): Promise<ReplayReport> {
    const histories = [];
    for (const workflowId of workflowIds) {
      for (const history of await this.histories(workflowId)) histories.push({ workflowId, history });
    }
    return replayAndVerify({
      workflowBundle: await bundleOf(CALLERS),
      plugins: [new CountersignPlugin({ store: this.store, contents: this.contents })] as never,
      histories,
      journal: this.store,
    });
  }

  verify(): Promise<VerifyReport> {
    return verifyJournal(storeView(this.store));
  }
}
