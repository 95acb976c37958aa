/** A worker of the tool, in a process of its own, so that it can be killed. */
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { CountersignToolWorker } from 'countersign';
import { fileStore } from 'countersign/stores';
import { reviewersFromFile } from 'countersign/reviewers';
import { pay, TASK_QUEUE } from './tools';

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const journal = process.env.COUNTERSIGN_JOURNAL ?? 'journal';
  const worker = await CountersignToolWorker.create({
    connection: await NativeConnection.connect(connectionOptions),
    namespace,
    taskQueue: TASK_QUEUE,
    store: fileStore(journal),
    contents: fileStore(process.env.COUNTERSIGN_CONTENTS ?? `${journal}-contents`),
    reviewers: reviewersFromFile(`${journal}-keys/reviewers.json`),
    handlers: [pay],
  });
  process.stdin.on('end', () => process.exit(0)).resume();
  await worker.run();
}

main().then(
  () => process.exit(0), // whoever listens to its parent would listen for ever
  (fault: unknown) => {
    process.stderr.write(`${String(fault)}\n`);
    process.exit(1);
  },
);
