/**
 * Properties of verification runs under faults on the real server, counted at a provider that charges for every request:
 * - a worker killed behind each record, and at each moment of a launch, leaves a run that ends as the crash table says: at most one
 *   request a job, no job but the planned ones, nothing projected twice, and a history that can be imported;
 * - a reset of the run's workflow, or of a job's, launches nothing more and comes to the same end;
 * - two workers at once, and none that keeps workflows in memory, carry one run to one end, with one request a job.
 */
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { jobWorkflowId } from '../../../src/rules/launches/job-order';
import { plannedJobs } from '../../../src/rules/verification/chain';
import { startPaidProvider, type PaidProvider } from '../../systems/paid-provider';
import { death, startDying } from '../../support/dying-worker';
import { useRig } from '../../support/rig';
import { authorizeAll, checks, clientOf, draft, historyOf, paidLauncher, reviewers, track, WORKFLOWS } from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });
let provider: PaidProvider;
beforeEach(async () => {
  provider = await startPaidProvider();
});
afterEach(() => provider.close());

const worker = (more: { maxCachedWorkflows?: number; taskQueue?: string } = {}): ReturnType<typeof rig.worker> =>
  rig.worker({ ...more, plugin: { launchers: [paidLauncher(provider.url)], reviewers, checks } });

const processWorker = (taskQueue: string, killAt: string): ReturnType<typeof startDying> =>
  startDying(rig, path.join(__dirname, 'worker-main.ts'), { taskQueue, killAt, providerUrl: provider.url });

const DONE = { outcome: 'completed', states: ['completed', 'completed'], requests: [1, 1] } as const;
const lost = (requests: 0 | 1): object => ({
  outcome: 'incomplete',
  states: ['unavailable', 'planned'],
  requests: [requests, 0],
});

/** One specialist and the coordinator; the moments are those of the specialist but where a number says otherwise. */
const CRASHES: Record<string, object> = {
  run_opened: DONE,
  'result_committed:1': DONE,
  'job_prepared:1': DONE,
  'job_authorized:1': DONE,
  'launch:claiming': { ...lost(0), reason: 'dispatch_exhausted' },
  'launch:claimed': { ...lost(0), reason: 'launch_outcome_unknown' },
  'launch:submitted': DONE,
  'launch:launch_ended': DONE,
  'job_moved:1': DONE,
  'job_submitted:1': DONE,
  'result_committed:2': DONE,
  'job_prepared:2': DONE,
  'job_completed:1': DONE,
  'job_authorized:2': DONE,
  'results_related:1': DONE,
  'job_completed:2': DONE,
  run_closed: DONE,
};

const SIDE_BY_SIDE = 5;
const moments = Object.entries(CRASHES);
const groups = Array.from({ length: Math.ceil(moments.length / SIDE_BY_SIDE) }, (_, group) =>
  moments.slice(group * SIDE_BY_SIDE, (group + 1) * SIDE_BY_SIDE),
);

test.each(groups)('killed at each moment of a run: %#', async (...group) => {
  const cases = group.map(async ([killAt, end], index) => {
    const taskQueue = `${rig.taskQueue}-${index}`;
    const runs = clientOf(rig, taskQueue);
    const prepared = await runs.prepare(draft(1, 1));
    const child = await processWorker(taskQueue, killAt);
    const exited = death(child);
    const status = runs.start(prepared, { launchLeaseMs: 15_000 }).then((handle) => authorizeAll(rig, handle));
    await exited;
    await worker({ taskQueue });
    const { outcome, jobs } = await status;
    const planned = plannedJobs(prepared.run);
    expect(jobs.map(({ job_id }) => job_id)).toEqual(planned.map(({ jobId }) => jobId));
    const reason = jobs.find((job) => job.reason !== null)?.reason;
    const states = jobs.map(({ state }) => state);
    const requests = planned.map(({ jobId }) => provider.requests(jobId));
    expect({ outcome, states, requests, ...(reason === undefined ? {} : { reason }) }, killAt).toEqual(end);
    await historyOf(rig, prepared.runId);
  });
  await Promise.all(cases);
});

test.each([{ maxCachedWorkflows: 100 }, { maxCachedWorkflows: 0 }])('two workers at once: %j', async (more) => {
  await worker(more);
  await processWorker(rig.taskQueue, 'never');
  const runs = clientOf(rig);
  const prepared = await runs.prepare(draft(1, 2));
  const { outcome } = await authorizeAll(rig, await runs.start(prepared));
  expect(outcome).toBe('completed');
  expect(plannedJobs(prepared.run).map(({ jobId }) => provider.requests(jobId))).toEqual([1, 1, 1]);
  await historyOf(rig, prepared.runId);
});

test('a reset of the run, and of a job, launches nothing more', async () => {
  await worker();
  const runs = clientOf(rig);
  const prepared = await runs.prepare(draft(1, 1));
  const handle = await runs.start(prepared);
  const before = await authorizeAll(rig, handle);
  const reset = await rig.reset(handle);
  expect(await reset.result()).toEqual({ ...before, replayed: true, message: null });
  for (const { job_id } of before.jobs) {
    const job = { workflowId: jobWorkflowId(job_id) };
    await (await rig.reset(job)).result();
    await track(rig, job.workflowId);
    expect(provider.requests(job_id)).toBe(1);
  }
  expect(await (await runs.start(prepared)).result()).toMatchObject({ outcome: 'completed', replayed: true });
});

test('a reset while a job is out finds it, and launches nothing more', async () => {
  provider.mode = 'hangs';
  await worker();
  const runs = clientOf(rig);
  const handle = await runs.start(await runs.prepare(draft(0, 1)), { launchLeaseMs: 6_000 });
  const ending = authorizeAll(rig, handle);
  ending.catch(() => undefined);
  await provider.arrived(1);
  const reset = await rig.reset(handle);
  const status = await reset.result();
  expect(status).toMatchObject({
    outcome: 'incomplete',
    jobs: [{ state: 'unavailable', reason: 'launch_outcome_unknown' }, { state: 'planned' }],
  });
  expect(provider.requests()).toBe(1);
});
