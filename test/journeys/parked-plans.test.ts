/**
 * 200 plans that wait for people, while their server is killed and their worker goes with it.
 *
 * Held here:
 * - while they wait, no slot of the worker is held by any of them, and no more of them than asked for are kept in memory;
 * - once both have been started again, all of them are listed, with what they wait for;
 * - each is decided once, however many answers come at once, and released once: the sink's own counts say so.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { CountersignPlugin, initJournal } from '../../src';
import { fileStore } from '../../src/adapters/stores';
import { PlanClient } from '../../src/client';
import { countingSink, startCountingServer } from '../../src/testing';
import { startDevServer } from '../../src/testing/dev-server';
import { storeView, verifyJournal } from '../../src/verify';
import { bundleOf } from '../support/bundle';
import { TestReviewers, approvalOf } from '../support/reviewers';
import { temporalCli } from '../support/temporal';

const PLANS = 200;
const KEPT_IN_MEMORY = 10;
const TASK_QUEUE = 'parked-plans';

test('200 parked plans outlive their server and their worker', { timeout: 300_000 }, async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const folder = mkdtempSync(path.join(os.tmpdir(), 'parked-plans-'));
  const store = fileStore(path.join(folder, 'journal'), { createRoot: true });
  const contents = fileStore(path.join(folder, 'contents'), { createRoot: true });
  await initJournal(store);
  const sinks = await startCountingServer();
  const reviewers = new TestReviewers();
  const where = {
    executable: temporalCli(),
    dbFile: path.join(folder, 'temporal.db'),
    dynamicConfig: { 'history.transferProcessorMaxPollRPS': 10_000 },
  };

  const startWorker = async (address: string): Promise<{ worker: Worker; stop: () => Promise<void> }> => {
    const connection = await NativeConnection.connect({ address });
    const effects = [
      {
        toolId: 'tool:example.org/lookup@1.0.0',
        sink: countingSink({ url: sinks.url, mode: 'lookup', deadlineMs: 5_000, settleMs: 500 }),
      },
    ];
    const worker = await Worker.create({
      connection,
      taskQueue: TASK_QUEUE,
      workflowBundle: await bundleOf(path.resolve(__dirname, '../../src/workflow.ts')),
      maxCachedWorkflows: KEPT_IN_MEMORY,
      plugins: [new CountersignPlugin({ store, contents, effects, reviewers, policy: () => ({ approvals: 1 }) })],
    });
    const running = worker.run();
    running.catch(() => undefined);
    const stop = async (): Promise<void> => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await running.catch(() => undefined);
      await connection.close().catch(() => undefined);
    };
    return { worker, stop };
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
  let { worker, stop } = await startWorker(server.address);
  try {
    const runs = new Set<string>();
    const starts = Array.from({ length: PLANS }, async (_, index) => {
      const effect = { id: 'e', tool_id: 'tool:example.org/lookup@1.0.0', kind: 'local_tool', operation: { index } };
      const draft = { workflow_id: 'workflow:example.org/parked', name: `parked-${index}`, effects: [effect] };
      runs.add((await plans.start(await plans.prepare(draft))).runId);
    });
    await Promise.all(starts);
    await expect.poll(async () => (await parked(client)).size, { timeout: 120_000 }).toBe(PLANS);
    await expect
      .poll(() => worker.getStatus(), { timeout: 20_000 })
      .toMatchObject({ numInFlightActivities: 0, numInFlightWorkflowActivations: 0 });
    expect(worker.getStatus().numCachedWorkflows).toBeLessThanOrEqual(KEPT_IN_MEMORY);

    await server.kill();
    await stop();
    await client.connection.close();
    server = await startDevServer({ ...where, port: server.port });
    ({ client, plans } = await connect(server.address));
    ({ worker, stop } = await startWorker(server.address));

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
    await stop();
    await client.connection.close();
    await server.stop();
    await sinks.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
