/**
 * `npm run bench:queue [-- --json] [--quick] [--memory]`: what a call through a tool's queue costs, and one with `native` capacity, as ratios to a
 * plain activity on a task queue of its own, each in a workflow that does nothing else, in one interleaved run; and how many calls a
 * second go through one queue, and through several side by side. The dev server's limit of one step per 50 ms and workflow is lifted:
 * with it every variant would only show the limit. With `--memory`, stores that are no disk show what is left.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { CountersignPlugin, CountersignToolWorker, defineTool, initJournal } from '../src';
import { Contents } from '../src/activities/contents';
import { prepareDraft } from '../src/activities/prepare';
import { fileStore } from '../src/adapters/stores';
import { callIdOf, callRunId, queueWorkflowId, sessionWorkflowId, toolIdOf } from '../src/rules/invocations/names';
import { workflowIdDigest } from '../src/rules/plans/identity';
import { planToRecord } from '../src/rules/plans/plan';
import { startDevServer } from '../src/testing/dev-server';
import { askedFor } from './arguments';
import { interleave, type Variant } from './measure';
import { BenchMemoryStore } from './memory-store';
import { PLAIN_TASK_QUEUE } from './queue-names';
import type { BenchCall, BenchCalls } from './queue-workflows';

export const LIMITS = { queued_vs_plain: 6, native_vs_plain: 1.5, ten_at_once_vs_one: 2, events_per_call: 12 } as const;

const TASK_QUEUE = 'bench';
const IN_SEQUENCE = 10;
const QUEUES = [1, 2, 4] as const;
const SESSIONS = 10;
const SLOTS = 16;
const WORKFLOWS = ['queued', 'native', 'plain'] as const;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function measure(rounds: number, crowd: number, inMemory: boolean): Promise<Record<string, unknown>> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'countersign-bench-'));
  const [store, contents] = ['journal', 'contents'].map((name) =>
    inMemory ? new BenchMemoryStore() : fileStore(path.join(folder, name), { createRoot: true }),
  );
  if (store === undefined || contents === undefined) throw new Error('no stores');
  await initJournal(store);
  await contents.list('');
  const server = await startDevServer({ dynamicConfig: { 'history.transferProcessorMaxPollRPS': 10_000 } });
  const connection = await NativeConnection.connect({ address: server.address });
  const client = new Client({ connection: await Connection.connect({ address: server.address }) });
  const tools = ['bench-0', 'bench-1', 'bench-2', 'bench-3'];
  const handlers = tools.map((tool) =>
    defineTool({
      tool,
      maxConcurrency: SLOTS,
      inputSchema: z.object({ n: z.int() }),
      run: ({ n }) => Promise.resolve({ n }),
    }),
  );
  const workflows = await Worker.create({
    ...{ connection, taskQueue: TASK_QUEUE, workflowsPath: require.resolve('./queue-workflows') },
    plugins: [new CountersignPlugin({ store, contents })],
  });
  // A worker of its own, as a tool's: one that has the workflow, too, is handed its activities without any task queue.
  const activities = { work: () => Promise.resolve() };
  const plainWorker = await Worker.create({ connection, taskQueue: PLAIN_TASK_QUEUE, activities });
  const worker = await CountersignToolWorker.create({ connection, taskQueue: TASK_QUEUE, store, contents, handlers });
  const done = Promise.all([worker.run(), plainWorker.run()]);

  let sessions = 0;
  const prepare = async (tool: string, count: number): Promise<{ session: string; calls: readonly BenchCall[] }> => {
    const session = `bench-${(sessions += 1)}`;
    const parties = { origin: workflowIdDigest(sessionWorkflowId(session)), requester: null };
    const named = { tool, version: null };
    const calls = Array.from({ length: count }, async (_, index): Promise<BenchCall> => {
      const callId = callIdOf({ session, agentVersion: 'v1', turn: 1, round: 1, index });
      const fields = { approvalRequired: false, compensationLimit: 'none' } as const;
      const effect = {
        id: callId,
        toolId: toolIdOf(named),
        kind: 'local_tool',
        operation: { n: index },
        ...fields,
      } as const;
      const draft = {
        workflowId: 'workflow:countersign.local/session',
        runId: callRunId(callId, named),
        effects: [effect],
      };
      const plan = await prepareDraft(new Contents(contents), { ...draft, order: 'ordered' }, parties);
      return { call_id: callId, plan: planToRecord(plan) };
    });
    return { session, calls: await Promise.all(calls) };
  };
  const variant = (workflow: 'queued' | 'native' | 'plain', count: number, atOnce: boolean): Variant => {
    const prepared = new Map<number, Awaited<ReturnType<typeof prepare>>>();
    return {
      name: `${workflow}${count}${atOnce ? ' at once' : ''}`,
      prepare: async (round) => void prepared.set(round, await prepare('bench-0', count)),
      run: async (round) => {
        const { session, calls } = prepared.get(round) ?? { session: '', calls: [] };
        const input: BenchCalls = { tool: 'bench-0', calls, at_once: atOnce };
        await client.workflow.execute(workflow, {
          ...{ workflowId: sessionWorkflowId(session), taskQueue: TASK_QUEUE, args: [input] },
        });
      },
    };
  };
  /** Calls a second when so many queues have the same number of sessions each. */
  const rate = async (queues: number): Promise<number> => {
    const inputs = await Promise.all(
      tools
        .slice(0, queues)
        .flatMap((tool) => Array.from({ length: SESSIONS }, async () => ({ tool, ...(await prepare(tool, crowd)) }))),
    );
    const began = performance.now();
    await Promise.all(
      inputs.map(({ tool, session, calls }) =>
        client.workflow.execute('queued', {
          ...{ workflowId: sessionWorkflowId(session), taskQueue: TASK_QUEUE, args: [{ tool, calls, at_once: true }] },
        }),
      ),
    );
    return (queues * SESSIONS * crowd * 1_000) / (performance.now() - began);
  };

  const body = async (): Promise<Record<string, unknown>> => {
    const one = WORKFLOWS.map((workflow) => variant(workflow, IN_SEQUENCE, false));
    const single = WORKFLOWS.map((workflow) => variant(workflow, 1, false));
    say('not counted: to get warm');
    await interleave(one, 4);
    const queue = client.workflow.getHandle(queueWorkflowId(toolIdOf({ tool: 'bench-0', version: null })) ?? '');
    const events = async (): Promise<number> => Number((await queue.describe()).historyLength);
    const before = await events();
    await interleave([variant('queued', IN_SEQUENCE, false)], 3);
    const perCall = ((await events()) - before) / (3 * IN_SEQUENCE);
    say('calls in sequence, and a round of ten at once');
    const times = await interleave([...one, ...single, variant('queued', 10, true)], rounds + 1);
    const of = (name: string): number => times[name] ?? Number.NaN;
    const rates: Record<number, number> = {};
    for (const queues of QUEUES) rates[queues] = await rate(queues);
    return {
      ratios: {
        queued_vs_plain: of('queued1') / of('plain1'),
        native_vs_plain: of('native1') / of('plain1'),
        ten_at_once_vs_one: of('queued10 at once') / of('queued1'),
        events_per_call: perCall,
      },
      // Each of ten, without a workflow's start and end around it.
      in_sequence: { queued_vs_plain: of('queued10') / of('plain10'), native_vs_plain: of('native10') / of('plain10') },
      medians_ms: times,
      calls_per_second_by_queues: rates,
    };
  };
  try {
    return await workflows.runUntil(body());
  } finally {
    worker.shutdown();
    plainWorker.shutdown();
    await done;
    await client.connection.close();
    await connection.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const asked = askedFor({ flags: ['json', 'quick', 'memory'] });
  Runtime.install({
    telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
    logger: new DefaultLogger('ERROR'),
  });
  const quick = asked.has('quick');
  const report = await measure(quick ? 10 : 40, quick ? 5 : 20, asked.has('memory'));
  if (asked.has('json')) return void process.stdout.write(`${JSON.stringify(report)}\n`);
  const ratios = report['ratios'] as Record<keyof typeof LIMITS, number>;
  for (const name of Object.keys(LIMITS) as (keyof typeof LIMITS)[]) {
    const kept = ratios[name] <= LIMITS[name] ? 'within' : 'MISSES';
    process.stdout.write(`${name.padEnd(20)} ${ratios[name].toFixed(2)} ${kept} <= ${LIMITS[name]}\n`);
  }
  process.stdout.write(`each of ten calls in sequence: ${JSON.stringify(report['in_sequence'])}\n`);
  process.stdout.write(`medians, ms: ${JSON.stringify(report['medians_ms'])}\n`);
  process.stdout.write(`calls a second, by queues: ${JSON.stringify(report['calls_per_second_by_queues'])}\n`);
}

main().then(
  () => process.exit(0),
  (fault: unknown) => {
    process.stderr.write(`${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}\n`);
    process.exit(1);
  },
);
