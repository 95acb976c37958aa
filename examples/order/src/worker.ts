/**
 * The worker: an ordinary Temporal worker with one plugin. Connects by the standard TEMPORAL_* variables.
 */
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Worker } from '@temporalio/worker';
import { CountersignPlugin } from 'countersign';
import { fileStore } from 'countersign/stores';
import { effects } from './effects';

async function main(): Promise<void> {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  const journal = process.env.COUNTERSIGN_JOURNAL ?? 'journal';
  const contents = process.env.COUNTERSIGN_CONTENTS ?? `${journal}-contents`;
  const worker = await Worker.create({
    connection,
    namespace: namespace ?? 'default',
    taskQueue: 'orders',
    workflowsPath: require.resolve('./workflows'),
    plugins: [
      new CountersignPlugin({
        store: fileStore(journal, { createRoot: true }),
        contents: fileStore(contents, { createRoot: true }),
        effects,
        // Makes the journal at the first start. In production, "countersign journal init" does that once, by hand.
        development: true,
      }),
    ],
  });
  process.stdout.write('worker ready\n');
  await worker.run();
  await connection.close();
}

main().catch((fault: unknown) => {
  process.stderr.write(`${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}\n`);
  process.exit(1);
});
