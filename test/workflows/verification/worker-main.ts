/** A worker in a process of its own, that kills itself at one moment of a run: `launch:<point>`, or `<record type>:<n-th of them>`. */
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { CountersignPlugin } from '../../../src';
import { fileStore } from '../../../src/adapters/stores';
import { checks, paidLauncher, reviewers } from './support';

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
  const seen = new Map<string, number>();
  const at = (moment: string): void => {
    const count = (seen.get(moment) ?? 0) + 1;
    seen.set(moment, count);
    if (killAt === moment || killAt === `${moment}:${count}`) process.kill(process.pid, 'SIGKILL');
  };
  const plugin = new CountersignPlugin({
    store: fileStore(setting.journal),
    contents: fileStore(setting.contents, { createRoot: true }),
    launchers: [paidLauncher(setting.providerUrl)],
    ...{ reviewers, checks },
    atLaunch: (point) => at(`launch:${point}`),
    atRecord: ({ type }) => at(type),
  });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({ connection, taskQueue, workflowBundle: { codePath }, plugins: [plugin] });
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  await worker.run();
}

void main();
