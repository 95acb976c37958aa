/** A process that sends one effect when told, and says what became of it; so that it can be killed, stopped and raced. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { DispatchOutcome, EffectSink, SinkItem } from '../../../src/ports';
import { omopSink } from '../../../src/adapters/sinks/omop-sink';
import { postgresSink } from '../../../src/adapters/sinks/postgres-sink';
import type { PostgresConnection } from '../../../src/adapters/stores';
import { codeOf } from './support';

export interface SenderOrder {
  readonly connection: PostgresConnection;
  /** The schema of an OMOP sink; without it a `postgresSink` whose operation is `{text, values}`. */
  readonly omopSchema?: string;
  readonly deadlineMs: number;
  readonly item: SinkItem;
}

export interface Sender {
  readonly child: ChildProcess;
  go(): void;
  /** Its outcome, or the code of what it threw; null when it was killed before. */
  readonly outcome: Promise<DispatchOutcome | string | null>;
  kill(): Promise<void>;
}

export function sinkOf({ connection, omopSchema, deadlineMs }: Omit<SenderOrder, 'item'>): EffectSink {
  return omopSchema === undefined
    ? postgresSink({ name: 'test', connection, deadlineMs, statements: (operation) => operation as never })
    : omopSink({ name: 'test', connection, schema: omopSchema, deadlineMs });
}

/** Ready to send, and not sent. */
export async function startSender(order: SenderOrder): Promise<Sender> {
  const child = fork(path.join(__dirname, 'sql-sender.ts'), [], { execArgv: ['--require', 'tsx/cjs'] });
  const outcome = new Promise<DispatchOutcome | string | null>((resolve) => {
    child.on('message', (message) => {
      if (message !== 'ready') resolve(message as DispatchOutcome | string);
    });
    child.once('exit', () => resolve(null));
  });
  child.send(order);
  await once(child, 'message');
  return {
    child,
    outcome,
    go: () => void child.send('go'),
    kill: async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

async function main(): Promise<void> {
  const [order] = (await once(process, 'message')) as [SenderOrder];
  const sink = sinkOf(order);
  process.send?.('ready');
  await once(process, 'message');
  const { deadlineMs } = order;
  const outcome = await sink
    .dispatch(order.item, { signal: AbortSignal.timeout(deadlineMs), deadlineMs })
    .catch((fault: unknown) => codeOf(fault));
  process.send?.(outcome, () => process.disconnect());
}

if (require.main === module) void main();
