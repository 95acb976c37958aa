/**
 * Records the histories of authorized launches under `test/histories/<version>/launches`, with their journal: those of authors'
 * workflows, and of the jobs that they launch.
 */
import path from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { CountersignPlugin, putContent, type LauncherDefinition } from '../src';
import { processLauncher } from '../src/adapters/launchers';
import { jobWorkflowId } from '../src/rules/launches/job-order';
import type { LaunchToAuthorize } from '../src/workflow';
import { startPaidProvider, type ProviderMode } from '../test/systems/paid-provider';
import {
  asked,
  paidLauncher,
  reviewers,
  runOf,
  signed,
  type Signing,
  type Wanted,
} from '../test/workflows/launches/support';
import { eventually, recordInto } from './dev/recording';
import { REPOSITORY } from './dev/repository';

const SCRIPT = path.join(REPOSITORY, 'test/adapters/launchers/worker.mjs');

/** Workers that are processes, by what they do. */
const PROCESSES = { submits: 'context,later,submit', exits: 'exit', waits: 'wait' } as const;
const processes: readonly LauncherDefinition[] = Object.entries(PROCESSES).map(([model, steps]) => ({
  ...{ provider: 'process', model },
  launcher: processLauncher({ command: process.execPath, args: [SCRIPT, steps], lifetimeMs: 60_000 }),
}));

recordInto('launches', {}, async (recording) => {
  const provider = recording.closing(await startPaidProvider());
  const { client, store, contents, taskQueue } = recording;
  await recording.worker({
    workflows: 'test/workflows/launches/workflows.ts',
    plugin: new CountersignPlugin({
      ...{ store, contents, reviewers },
      launchers: [paidLauncher(provider.url), ...processes],
    }),
  });
  const started = (name: string, more: Wanted = {}): Promise<WorkflowHandle> =>
    client.workflow.start('launchOne', { workflowId: name, taskQueue, args: [asked(more)] });
  const authorized = async (author: WorkflowHandle, signing: Signing = {}): Promise<LaunchToAuthorize> => {
    const launch = await eventually(() => author.query<LaunchToAuthorize | null>('to_authorize'));
    await author.signal('authorize', signed(launch, signing));
    return launch;
  };
  /** An author's history, and that of the job where it has one of its own. */
  const record = async (
    name: string,
    more: Wanted = {},
    mode: ProviderMode = 'answers',
    signing: Signing = {},
  ): Promise<void> => {
    provider.mode = mode;
    const author = await started(name, more);
    const { jobId } = await authorized(author, signing);
    await author.result();
    await recording.keep(name, name);
    const job = client.workflow.getHandle(jobWorkflowId(jobId));
    if ((await runOf(job)) !== null) await recording.keep(`${name}-job`, job.workflowId);
  };

  await record('submitted');
  await (await started('submitted')).result();
  await recording.keep('submitted-again', 'submitted');
  await record('by-ref', { context: await putContent(contents, { prompt: 'planted-context' }) });
  await record('refused', {}, { status: 429 });
  await record('unknown', { launchLeaseMs: 1_000 }, { status: 500 });
  await record('by-a-process', { provider: 'process', model: 'submits' });
  await record('exited', { provider: 'process', model: 'exits' });
  await record('late', { provider: 'process', model: 'waits', runningDeadlineMs: 500 });
  await record('expired', {}, 'answers', { iat: Math.floor(Date.now() / 1_000) - 100, livesS: 10 });
  await record('of-another-key', {}, 'answers', { who: 'nobody' });
  await record('of-nobody', { provider: 'nobody' });

  const cancelled = await started('cancelled', { provider: 'process', model: 'waits', runningDeadlineMs: 1_000 });
  const { jobId } = await authorized(cancelled);
  await eventually(() =>
    client.workflow
      .getHandle(jobWorkflowId(jobId))
      .describe()
      .catch(() => null),
  );
  await cancelled.cancel();
  await cancelled.result().catch(() => undefined);
  await recording.keep('cancelled', 'cancelled');
  await recording.keep('cancelled-job', jobWorkflowId(jobId));
});
