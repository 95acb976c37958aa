/**
 * Records, under `test/histories/<version>/launches-signed-once`, the histories of authors who ask again for what was launched before: of a
 * launch that is over, and of one whose author was terminated while nobody had answered for it. Neither waits for a second receipt.
 */
import { CountersignPlugin } from '../src';
import { jobWorkflowId } from '../src/rules/launches/job-order';
import type { LaunchEnd, LaunchToAuthorize } from '../src/workflow';
import { startPaidProvider } from '../test/systems/paid-provider';
import { asked, paidLauncher, reviewers, signed } from '../test/workflows/launches/support';
import { eventually, recordInto } from './dev/recording';

recordInto('launches-signed-once', {}, async (recording) => {
  const provider = recording.closing(await startPaidProvider());
  const { client, store, contents, taskQueue } = recording;
  await recording.worker({
    workflows: 'test/workflows/launches/workflows.ts',
    plugin: new CountersignPlugin({ store, contents, reviewers, launchers: [paidLauncher(provider.url)] }),
  });
  /** Launches, leaves it as `until` says, and asks again under the same id. */
  const askAgain = async (name: string, launchLeaseMs: number, until: () => Promise<unknown>): Promise<void> => {
    const options = { workflowId: name, taskQueue, args: [asked({ launchLeaseMs })] };
    const first = await client.workflow.start('launchOne', options);
    const launch = await eventually(() => first.query<LaunchToAuthorize | null>('to_authorize'));
    await first.signal('authorize', signed(launch));
    await until();
    // One that has ended cannot be terminated.
    await first.terminate().catch(() => undefined);
    const again = await client.workflow.start('launchOne', options);
    const { jobId, replayed } = (await again.result()) as LaunchEnd;
    if (!replayed) throw new Error(`${name} was launched twice`);
    await recording.keep(name, name, again.firstExecutionRunId);
    if (name === 'begun') await recording.keep(`${name}-job`, jobWorkflowId(jobId));
  };

  await askAgain('over', 4_000, () => client.workflow.getHandle('over').result());
  provider.mode = 'hangs';
  await askAgain('begun', 1_000, () => provider.arrived(2));
});
