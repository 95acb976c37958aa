/**
 * One server, one worker and one client for a set of measurements; everything is stopped and removed afterwards.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { CountersignPlugin, type Store } from '../src';
import { fileStore } from '../src/adapters/stores';
import { PlanClient, type GovernedPlan } from '../src/client';
import { startDevServer } from '../src/testing/dev-server';
import { benchActivities } from './activities';
import { BenchMemoryStore } from './memory-store';
import { BenchSink } from './sink';

const TASK_QUEUE = 'bench';
const TOOL = 'tool:countersign.bench/write@1.0.0';

export interface Bench {
  readonly sink: BenchSink;
  readonly client: Client;
  /** Runs one workflow of `bench/workflows.ts` to its end. */
  execute(workflow: 'plain' | 'handwritten' | 'looped' | 'created', id: string, count: number): Promise<void>;
  /** Makes a plan of `count` ordered effects; its contents are stored, as a caller's would be before it starts. */
  prepare(id: string, count: number): Promise<GovernedPlan>;
  governed(plan: GovernedPlan): Promise<void>;
  events(workflowId: string): Promise<number>;
}

export interface BenchOptions {
  /** Without the server's limit of one step per 50 ms and workflow. */
  readonly lifted: boolean;
  /** Without a disk, which leaves what everything else costs. */
  readonly inMemory: boolean;
}

export async function withBench<T>({ lifted, inMemory }: BenchOptions, body: (bench: Bench) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'countersign-bench-'));
  const server = await startDevServer(
    lifted ? { dynamicConfig: { 'history.transferProcessorMaxPollRPS': 10_000 } } : {},
  );
  const native = await NativeConnection.connect({ address: server.address });
  const connection = await Connection.connect({ address: server.address });
  try {
    const sink = new BenchSink();
    const storeAt = (name: string): Store =>
      inMemory ? new BenchMemoryStore() : fileStore(path.join(folder, name), { createRoot: true });
    const [store, contents, records] = [storeAt('journal'), storeAt('contents'), storeAt('records')];
    const worker = await Worker.create({
      connection: native,
      taskQueue: TASK_QUEUE,
      workflowsPath: require.resolve('./workflows'),
      activities: { ...benchActivities(sink, records) },
      plugins: [new CountersignPlugin({ store, contents, effects: [{ toolId: TOOL, sink }], development: true })],
    });
    const client = new Client({ connection });
    const plans = new PlanClient({ client, contents, taskQueue: TASK_QUEUE });
    const bench: Bench = {
      sink,
      client,
      execute: (workflow, id, count) =>
        client.workflow.execute(workflow, { workflowId: id, taskQueue: TASK_QUEUE, args: [id, count] }),
      prepare: (id, count) =>
        plans.prepare({
          workflow_id: 'workflow:countersign.bench/plan',
          name: id,
          effects: Array.from({ length: count }, (_, index) => ({
            id: `effect-${index}`,
            tool_id: TOOL,
            kind: 'local_tool',
            operation: { index },
          })),
        }),
      governed: async (plan) => void (await plans.execute(plan)),
      events: async (workflowId) => {
        const history = await client.workflow.getHandle(workflowId).fetchHistory();
        return history.events?.length ?? 0;
      },
    };
    return await worker.runUntil(body(bench));
  } finally {
    await connection.close();
    await native.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
