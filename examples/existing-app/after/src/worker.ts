import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Worker } from '@temporalio/worker';
import { CountersignPlugin } from 'countersign';
import { fileStore } from 'countersign/stores';
import * as activities from './activities';
import { effects } from './effects';

async function main(): Promise<void> {
  const connection = await NativeConnection.connect(loadClientConnectConfig().connectionOptions);
  const worker = await Worker.create({
    connection,
    taskQueue: 'existing-app',
    workflowsPath: require.resolve('./workflows'),
    activities,
    plugins: [new CountersignPlugin({ store: fileStore('journal'), contents: fileStore('journal-contents'), effects })],
  });
  await worker.run();
}

void main();
