/** A worker process with one shipped sink, to be killed in the middle of a send: `sink-worker.ts ORDERS`, one JSON argument. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { type EffectSink } from '../../../src/ports';
import { CountersignPlugin } from '../../../src/plugin';
import { smtpSink, stripeSink, type StripeServer } from '../../../src/adapters/sinks';
import { fileStore } from '../../../src/adapters/stores';

const SINKS = {
  smtp: smtpSink,
  stripe: (given: { readonly key: string; readonly server: StripeServer; readonly deadlineMs: number }) =>
    stripeSink({ name: 'payments', apiKey: () => given.key, server: given.server, deadlineMs: given.deadlineMs }),
} as const;

export interface SinkWorkerOrders {
  readonly address: string;
  readonly taskQueue: string;
  /** The file of a prebuilt workflow bundle. */
  readonly codePath: string;
  readonly journal: string;
  readonly contents: string;
  readonly toolId: string;
  readonly sink: keyof typeof SINKS;
  readonly options: unknown;
}

async function main(orders: SinkWorkerOrders): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const sink = (SINKS[orders.sink] as (options: unknown) => EffectSink)(orders.options);
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address: orders.address }),
    taskQueue: orders.taskQueue,
    workflowBundle: { codePath: orders.codePath },
    plugins: [
      new CountersignPlugin({
        store: fileStore(orders.journal),
        contents: fileStore(orders.contents),
        effects: [{ toolId: orders.toolId, sink }],
      }),
    ],
    workflowThreadPoolSize: 1,
  });
  await worker.run();
}

if (require.main === module) void main(JSON.parse(process.argv[2] ?? '') as SinkWorkerOrders);
