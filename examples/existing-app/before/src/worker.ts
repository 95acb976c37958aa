import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Worker } from '@temporalio/worker';
import * as activities from './activities';

async function main(): Promise<void> {
  const connection = await NativeConnection.connect(loadClientConnectConfig().connectionOptions);
  const worker = await Worker.create({
    connection,
    taskQueue: 'existing-app',
    workflowsPath: require.resolve('./workflows'),
    activities,
  });
  await worker.run();
}

void main();
