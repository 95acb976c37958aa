/** A worker process with one shipped sink, to be killed in the middle of a send: `sink-worker.ts ORDERS`, one JSON argument. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { type EffectSink } from '../../../src/ports';
import { CountersignPlugin } from '../../../src/plugin';
import { fhirSink, omopSink, s3Sink, smtpSink, stripeSink, type StripeServer } from '../../../src/adapters/sinks';
import { fileStore, isS3Address, parseS3Address, s3ContentStore, s3Store } from '../../../src/adapters/stores';

const SINKS = {
  fhir: fhirSink,
  omop: omopSink,
  s3: s3Sink,
  smtp: smtpSink,
  stripe: (given: { readonly key: string; readonly server: StripeServer; readonly deadlineMs: number }) =>
    stripeSink({ name: 'payments', apiKey: () => given.key, server: given.server, deadlineMs: given.deadlineMs }),
} as const;

export interface SinkWorkerOrders {
  readonly address: string;
  readonly taskQueue: string;
  /** The file of a prebuilt workflow bundle. */
  readonly codePath: string;
  /** A folder, or `s3://…` with credentials in the environment. */
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
        store: isS3Address(orders.journal) ? s3Store(parseS3Address(orders.journal)) : fileStore(orders.journal),
        contents: isS3Address(orders.contents)
          ? s3ContentStore(parseS3Address(orders.contents))
          : fileStore(orders.contents),
        effects: [{ toolId: orders.toolId, sink }],
      }),
    ],
    workflowThreadPoolSize: 1,
  });
  await worker.run();
}

if (require.main === module) void main(JSON.parse(process.argv[2] ?? '') as SinkWorkerOrders);
