/**
 * Properties of an authorized launch under faults on the real server, counted at a provider that charges for every request:
 * - a reset of the author's workflow after its launch, or in the middle of it, launches nothing more and comes to the same submission; so
 *   does one of the job's, which has none where the launch answered with the end of the job;
 * - a launch activity that is delivered again by itself launches nothing more;
 * - a worker killed at each moment of its launch leaves at most one request, none before the claim, and the job ends typed;
 * - two workers at once, and none that keeps workflows in memory, launch once;
 * - a worker process that submits, ends, or stays silent ends its job as that; a cancelled author takes back what nobody has begun, and
 *   waits for what somebody has;
 * - whoever calls the activities from elsewhere, or sends what the journal does not hold, changes nothing.
 */
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LauncherDefinition } from '../../../src';
import { LAUNCH_ACTIVITY } from '../../../src/activities/launch-contract';
import { LAUNCH_POINTS } from '../../../src/activities/launch-engine';
import type { Dict } from '../../../src/rules/fields';
import { processLauncher } from '../../../src/adapters/launchers';
import { startPaidProvider, type PaidProvider } from '../../systems/paid-provider';
import { death, startDying } from '../../support/dying-worker';
import { failureOf, useRig } from '../../support/rig';
import {
  authorizedStart,
  MODEL,
  PROVIDER,
  eventually,
  everything,
  jobStatus,
  paidLauncher,
  requestOf,
  reviewers,
  runOf,
  WORKFLOWS,
  type StartedLaunch,
} from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });
let provider: PaidProvider;
beforeEach(async () => {
  provider = await startPaidProvider();
});
afterEach(() => provider.close());

const worker = (more: { maxCachedWorkflows?: number; taskQueue?: string } = {}): ReturnType<typeof rig.worker> =>
  rig.worker({ ...more, plugin: { launchers: [paidLauncher(provider.url)], reviewers } });

/** Another worker of the same queue, in a process of its own. */
const processWorker = (taskQueue: string, killAt: string): ReturnType<typeof startDying> =>
  startDying(rig, path.join(__dirname, 'worker-main.ts'), { taskQueue, killAt, providerUrl: provider.url });

const submissionOf = async ({ result }: StartedLaunch): Promise<string> => {
  const end = await result();
  return end.status === 'submission' ? end.submission.countersign_ref : end.reason;
};

/** Its worker is a process; what that does, in order. */
const processOf = (steps: string): LauncherDefinition => {
  const script = path.resolve(__dirname, '../../adapters/launchers/worker.mjs');
  const launcher = processLauncher({ command: process.execPath, args: [script, steps], lifetimeMs: 10_000 });
  return { provider: PROVIDER, model: MODEL, launcher };
};

describe('a reset', () => {
  test('of the author launches nothing more', async () => {
    await worker();
    const started = await authorizedStart(rig);
    const submission = await submissionOf(started);
    // The server repeats the signal with the receipt.
    const author = await rig.reset(started.author);
    expect(await author.result()).toMatchObject({ submission: { countersign_ref: submission }, replayed: true });
    expect(await runOf(started.job)).toBeNull();
    expect(provider.requests()).toBe(1);
  });

  test('of the author in the middle of a launch comes to what that submits', async () => {
    provider.mode = 'holds';
    await worker();
    const started = await authorizedStart(rig, { launchLeaseMs: 60_000 });
    await provider.arrived(1);
    const author = await rig.reset(started.author);
    await eventually(() => runOf(started.job));
    provider.release();
    // Long before the lease of the launch is over.
    expect(await author.result()).toMatchObject({ status: 'submission', replayed: true });
    expect(provider.requests()).toBe(1);
  });

  test('of the job launches nothing more', async () => {
    await rig.worker({ plugin: { launchers: [processOf('context,later,submit')], reviewers } });
    const started = await authorizedStart(rig);
    const submission = await submissionOf(started);
    expect(submission).toMatch(/^sha256:/);
    const reset = await rig.reset(started.job);
    expect(await reset.result()).toMatchObject({ state: 'completed', submission, replayed: true });
  });
});

describe('a launch that is delivered again launches nothing more', () => {
  test('once it has answered', async () => {
    await worker();
    const started = await authorizedStart(rig);
    await started.result();
    const { events } = await rig.historyOf({ workflow: started.author });
    const again = await rig.client.workflow.execute('delivers', {
      workflowId: started.author.workflowId,
      taskQueue: rig.taskQueue,
      args: [requestOf(events, LAUNCH_ACTIVITY)],
    });
    expect(again).toMatchObject({ status: 'taken', facts: { end: 'acked', outcome: { outcome: 'submitted' } } });
    expect(provider.requests()).toBe(1);
  });

  test('because an operator reset the activity, and its worker died', async () => {
    provider.mode = 'holds';
    const child = await processWorker(rig.taskQueue, 'never');
    const started = await authorizedStart(rig, { launchLeaseMs: 15_000 });
    await provider.arrived(1);
    await rig.client.workflowService.resetActivity({
      namespace: rig.temporal.namespace,
      execution: { workflowId: started.author.workflowId },
      type: LAUNCH_ACTIVITY,
    });
    child.kill('SIGKILL');
    await worker();
    expect(await started.result()).toMatchObject({ reason: 'launch_outcome_unknown', launched: 'unknown' });
    expect(provider.requests()).toBe(1);
  });
});

test.each([{ maxCachedWorkflows: 100 }, { maxCachedWorkflows: 0 }])('two workers at once: %j', async (more) => {
  await worker(more);
  await processWorker(rig.taskQueue, 'never');
  const started = await authorizedStart(rig);
  expect(await submissionOf(started)).toMatch(/^sha256:/);
  expect(provider.requests()).toBe(1);
});

const ENDS: Record<(typeof LAUNCH_POINTS)[number], { requests: number; end: object }> = {
  claiming: { requests: 0, end: { status: 'unavailable', reason: 'dispatch_exhausted', launched: 'no' } },
  claimed: { requests: 0, end: { status: 'unavailable', reason: 'launch_outcome_unknown', launched: 'unknown' } },
  submitted: { requests: 1, end: { status: 'submission' } },
  launched: { requests: 1, end: { status: 'submission' } },
  launch_ended: { requests: 1, end: { status: 'submission' } },
};

test('killed at each moment of a launch', async () => {
  const cases = LAUNCH_POINTS.map(async (killAt) => {
    const taskQueue = `${rig.taskQueue}-${killAt}`;
    const child = await processWorker(taskQueue, killAt);
    const exited = death(child);
    const started = await authorizedStart(rig, { launchLeaseMs: 15_000 }, {}, taskQueue);
    await exited;
    await worker({ taskQueue });
    expect(await started.result(), killAt).toMatchObject(ENDS[killAt].end);
    expect(provider.requests(started.launch.jobId), killAt).toBe(ENDS[killAt].requests);
  });
  await Promise.all(cases);
});

test.each([
  ['context,submit', { status: 'submission' }],
  ['exit', { status: 'unavailable', reason: 'worker_exited_before_submission', launched: 'yes' }],
  ['wait', { status: 'unavailable', reason: 'running_deadline_exceeded', launched: 'yes' }],
])('a worker process that does: %s', async (steps, end) => {
  await rig.worker({ plugin: { launchers: [processOf(steps)], reviewers } });
  const { result } = await authorizedStart(rig, { runningDeadlineMs: steps === 'wait' ? 1_500 : 20_000 });
  expect(await result()).toMatchObject({ ...end, replayed: false });
});

describe('a cancelled author', () => {
  test('takes back what nobody has begun', async () => {
    await rig.worker({ plugin: { reviewers } });
    const started = await authorizedStart(rig);
    await eventually(() => runOf(started.job));
    await started.author.cancel();
    expect(await started.result()).toMatchObject({ reason: 'dispatch_exhausted', launched: 'no' });
  });

  test('waits for what somebody has', async () => {
    provider.mode = 'holds';
    await worker();
    const started = await authorizedStart(rig, { launchLeaseMs: 20_000 });
    await provider.arrived(1);
    await started.author.cancel();
    provider.release();
    expect(await started.result()).toMatchObject({ status: 'submission', replayed: false });
    expect(provider.requests()).toBe(1);
  });

  test('waits for a worker that runs', async () => {
    await rig.worker({ plugin: { launchers: [processOf('wait')], reviewers } });
    const started = await authorizedStart(rig, { runningDeadlineMs: 2_000 });
    await eventually(() => runOf(started.job));
    await started.author.cancel();
    expect(await started.result()).toMatchObject({ reason: 'running_deadline_exceeded', launched: 'yes' });
  });
});

describe('a stranger', () => {
  test('changes nothing', async () => {
    await worker();
    const started = await authorizedStart(rig);
    await started.result();
    const before = await everything(path.join(rig.folder, 'journal'));
    const kept = Object.entries(before).find(([name]) => name.endsWith('order.json'));
    const order = JSON.parse(kept?.[1] ?? '') as Dict;
    for (const [workflow, args] of [
      ['strangerLaunches', { order, journal_id: null, receipt: 'x', lease_ms: 1_000 }],
      ['strangerSettles', { order, journal_id: null, does: { does: 'close' } }],
    ] as const) {
      const stranger = { workflowId: `${workflow}-${rig.taskQueue}`, taskQueue: rig.taskQueue, args: [args] };
      const { cause } = await failureOf(rig.client.workflow.execute(workflow, stranger));
      expect(cause).toMatchObject({ type: 'not_the_plans_workflow' });
    }
    expect(await everything(path.join(rig.folder, 'journal'))).toEqual(before);
    expect(provider.requests()).toBe(1);
  });

  test('cannot submit what the journal does not hold', async () => {
    await rig.worker({ plugin: { launchers: [processOf('wait')], reviewers } });
    const started = await authorizedStart(rig, { runningDeadlineMs: 3_000 });
    await eventually(() => runOf(started.job));
    const submit = (job_id: string): Promise<unknown> =>
      started.job.executeUpdate('submit', { args: [{ job_id, submission: `sha256:${'1'.repeat(64)}` }] });
    await expect(submit('0'.repeat(32))).rejects.toThrow();
    await expect(submit(started.launch.jobId)).rejects.toThrow();
    expect(await started.result()).toMatchObject({ status: 'unavailable', launched: 'yes' });
    expect(await jobStatus(started)).toMatchObject({ submission: null });
  });
});
