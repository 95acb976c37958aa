/**
 * A worker process on a store that will be taken from it. Its argument is JSON: where it works. It says `ready`, and answers a
 * message, a command line, by what that printed: the mounts that it sees are its own.
 */
import { execFileSync } from 'node:child_process';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { CountersignPlugin, initJournal } from '../../src';
import { openContentStore, openStore } from '../../src/adapters/stores';
import { countingSink } from '../../src/testing';
import { slowWhile } from './slow-disk';

export interface OutageWorkerOrders {
  readonly address: string;
  readonly taskQueue: string;
  readonly bundle: string;
  /** Folders, or addresses of other stores. */
  readonly journal: string;
  readonly contents: string;
  readonly sink: string;
  /** While this file is there, the disk is slow. */
  readonly slowWhile: string | null;
}

const SEND_DEADLINE_MS = 2_000;

async function main(): Promise<void> {
  const orders = JSON.parse(process.argv[2] as string) as OutageWorkerOrders;
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  if (orders.slowWhile !== null) slowWhile(orders.slowWhile, SEND_DEADLINE_MS);
  const [store, contents] = [openStore(orders.journal), openContentStore(orders.contents)];
  await initJournal(store);
  const sink = countingSink({ url: orders.sink, mode: 'lookup', deadlineMs: SEND_DEADLINE_MS, settleMs: 200 });
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address: orders.address }),
    taskQueue: orders.taskQueue,
    workflowBundle: { codePath: orders.bundle },
    plugins: [new CountersignPlugin({ store, contents, effects: [{ toolId: 'tool:example.org/lookup@1.0.0', sink }] })],
  });
  process.on('message', (command: readonly [string, ...string[]]) => {
    try {
      process.send?.({ done: execFileSync(command[0], command.slice(1)).toString() });
    } catch (fault) {
      process.send?.({ failed: String(fault) });
    }
  });
  process.on('disconnect', () => process.exit());
  process.send?.({ ready: true });
  await worker.run();
}

main().catch((fault: unknown) => {
  console.error(fault);
  process.exit(1);
});
