/**
 * A worker in a process of its own that kills itself, by SIGKILL, at one moment: both sides of it.
 *
 * Invariant: it does not outlive the test, however that one ends.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { CountersignPlugin, type CountersignPluginOptions } from '../../src';
import { fileStore } from '../../src/adapters/stores';
import type { Rig } from './rig';

/** What the process is told; `More` is what its module wants to know beside that. */
type Setting<More> = More & {
  readonly address: string;
  readonly taskQueue: string;
  readonly codePath: string;
  readonly journal: string;
  readonly contents: string;
  readonly killAt: string;
};

/** Starts the module at `main`, which calls `runDying`, on the stores of this rig. */
export async function startDying<More extends object>(
  rig: Rig,
  main: string,
  { taskQueue = rig.taskQueue, ...more }: More & { readonly killAt: string; readonly taskQueue?: string },
): Promise<ChildProcess> {
  const codePath = path.join(rig.folder, 'workflows.js');
  await writeFile(codePath, 'code' in rig.bundle ? rig.bundle.code : '');
  const stores = { journal: path.join(rig.folder, 'journal'), contents: path.join(rig.folder, 'contents') };
  const setting = { address: rig.temporal.address, taskQueue, codePath, ...stores, ...more };
  const child = fork(main, [JSON.stringify(setting)], { execArgv: ['--require', 'tsx/cjs'] });
  rig.atEnd(async () => void child.kill('SIGKILL'));
  return child;
}

/** Resolves once it has killed itself. */
export async function death(child: ChildProcess): Promise<void> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (signal !== 'SIGKILL') throw new Error(`the worker ended by itself, with ${code ?? signal}`);
}

/** The process: `options` may call `at` with the moments of its kind. `killAt` is one of them, with `:2` behind it the second time. */
export async function runDying<More>(
  options: (setting: Setting<More>, at: (moment: string) => void) => Partial<CountersignPluginOptions>,
): Promise<void> {
  const setting = JSON.parse(process.argv[2] as string) as Setting<More>;
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
    ...options(setting, at),
  });
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({ connection, taskQueue, workflowBundle: { codePath }, plugins: [plugin] });
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  await worker.run();
}
