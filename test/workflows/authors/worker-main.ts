/** A worker of an author in a process of its own, that kills itself at one point of `drive`. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { CountersignPlugin } from '../../../src';
import { fileStore } from '../../../src/adapters/stores';
import { effectsAt } from './effects';

export interface WorkerSetting {
  readonly address: string;
  readonly taskQueue: string;
  readonly codePath: string;
  readonly journal: string;
  readonly contents: string;
  readonly sinkUrl: string;
  readonly killAt: string;
}

async function main(): Promise<void> {
  const setting = JSON.parse(process.argv[2]!) as WorkerSetting;
  const { address, taskQueue, codePath, killAt } = setting;
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const plugin = new CountersignPlugin({
    store: fileStore(setting.journal),
    contents: fileStore(setting.contents, { createRoot: true }),
    effects: effectsAt(setting.sinkUrl),
    at: (point) => {
      if (point === killAt) process.kill(process.pid, 'SIGKILL');
    },
  });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({ connection, taskQueue, workflowBundle: { codePath }, plugins: [plugin] });
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  await worker.run();
}

void main();
