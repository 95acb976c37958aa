/**
 * What journeys across clusters work with: Temporal servers of their own that can be killed and forgotten, worker processes, one
 * journal on disk, one counting server, and the built command line as a process.
 */
import { mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { fileStore, type FileStore } from '../../src/adapters/stores';
import { PlanClient, type GovernedPlan, type PlanHandle, type PlanStatus } from '../../src/client';
import { initJournal } from '../../src/journal-init';
import { startCountingServer, type SinkServer } from '../../src/testing';
import { startDevServer, type DevServer } from '../../src/testing/dev-server';
import { buildChildren, programFile } from '../../scripts/kill-matrix/build-child';
import type { SinkName } from '../../scripts/kill-matrix/sinks';
import type { WorkerMoment } from '../../scripts/kill-matrix/worker-orders';
import { WorkerProcess } from '../../scripts/kill-matrix/worker-process';
import { builtProgram, startProgram, type RunningProgram } from '../cli/support';
import { bundleOf } from '../support/bundle';
import { temporalCli } from '../support/temporal';

export const TASK_QUEUE = 'countersign';

/** One Temporal server and a way in. */
export interface Cluster {
  readonly server: DevServer;
  readonly dbFile: string;
  readonly plans: PlanClient;
  close(): Promise<void>;
}

export class Clusters {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'clusters-'));
  readonly journal = path.join(this.folder, 'journal');
  readonly contents = path.join(this.folder, 'journal-contents');
  readonly store: FileStore = fileStore(this.journal, { createRoot: true });
  private readonly log = openSync(path.join(this.folder, 'workers.log'), 'a');
  private readonly ends: (() => Promise<unknown>)[] = [];
  private servers = 0;
  /** Of a send: longer than a held one is held. A takeover waits this long, and the sink's settling. */
  deadlineMs = 3_000;
  sinks!: SinkServer;
  program = '';

  async open(): Promise<void> {
    this.program = builtProgram();
    this.sinks = await startCountingServer();
    await buildChildren(this.folder);
    const { code } = (await bundleOf(path.resolve(__dirname, '../../src/workflow.ts'))) as { code: string };
    writeFileSync(path.join(this.folder, 'workflow.js'), code);
    await initJournal(this.store);
    await fileStore(this.contents, { createRoot: true }).list('');
  }

  /** A server with a database of its own, or one that comes back on its port with the database that it had. */
  async cluster(before?: Cluster): Promise<Cluster> {
    const dbFile = before?.dbFile ?? path.join(this.folder, `temporal-${(this.servers += 1)}.db`);
    const where = before === undefined ? { dbFile } : { dbFile, port: before.server.port };
    const dynamicConfig = { 'history.transferProcessorMaxPollRPS': 10_000 };
    const server = await startDevServer({ executable: temporalCli(), dynamicConfig, ...where });
    const connection = await Connection.connect({ address: server.address });
    const contents = fileStore(this.contents);
    const client = new Client({ connection });
    const plans = new PlanClient({ client, store: this.store, contents, taskQueue: TASK_QUEUE });
    const close = async (): Promise<void> => {
      await connection.close();
      await server.stop();
    };
    this.ends.push(close);
    return { server, dbFile, plans, close };
  }

  /** SIGKILL, and nothing of it is left. */
  async forget(cluster: Cluster): Promise<void> {
    await cluster.server.kill();
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${cluster.dbFile}${suffix}`, { force: true });
  }

  /** A worker process that polls. */
  async worker(
    cluster: Cluster,
    sink: SinkName,
    moment: WorkerMoment | null = null,
    folders = { journal: this.journal, contents: this.contents },
  ): Promise<WorkerProcess> {
    const worker = new WorkerProcess(
      programFile(this.folder, 'worker'),
      {
        address: cluster.server.address,
        namespace: 'default',
        taskQueue: TASK_QUEUE,
        bundle: path.join(this.folder, 'workflow.js'),
        ...folders,
        sink,
        urls: { counting: this.sinks.url, fhir: '' },
        deadlineMs: this.deadlineMs,
        moment,
        standby: false,
      },
      this.log,
    );
    this.ends.push(() => worker.kill());
    await worker.passes('ready');
    return worker;
  }

  prepare(plans: PlanClient, sink: SinkName, effects: number, name: string): Promise<GovernedPlan> {
    return plans.prepare({
      workflow_id: 'workflow:example.org/clusters',
      name,
      effects: Array.from({ length: effects }, (_, index) => ({
        id: `effect-${index}`,
        tool_id: `tool:example.org/${sink}@1.0.0`,
        kind: 'local_tool',
        operation: { amount: index },
      })),
    });
  }

  /** The built command line as a process, asking this cluster. */
  countersign(cluster: Cluster | null, ...args: readonly string[]): RunningProgram {
    const address = cluster === null ? {} : { TEMPORAL_ADDRESS: cluster.server.address };
    return startProgram(this.program, args, { COUNTERSIGN_TASK_QUEUE: TASK_QUEUE, ...address });
  }

  epochs(runId: string): number {
    return readdirSync(path.join(this.journal, runId, 'epochs')).length;
  }

  /** Writes at the sink, key by key, of a plan of so many effects. */
  writesByKey(runId: string, journal = this.journal): readonly number[] {
    const keys = readdirSync(path.join(journal, runId, 'sends'));
    return keys.map((key) => this.sinks.counts(key).writes);
  }

  async close(): Promise<void> {
    await Promise.all(this.ends.splice(0).map((end) => end().catch(() => undefined)));
    await this.sinks.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Polls the status until it is as wanted; a worker that is away for a moment is waited for. */
export async function until(handle: PlanHandle, wanted: (status: PlanStatus) => boolean): Promise<PlanStatus> {
  const limit = performance.now() + 90_000;
  for (let last: unknown = null; ;) {
    const status = await handle.status().catch((fault: unknown) => void (last = String(fault)));
    if (status !== undefined && wanted(status)) return status;
    last = status ?? last;
    if (performance.now() >= limit) throw new Error(`the plan did not get there; it is ${JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
