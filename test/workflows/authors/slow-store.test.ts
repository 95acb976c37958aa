/**
 * Properties of calls whose arguments take longer to store than a workflow task may last, so that each outlasts the task that it began in:
 * - the workflow ends, each effect once, though several sequences of calls run side by side and signals begin more;
 * - its history replays: it went on from each answer at a moment that a replay finds again.
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { useRig } from '../../support/rig';
import { effectsAt } from './effects';
import { slowStore } from './slow-store';

const rig = useRig({ workflowsPath: path.resolve(__dirname, 'workflows.ts') });

test('sequences of calls side by side', async () => {
  await rig.worker({ plugin: { effects: effectsAt(rig.sinks.url), contents: slowStore(rig.contents) } });
  const handles = await Promise.all(
    [1, 2, 3].map((nr) =>
      rig.client.workflow.start('sequences', {
        ...{ workflowId: `${nr}-${rig.taskQueue}`, taskQueue: rig.taskQueue, args: [2] },
        workflowTaskTimeout: '1 second',
      }),
    ),
  );
  await Promise.all(handles.map((handle) => handle.signal('more', 'd')));
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([8, 8, 8]);
  expect(rig.writes).toBe(24);
  const histories = await rig.histories();
  expect((await rig.verify(histories)).failures).toEqual([]);
});
