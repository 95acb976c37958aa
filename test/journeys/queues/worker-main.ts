/**
 * A tool worker, or a worker of workflows, as a process of its own. Invariant: an execution of a handler is written down before it does
 * anything and when it has done it, in one file that all processes share, so what ran can be told after any death.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { CountersignPlugin } from '../../../src/plugin';
import { CountersignToolWorker } from '../../../src/tool-worker';
import { ToolError, ToolOutcomeUnknown, type ToolHandler } from '../../../src/adapters/tools';
import { fileStore } from '../../../src/adapters/stores';
import type { SideEffectClass } from '../../../src/ports';

export interface ToolOrders {
  readonly tool: string;
  readonly version?: string;
  readonly sideEffect?: SideEffectClass;
  readonly slots?: number;
  /** `kept`: a look-up finds what was done. */
  readonly lookup?: 'kept';
  readonly deadlineMs?: number;
  readonly settleMs?: number;
  /** The input schema has one more field. */
  readonly changed?: boolean;
}

export interface Orders {
  readonly role: 'tools' | 'workflows';
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly journal: string;
  readonly contents: string;
  /** Where executions are written down, and what releases those that wait. */
  readonly folder: string;
  readonly bundle: string;
  readonly identity: string;
  readonly maxCachedWorkflows?: number;
  readonly tools?: readonly ToolOrders[];
}

/** What a handler was asked for. */
export interface Errand {
  readonly n: number;
  readonly ms?: number;
  /** Waits until a file of this name is there. */
  readonly until?: string;
  readonly fails?: 'typed' | 'untyped' | 'unknown' | 'transport';
}

export interface Execution {
  readonly at: 'start' | 'end' | 'look_up';
  readonly n: number;
  readonly call: string | null;
  readonly key: string;
  readonly by: string;
  readonly ms: number;
}

export const INPUT = z.object({
  n: z.int(),
  ms: z.number().optional(),
  until: z.string().optional(),
  fails: z.enum(['typed', 'untyped', 'unknown', 'transport']).optional(),
});

function handlerOf(orders: Orders, tool: ToolOrders): ToolHandler {
  const { folder, identity } = orders;
  const tell = (at: Execution['at'], n: number, call: { callId: string | null; idempotencyKey: string }): void => {
    const said: Execution = { at, n, call: call.callId, key: call.idempotencyKey, by: identity, ms: Date.now() };
    appendFileSync(path.join(folder, 'executions'), `${JSON.stringify(said)}\n`);
  };
  const kept = (key: string): string => path.join(folder, `done-${key}`);
  return {
    tool: tool.tool,
    ...(tool.version === undefined ? {} : { version: tool.version }),
    ...(tool.sideEffect === undefined ? {} : { sideEffect: tool.sideEffect }),
    ...(tool.slots === undefined ? {} : { maxConcurrency: tool.slots }),
    inputSchema: tool.changed === true ? INPUT.extend({ more: z.string().optional() }) : INPUT,
    deadlineMs: tool.deadlineMs ?? 20_000,
    settleMs: tool.settleMs ?? 500,
    ...(tool.lookup === undefined
      ? {}
      : {
          lookup: (args: unknown, call) => {
            tell('look_up', (args as Errand).n, call);
            const there = existsSync(kept(call.idempotencyKey));
            return Promise.resolve(
              there
                ? { state: 'committed', result: JSON.parse(readFileSync(kept(call.idempotencyKey), 'utf8')) as unknown }
                : { state: 'absent' },
            );
          },
        }),
    async run(args: unknown, call) {
      const { n, ms = 0, until, fails } = args as Errand;
      tell('start', n, call);
      const result = { did: n };
      // The effect itself: to do it twice under one key is an error that nothing may hide.
      if (tool.lookup !== undefined) writeFileSync(kept(call.idempotencyKey), JSON.stringify(result), { flag: 'wx' });
      if (ms > 0) await sleep(ms);
      while (until !== undefined && !existsSync(path.join(folder, until))) await sleep(20);
      if (fails === 'typed') throw new ToolError('card_declined');
      if (fails === 'untyped') throw new Error('a secret that must stay here');
      if (fails === 'unknown') throw new ToolOutcomeUnknown('who knows');
      if (fails === 'transport') throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } });
      tell('end', n, call);
      return result;
    },
  };
}

async function main(orders: Orders): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { address, namespace, taskQueue, identity } = orders;
  const connection = await NativeConnection.connect({ address });
  const store = fileStore(orders.journal);
  const contents = fileStore(orders.contents);
  process.stdin.on('end', () => process.exit(0)).resume();
  if (orders.role === 'workflows') {
    const worker = await Worker.create({
      ...{ connection, namespace, taskQueue, identity, workflowBundle: { codePath: orders.bundle } },
      maxCachedWorkflows: orders.maxCachedWorkflows ?? 200,
      workflowThreadPoolSize: 1,
      plugins: [new CountersignPlugin({ store, contents })],
    });
    process.stdout.write('ready\n');
    return worker.run();
  }
  const handlers = (orders.tools ?? []).map((tool) => handlerOf(orders, tool));
  const worker = await CountersignToolWorker.create({
    ...{ connection, namespace, taskQueue, identity, store, contents, handlers },
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
