/** Runs a plan of one effect on a worker process that is killed by SIGKILL, and hands it to a worker of this process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type EffectSink } from '../../../src/ports';
import { type PlanHandle } from '../../../src/client';
import { type Rig } from '../../support/rig';
import { type SinkWorkerOrders } from './sink-worker';

const TOOL = 'tool:example.org/sink@1.0.0';

/** A worker of this process with this sink. */
export const workWith = (rig: Rig, sink: EffectSink): ReturnType<Rig['worker']> =>
  rig.worker({ plugin: { effects: [{ toolId: TOOL, sink }] } });

export const startWith = (rig: Rig, operation: unknown, kind: EffectSink['kind'] = 'local_tool'): Promise<PlanHandle> =>
  rig.start([{ mode: 'blind', tool_id: TOOL, kind, operation }]);

/** Starts the plan on a process of its own, kills that at `moment`, and lets `next` go on. */
export async function killedInSend(
  rig: Rig,
  orders: Pick<SinkWorkerOrders, 'sink' | 'options'> & Partial<Pick<SinkWorkerOrders, 'journal' | 'contents'>>,
  operation: unknown,
  moment: Promise<unknown>,
  next: EffectSink,
): Promise<PlanHandle> {
  const codePath = path.join(rig.folder, 'workflows.js');
  await writeFile(codePath, 'code' in rig.bundle ? rig.bundle.code : '');
  const whole: SinkWorkerOrders = {
    ...{ address: rig.temporal.address, taskQueue: rig.taskQueue, codePath, toolId: TOOL },
    ...{ journal: path.join(rig.folder, 'journal'), contents: path.join(rig.folder, 'contents') },
    ...orders,
  };
  const child = fork(path.join(__dirname, 'sink-worker.ts'), [JSON.stringify(whole)], {
    execArgv: ['--require', 'tsx/cjs'],
  });
  rig.atEnd(async () => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const handle = await startWith(rig, operation, next.kind);
  await Promise.race([
    moment,
    ended.then(() => {
      throw new Error('the worker process ended by itself');
    }),
  ]);
  child.kill('SIGKILL');
  await ended;
  await workWith(rig, next);
  return handle;
}
