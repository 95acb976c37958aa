/**
 * Records, under `test/histories/<version>/authors-slow-store`, the histories of authors whose arguments take longer to store than a
 * workflow task may last: of one call, and of sequences of calls side by side.
 */
import { CountersignPlugin } from '../src';
import { startCountingServer } from '../src/testing';
import { effectsAt } from '../test/workflows/authors/effects';
import { slowStore } from '../test/workflows/authors/slow-store';
import { recordInto } from './dev/recording';

recordInto('authors-slow-store', {}, async (recording) => {
  const sinks = recording.closing(await startCountingServer());
  const { client, store, contents, taskQueue } = recording;
  await recording.worker({
    workflows: 'test/workflows/authors/workflows.ts',
    plugin: new CountersignPlugin({ store, contents: slowStore(contents), effects: effectsAt(sinks.url) }),
  });
  const record = async (name: string, workflow: string, args: unknown[]): Promise<void> => {
    const handle = await client.workflow.start(workflow, {
      ...{ workflowId: name, taskQueue, args },
      workflowTaskTimeout: '1 second',
    });
    if (workflow === 'sequences') await handle.signal('more', 'd');
    await handle.result();
    await recording.keep(name, name, handle.firstExecutionRunId);
  };
  await record('charged', 'chargeOnce', [7]);
  await record('side-by-side', 'sequences', [2]);
});
