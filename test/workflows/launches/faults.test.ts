/**
 * Properties of an authorized launch under faults on the real server, counted at a provider that charges for every request:
 * - a reset of the job's workflow after its launch, and of the author's, launches nothing more and comes to the same submission;
 * - a worker killed at each moment of its launch leaves at most one request, none before the claim, and the job ends typed;
 * - two workers at once, and none that keeps workflows in memory, launch once;
 * - a worker process that submits, ends, or stays silent ends its job as that, and a job that it has not begun can be taken back;
 * - whoever calls the activities from elsewhere, or sends what the journal does not hold, changes nothing.
 */
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
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
  everything,
  jobStatus,
  paidLauncher,
  reviewers,
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

test('a reset of the job launches nothing more', async () => {
  await worker();
  const started = await authorizedStart(rig);
  const submission = await submissionOf(started);
  const reset = await rig.reset(started.job);
  expect(await reset.result()).toMatchObject({ state: 'completed', submission, replayed: true });
  const author = await rig.reset(started.author);
  await author.signal('authorize', 'whatever');
  expect(await author.result()).toMatchObject({ submission: { countersign_ref: submission }, replayed: true });
  expect(provider.requests()).toBe(1);
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
  const script = path.resolve(__dirname, '../../adapters/launchers/worker.mjs');
  const launcher = processLauncher({ command: process.execPath, args: [script, steps], lifetimeMs: 10_000 });
  await rig.worker({ plugin: { launchers: [{ provider: PROVIDER, model: MODEL, launcher }], reviewers } });
  const { result } = await authorizedStart(rig, { runningDeadlineMs: steps === 'wait' ? 1_500 : 20_000 });
  expect(await result()).toMatchObject(end);
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
    provider.mode = 'hangs';
    await worker();
    const started = await authorizedStart(rig, { launchLeaseMs: 3_000 });
    await provider.arrived(1);
    const submit = (job_id: string): Promise<unknown> =>
      started.job.executeUpdate('submit', { args: [{ job_id, submission: `sha256:${'1'.repeat(64)}` }] });
    await expect(submit('0'.repeat(32))).rejects.toThrow();
    await expect(submit(started.launch.jobId)).rejects.toThrow();
    expect(await started.result()).toMatchObject({ status: 'unavailable', launched: 'unknown' });
    expect(await jobStatus(started)).toMatchObject({ submission: null });
    expect(provider.requests()).toBe(1);
  });
});
