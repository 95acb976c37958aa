/**
 * Properties of an author's call whose worker is killed, each at another moment of its drive, by SIGKILL:
 * - another worker brings it to the same answer, and the effect stands at the sink once;
 * - where the sender did not live to record the result, the sink is asked for it, and what it says first stays the answer.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { useRig } from '../../support/rig';
import { effectsAt } from './effects';
import type { WorkerSetting } from './worker-main';

const rig = useRig({ workflowsPath: path.resolve(__dirname, 'workflows.ts') });
const MOMENTS = ['after_append', 'sending', 'answered', 'ended', 'returning'] as const;

test('killed at each moment', async () => {
  const codePath = path.join(rig.folder, 'workflows.js');
  await writeFile(codePath, 'code' in rig.bundle ? rig.bundle.code : '');
  const ends = MOMENTS.map(async (killAt) => {
    const taskQueue = `${rig.taskQueue}-${killAt}`;
    const start = { workflowId: taskQueue, taskQueue, args: [5] };
    const handle = await rig.client.workflow.start('chargeOnce', start);
    await killed({
      ...{ address: rig.temporal.address, taskQueue, codePath, killAt, sinkUrl: rig.sinks.url },
      ...{ journal: path.join(rig.folder, 'journal'), contents: path.join(rig.folder, 'contents') },
    });
    await rig.worker({ taskQueue, plugin: { effects: effectsAt(rig.sinks.url) } });
    const answer: unknown = await handle.result();
    expect(answer, killAt).toMatchObject({ exposed: { row: expect.any(Number) as number }, replayed: false });
    expect(await rig.client.workflow.execute('chargeOnce', start), killAt).toEqual({
      ...(answer as object),
      replayed: true,
    });
  });
  await Promise.all(ends);
  expect(rig.sinks.counts().keys.map(({ writes }) => writes)).toEqual(MOMENTS.map(() => 1));
});

async function killed(setting: WorkerSetting): Promise<void> {
  const child = fork(path.join(__dirname, 'worker-main.ts'), [JSON.stringify(setting)], {
    execArgv: ['--require', 'tsx/cjs'],
  });
  rig.atEnd(async () => void child.kill('SIGKILL'));
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
}
