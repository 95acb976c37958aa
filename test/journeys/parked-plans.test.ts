/**
 * 200 plans that wait for people, while their server and their worker are killed (SIGKILL).
 *
 * Held here:
 * - while they wait, no slot of the worker is held by any of them, no more of them than asked for are kept in memory, and the
 *   worker's memory does not grow with their number;
 * - once both have been started again, all of them are listed, with what they wait for;
 * - each is decided once, however many answers come at once, and released once: the sink's own counts say so.
 */
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { buildChildren } from '../../scripts/kill-matrix/build-child';
import { Child } from '../../scripts/kill-matrix/child';
import { initJournal } from '../../src';
import { fileStore } from '../../src/adapters/stores';
import { PlanClient } from '../../src/client';
import { startCountingServer } from '../../src/testing';
import { startDevServer } from '../../src/testing/dev-server';
import { storeView, verifyJournal } from '../../src/verify';
import { bundleOf } from '../support/bundle';
import { approvalOf } from '../support/reviewers';
import { temporalCli } from '../support/temporal';
import { TOOL_ID, type ParkedWorkerOrders, type ParkedWorkerStatus } from './parked-worker';

const PLANS = 200;
const KEPT_IN_MEMORY = 10;
const TASK_QUEUE = 'parked-plans';
/** A parked plan whose events alone were kept would take more than this. */
const MOST_BYTES_A_PLAN = 10 * 1024;

class ParkedWorker {
  private readonly child: Child;
  private asked = 0;

  constructor(program: string, orders: ParkedWorkerOrders, log: number) {
    this.child = new Child(program, [JSON.stringify(orders)], log);
  }

  async status(): Promise<ParkedWorkerStatus> {
    this.asked += 1;
    this.child.write('status');
    const line = await this.child.line(() => true, this.asked, 'its status', 60_000);
    return JSON.parse(line) as ParkedWorkerStatus;
  }

  /** What it holds once it has nothing to do. */
  async atRest(): Promise<ParkedWorkerStatus> {
    await expect.poll(() => this.status(), { timeout: 30_000, interval: 200 }).toMatchObject({ inFlight: 0 });
    return this.status();
  }

  async kill(): Promise<void> {
    await this.child.kill();
  }
}

test('200 parked plans outlive their server and their worker', { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'parked-plans-'));
  const [journal, contentsFolder] = [path.join(folder, 'journal'), path.join(folder, 'contents')];
  const store = fileStore(journal, { createRoot: true });
  const contents = fileStore(contentsFolder, { createRoot: true });
  await initJournal(store);
  await buildChildren(folder, { worker: path.join(__dirname, 'parked-worker.ts') });
  const bundle = path.join(folder, 'workflow.js');
  const { code } = (await bundleOf(path.resolve(__dirname, '../../src/workflow.ts'))) as { code: string };
  writeFileSync(bundle, code);
  const log = openSync(path.join(folder, 'workers.log'), 'a');
  const sinks = await startCountingServer();
  const where = {
    executable: temporalCli(),
    dbFile: path.join(folder, 'temporal.db'),
    dynamicConfig: { 'history.transferProcessorMaxPollRPS': 10_000 },
  };

  const startWorker = (address: string): ParkedWorker => {
    const folders = { bundle, journal, contents: contentsFolder };
    const orders = { address, taskQueue: TASK_QUEUE, ...folders, sinks: sinks.url, keptInMemory: KEPT_IN_MEMORY };
    return new ParkedWorker(path.join(folder, 'worker.js'), orders, log);
  };
  const connect = async (address: string): Promise<{ client: Client; plans: PlanClient }> => {
    const client = new Client({ connection: await Connection.connect({ address }) });
    return { client, plans: new PlanClient({ client, contents, taskQueue: TASK_QUEUE }) };
  };
  /** What each plan waits for, as a list of executions shows it. */
  const parked = async (client: Client): Promise<ReadonlyMap<string, string>> => {
    const waiting = new Map<string, string>();
    for await (const { memo } of client.workflow.list({
      query: "WorkflowType = 'governedPlan' AND ExecutionStatus = 'Running'",
    })) {
      const shown = memo?.['countersign'] as { run_id: string; state: string; asks?: string } | undefined;
      if (shown?.state === 'parked') waiting.set(shown.run_id, shown.asks ?? '');
    }
    return waiting;
  };

  let server = await startDevServer(where);
  let { client, plans } = await connect(server.address);
  let worker = startWorker(server.address);
  try {
    const runs = new Set<string>();
    const park = async (count: number): Promise<void> => {
      const starts = Array.from({ length: count }, async (_, index) => {
        const effect = { id: 'e', tool_id: TOOL_ID, kind: 'local_tool', operation: { index } };
        const name = `parked-${runs.size}-${index}`;
        const draft = { workflow_id: 'workflow:example.org/parked', name, effects: [effect] };
        return (await plans.start(await plans.prepare(draft))).runId;
      });
      for (const runId of await Promise.all(starts)) runs.add(runId);
      await expect.poll(async () => (await parked(client)).size, { timeout: 120_000 }).toBe(runs.size);
    };
    await park(PLANS / 2);
    const half = await worker.atRest();
    await park(PLANS / 2);
    const whole = await worker.atRest();
    expect(whole.kept).toBeLessThanOrEqual(KEPT_IN_MEMORY);
    const grown = { heap: whole.heapBytes - half.heapBytes, resident: whole.residentBytes - half.residentBytes };
    console.log(
      `${PLANS / 2} more parked plans: heap ${Math.round(grown.heap / 1024)} KiB, resident ${Math.round(grown.resident / 1024)} KiB more`,
    );
    expect(grown.heap).toBeLessThan((PLANS / 2) * MOST_BYTES_A_PLAN);

    await Promise.all([server.kill(), worker.kill()]);
    await client.connection.close();
    server = await startDevServer({ ...where, port: server.port });
    ({ client, plans } = await connect(server.address));
    worker = startWorker(server.address);

    const waiting = await parked(client);
    expect(new Set(waiting.keys())).toEqual(runs);
    expect(new Set(waiting.values())).toEqual(new Set(['approval: 1 of any reviewer']));
    expect(sinks.counts()).toMatchObject({ received: 0 });

    const left = [...runs];
    const decide = async (): Promise<void> => {
      for (let runId = left.pop(); runId !== undefined; runId = left.pop()) {
        const handle = plans.getHandle(runId);
        const asked = (await handle.approvals())!;
        const tokens = ['ann', 'bob', 'ann'].map((who) => approvalOf(asked, who));
        const answers = await Promise.allSettled(
          tokens.map((token) => handle.workflow.executeUpdate('approve', { args: [token] as never })),
        );
        expect(answers.some(({ status }) => status === 'fulfilled')).toBe(true);
        expect(await handle.result()).toMatchObject({ status: 'completed' });
      }
    };
    await Promise.all(Array.from({ length: 8 }, decide));
    expect(sinks.counts()).toMatchObject({ writes: PLANS, received: PLANS });
    expect((await parked(client)).size).toBe(0);
    const report = await verifyJournal(storeView(store), { strict: true });
    expect(report).toMatchObject({ ok: true, justified: true, findings: [] });
    expect(report.runs).toHaveLength(PLANS);
  } finally {
    await worker.kill();
    await client.connection.close();
    await server.stop();
    await sinks.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
