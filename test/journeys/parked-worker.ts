/**
 * A worker of plans that wait for people, a process of its own. Invariant: asked for its status, it answers one JSON line with what it
 * holds at that moment, after its garbage is collected.
 */
import { createInterface } from 'node:readline';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { reviewersFromFile } from '../../src/adapters/reviewers';
import { fileStore } from '../../src/adapters/stores';
import { CountersignPlugin } from '../../src/plugin';
import { countingSink } from '../../src/testing/counting-sink';
import { TestReviewers } from '../support/reviewers';

export interface ParkedWorkerOrders {
  readonly address: string;
  readonly taskQueue: string;
  readonly bundle: string;
  readonly journal: string;
  readonly contents: string;
  readonly sinks: string;
  readonly keptInMemory: number;
  /** File of the reviewers' keys. @default those of tests */
  readonly reviewers?: string;
}

export interface ParkedWorkerStatus {
  readonly inFlight: number;
  readonly kept: number;
  readonly heapBytes: number;
  readonly residentBytes: number;
}

export const TOOL_ID = 'tool:example.org/lookup@1.0.0';

async function main(orders: ParkedWorkerOrders): Promise<void> {
  Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('ERROR') });
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const sink = countingSink({ url: orders.sinks, mode: 'lookup', deadlineMs: 5_000, settleMs: 500 });
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address: orders.address }),
    taskQueue: orders.taskQueue,
    workflowBundle: { codePath: orders.bundle },
    maxCachedWorkflows: orders.keptInMemory,
    workflowThreadPoolSize: 1,
    plugins: [
      new CountersignPlugin({
        store: fileStore(orders.journal),
        contents: fileStore(orders.contents),
        effects: [{ toolId: TOOL_ID, sink }],
        reviewers: orders.reviewers === undefined ? new TestReviewers() : reviewersFromFile(orders.reviewers),
        policy: () => ({ approvals: 1 }),
      }),
    ],
  });
  const lines = createInterface({ input: process.stdin });
  lines.on('line', () => {
    collectGarbage();
    const { numInFlightActivities, numInFlightWorkflowActivations, numCachedWorkflows } = worker.getStatus();
    const { heapUsed, rss } = process.memoryUsage();
    const status: ParkedWorkerStatus = {
      inFlight: numInFlightActivities + numInFlightWorkflowActivations,
      kept: numCachedWorkflows,
      heapBytes: heapUsed,
      residentBytes: rss,
    };
    process.stdout.write(`${JSON.stringify(status)}\n`);
  });
  // Whoever started this process holds its standard input open: it does not outlive the test.
  lines.on('close', () => process.exit(0));
  await worker.run();
}

if (require.main === module) {
  main(JSON.parse(process.argv[2] ?? '{}') as ParkedWorkerOrders).catch((fault: unknown) => {
    process.stderr.write(`${String(fault)}\n`);
    process.exit(1);
  });
}
