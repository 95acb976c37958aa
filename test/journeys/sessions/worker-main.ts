/**
 * A worker of sessions, or of their tools, as a process of its own. Invariant: every request to the model, and every execution of a
 * handler, is written down before it does anything, in files that all processes share, so what happened can be told after any death.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import type { SessionPoint } from '../../../src/activities/session-engine';
import { fileStore } from '../../../src/adapters/stores';
import { ToolError, type ToolCall, type ToolFound, type ToolHandler } from '../../../src/adapters/tools';
import { CountersignPlugin } from '../../../src/plugin';
import type { Model, SideEffectClass } from '../../../src/ports';
import type { PolicyRule } from '../../../src/rules/invocations/policy';
import type { ToolDescriptor } from '../../../src/session-tools';
import { CountersignToolWorker } from '../../../src/tool-worker';
import { TestReviewers } from '../../support/reviewers';

export interface ToolOrders {
  readonly tool: string;
  /** @default the tool does not say */
  readonly sideEffect?: SideEffectClass;
  readonly capacity: 'queue' | 'native';
  readonly queueWaitMs: number;
  /** @default 10000 */
  readonly deadlineMs?: number;
  /** A look-up finds what was done. */
  readonly lookup?: boolean;
  /** While a file of this name is there, look-ups find out nothing. */
  readonly dim?: string;
  /** Calls that one worker does at once. */
  readonly slots?: number;
}

export interface Orders {
  readonly role: 'sessions' | 'tools';
  readonly address: string;
  readonly taskQueue: string;
  readonly journal: string;
  readonly contents: string;
  /** Where everything is written down, and what releases those that wait. */
  readonly folder: string;
  readonly bundle: string;
  readonly identity: string;
  readonly tools: readonly ToolOrders[];
  readonly maxCachedWorkflows?: number;
  /** Dies at this point, as by SIGKILL, once for all processes. */
  readonly dieAt?: SessionPoint;
  readonly policies?: readonly PolicyRule[];
}

/** What a user asks for, as the JSON of a message: the calls of each round. */
export interface Wish {
  readonly rounds: readonly (readonly { readonly tool: string; readonly args: Errand }[])[];
}

export interface Errand {
  readonly n: number;
  readonly ms?: number;
  /** Waits until a file of this name is there. */
  readonly until?: string;
  /** The same, when its effect has happened. */
  readonly after?: string;
  /** The handler says that it failed. */
  readonly fails?: string;
}

export interface Execution {
  readonly tool: string;
  readonly at: 'start' | 'effect' | 'end';
  readonly n: number;
  readonly call: string | null;
  readonly key: string;
  readonly by: string;
}

/** One request to the model. */
export interface Request {
  /** The number of the first call of the turn. */
  readonly first: number | null;
  readonly round: number;
  readonly by: string;
  /** What it is told of the calls of the round before. */
  readonly results: readonly { readonly ok: boolean; readonly value: unknown }[];
}

/** Does what the last message wishes, round by round. */
function wishingModel({ folder, identity }: Orders): Model {
  return {
    name: 'wishing',
    deadlineMs: 20_000,
    generate({ messages }) {
      const last = messages.map(({ role }) => role).lastIndexOf('user');
      const asked = messages[last];
      const { rounds } = JSON.parse(asked?.role === 'user' ? asked.text : '{"rounds":[]}') as Wish;
      const round = messages.slice(last).filter(({ role }) => role === 'assistant').length;
      const first = rounds[0]?.[0]?.args.n ?? null;
      const told = messages.at(-1);
      const results = told?.role === 'tool' ? told.results.map(({ ok, value }) => ({ ok, value })) : [];
      const asking: Request = { first, round: round + 1, by: identity, results };
      appendFileSync(path.join(folder, 'requests'), `${JSON.stringify(asking)}\n`);
      const toolCalls = rounds[round] ?? [];
      const stop = toolCalls.length > 0 ? ('tool_calls' as const) : ('end' as const);
      return Promise.resolve({ text: `round ${round + 1}`, toolCalls, usage: { input: 10, output: 10 }, stop });
    },
  };
}

const INPUT = z.object({
  n: z.int(),
  ms: z.number().optional(),
  until: z.string().optional(),
  after: z.string().optional(),
  fails: z.string().optional(),
});

function descriptorOf({ tool, sideEffect, capacity, queueWaitMs, deadlineMs = 10_000 }: ToolOrders): ToolDescriptor {
  const declared = sideEffect === undefined ? {} : { sideEffect };
  return { tool, ...declared, capacity, queueWaitMs, inputSchema: INPUT, deadlineMs };
}

function handlerOf(
  { folder, identity }: Orders,
  { tool, sideEffect, lookup, dim, slots, deadlineMs = 10_000 }: ToolOrders,
): ToolHandler<typeof INPUT> {
  const kept = (key: string): string => path.join(folder, `done-${key}`);
  const isThere = (name: string): boolean => existsSync(path.join(folder, name));
  const waitFor = async (name: string | undefined): Promise<void> => {
    while (name !== undefined && !isThere(name)) await sleep(20);
  };
  const tell = (at: Execution['at'], n: number, { callId: call, idempotencyKey: key }: ToolCall): void => {
    const said: Execution = { tool, at, n, call, key, by: identity };
    appendFileSync(path.join(folder, 'executions'), `${JSON.stringify(said)}\n`);
  };
  const find = (key: string): ToolFound => {
    if (dim !== undefined && isThere(dim)) return { state: 'unknown' };
    if (!existsSync(kept(key))) return { state: 'absent' };
    return { state: 'committed', result: JSON.parse(readFileSync(kept(key), 'utf8')) as unknown };
  };
  return {
    ...{ tool, inputSchema: INPUT, deadlineMs, settleMs: 300 },
    ...(sideEffect === undefined ? {} : { sideEffect }),
    ...(slots === undefined ? {} : { maxConcurrency: slots }),
    ...(lookup === true ? { lookup: (_args, { idempotencyKey: key }) => Promise.resolve(find(key)) } : {}),
    async run({ n, ms = 0, until, after, fails }, call) {
      tell('start', n, call);
      if (ms > 0) await sleep(ms);
      await waitFor(until);
      if (fails !== undefined) throw new ToolError(fails);
      const result = { did: n };
      // The effect itself: to do it twice under one key is an error that nothing may hide.
      if (sideEffect !== 'read_only') writeFileSync(kept(call.idempotencyKey), JSON.stringify(result), { flag: 'wx' });
      tell('effect', n, call);
      await waitFor(after);
      tell('end', n, call);
      return result;
    },
  };
}

/** Dies without a word, where no process has died there before. */
function dying({ folder, dieAt }: Orders): (point: SessionPoint) => void {
  return (point) => {
    if (point !== dieAt) return;
    try {
      writeFileSync(path.join(folder, `died-${point}`), '', { flag: 'wx' });
    } catch {
      return;
    }
    process.kill(process.pid, 'SIGKILL');
  };
}

async function main(orders: Orders): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { address, taskQueue, identity, tools } = orders;
  const connection = await NativeConnection.connect({ address });
  const stores = { store: fileStore(orders.journal), contents: fileStore(orders.contents) };
  const reviewers = new TestReviewers();
  process.stdin.on('end', () => process.exit(0)).resume();
  if (orders.role === 'tools') {
    const handlers = tools.map((tool) => handlerOf(orders, tool) as unknown as ToolHandler);
    const worker = await CountersignToolWorker.create({
      ...{ ...stores, reviewers, connection, taskQueue, identity, handlers },
    });
    process.stdout.write('ready\n');
    return worker.run();
  }
  const worker = await Worker.create({
    ...{ connection, taskQueue, identity, workflowBundle: { codePath: orders.bundle } },
    maxCachedWorkflows: orders.maxCachedWorkflows ?? 200,
    workflowThreadPoolSize: 1,
    plugins: [
      new CountersignPlugin({
        ...{ ...stores, reviewers },
        models: [wishingModel(orders)],
        toolPolicies: orders.policies ?? [],
        tools: tools.map(descriptorOf),
        atSession: dying(orders),
      }),
    ],
  });
  process.stdout.write('ready\n');
  return worker.run();
}

if (require.main === module) {
  main(JSON.parse(process.argv[2] ?? '{}') as Orders).then(
    () => process.exit(0),
    (fault: unknown) => {
      process.stderr.write(`${String(fault)}\n`);
      process.exit(1);
    },
  );
}
