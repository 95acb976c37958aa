/**
 * Properties of an author's call whose worker is killed, each at another moment of its drive, by SIGKILL:
 * - another worker brings it to the same answer, and the effect stands at the sink once;
 * - where the sender did not live to record the result, the sink is asked for it, and what it says first stays the answer.
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { death, startDying } from '../../support/dying-worker';
import { useRig } from '../../support/rig';
import { effectsAt } from './effects';

const rig = useRig({ workflowsPath: path.resolve(__dirname, 'workflows.ts') });
const MOMENTS = ['after_append', 'sending', 'answered', 'ended', 'returning'] as const;

test('killed at each moment', async () => {
  const main = path.join(__dirname, 'worker-main.ts');
  const ends = MOMENTS.map(async (killAt) => {
    const taskQueue = `${rig.taskQueue}-${killAt}`;
    const start = { workflowId: taskQueue, taskQueue, args: [5] };
    const handle = await rig.client.workflow.start('chargeOnce', start);
    await death(await startDying(rig, main, { taskQueue, killAt, sinkUrl: rig.sinks.url }));
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
