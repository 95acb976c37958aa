/** A worker in a process of its own, that kills itself at one moment of a launch. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { CountersignPlugin } from '../../../src';
import { fileStore } from '../../../src/adapters/stores';
import { paidLauncher, reviewers } from './support';

interface Setting {
  readonly address: string;
  readonly taskQueue: string;
  readonly codePath: string;
  readonly journal: string;
  readonly contents: string;
  readonly providerUrl: string;
  readonly killAt: string;
}

async function main(): Promise<void> {
  const setting = JSON.parse(process.argv[2]!) as Setting;
  const { address, taskQueue, codePath, killAt } = setting;
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const plugin = new CountersignPlugin({
    store: fileStore(setting.journal),
    contents: fileStore(setting.contents, { createRoot: true }),
    launchers: [paidLauncher(setting.providerUrl)],
    reviewers,
    atLaunch: (point) => {
      if (point === killAt) process.kill(process.pid, 'SIGKILL');
    },
  });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({ connection, taskQueue, workflowBundle: { codePath }, plugins: [plugin] });
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  await worker.run();
}

void main();
