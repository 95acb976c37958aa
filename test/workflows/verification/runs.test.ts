/**
 * Properties of verification runs on the real server:
 * - a mixed plan runs its own checks, then one specialist after the other, then the coordinator, each launched once on its own receipt,
 *   with workflows kept in memory and replayed at every step; no content, credential or person stands in any history;
 * - a run that is started again, at once or later, is the same run; one whose workflow was terminated goes on;
 * - a receipt is judged before anything is recorded of it; the same again is taken, another is refused;
 * - a job that nobody authorizes, a run that is cancelled, a worker that ends or stays silent: each ends typed, within its time;
 * - whoever calls the activity from elsewhere changes nothing; what may not be opened leaves nothing.
 */
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { processLauncher } from '../../../src/adapters/launchers';
import { jobWorkflowId } from '../../../src/rules/launches/job-order';
import { runToRecord } from '../../../src/rules/verification/run';
import { historyToJson } from '../../../src/testing/history-json';
import { startPaidProvider, type PaidProvider } from '../../systems/paid-provider';
import { failureOf, useRig } from '../../support/rig';
import { everything } from '../launches/support';
import {
  authorizeAll,
  checks,
  clientOf,
  draft,
  historyOf,
  MODEL,
  paidLauncher,
  proposalId,
  PROVIDER,
  reviewers,
  signed,
  specialist,
  track,
  WORKFLOWS,
} from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });
let provider: PaidProvider;
beforeEach(async () => {
  provider = await startPaidProvider();
});
afterEach(() => provider.close());

const worker = (more: { maxCachedWorkflows?: number } = {}): ReturnType<typeof rig.worker> =>
  rig.worker({ ...more, plugin: { launchers: [paidLauncher(provider.url)], reviewers, checks } });

async function plainHistory(workflowId: string): Promise<string> {
  const history = await rig.client.workflow.getHandle(workflowId).fetchHistory();
  const text = JSON.stringify(historyToJson(history));
  return text.replace(/"data":"([A-Za-z0-9+/=]+)"/g, (_all, data: string) => Buffer.from(data, 'base64').toString());
}

test.each([{ maxCachedWorkflows: 100 }, { maxCachedWorkflows: 0 }])('a mixed plan, to its end: %j', async (more) => {
  await worker(more);
  const runs = clientOf(rig);
  const prepared = await runs.prepare(draft(2, 2));
  const handle = await runs.start(prepared);
  const status = await authorizeAll(rig, handle);
  expect(status).toMatchObject({ phase: 'closed', outcome: 'completed', replayed: false, wants: null });
  expect(status.results.map(({ criterion, outcome }) => `${criterion} ${outcome}`)).toEqual([
    'length-0 conforms',
    'length-1 conforms',
    'style-0 departs',
    'style-1 departs',
  ]);
  expect(status.jobs.map(({ role, state }) => `${role} ${state}`)).toEqual([
    'specialist completed',
    'specialist completed',
    'coordinator completed',
  ]);
  expect(status.proposals).toMatchObject([{ proposal_id: proposalId(2) }, { proposal_id: proposalId(3) }]);
  for (const { job_id } of status.jobs) expect(provider.requests(job_id)).toBe(1);
  await historyOf(rig, prepared.runId);
  for (const workflowId of [handle.workflowId, ...status.jobs.map(({ job_id }) => jobWorkflowId(job_id))]) {
    const plain = await plainHistory(workflowId);
    expect(plain).toContain(prepared.runId);
    expect(plain).not.toMatch(/planted|plain words|the figures|All of a text|wrk_|person:/);
  }
});

test('started by many at once, and again, it is one run', async () => {
  await worker();
  const runs = clientOf(rig);
  const prepared = await runs.prepare(draft(1, 1));
  const handles = await Promise.all([1, 2, 3, 4].map(() => runs.start(prepared)));
  const [first] = handles;
  await first!.wanted();
  await track(rig, first!.workflowId);
  await first!.workflow.terminate('a test');
  const again = await runs.start(prepared);
  const status = await authorizeAll(rig, again);
  expect(status).toMatchObject({ outcome: 'completed' });
  expect(provider.requests()).toBe(2);
  const journal = await everything(path.join(rig.folder, 'journal'));
  const later = await runs.start(prepared);
  expect(await later.result()).toMatchObject({ outcome: 'completed', replayed: true, head: status.head });
  expect(await everything(path.join(rig.folder, 'journal'))).toEqual(journal);
  expect(provider.requests()).toBe(2);
});

test('a receipt is judged before anything is recorded of it', async () => {
  await worker();
  const runs = clientOf(rig);
  const handle = await runs.start(await runs.prepare(draft(0, 1)));
  const wanted = (await handle.wanted())!;
  const { historyLength } = await handle.workflow.describe();
  const now = Math.floor(Date.now() / 1000);
  const junk: readonly (readonly [string, string])[] = [
    ['no receipt', 'receipt_malformed'],
    [signed(wanted, { who: 'nobody' }), 'receipt_unknown_key'],
    [signed(wanted, { who: 'bob' }), 'receipt_wrong_launch'],
    [signed(wanted, { iat: now - 100, livesS: 10 }), 'receipt_expired'],
    [signed(wanted, { costCeiling: 6 }), 'receipt_wrong_launch'],
    [signed(wanted, { jobId: '0'.repeat(32) }), 'receipt_wrong_launch'],
    [signed(wanted, { role: 'role:example.org/clerk' }), 'receipt_wrong_role'],
  ];
  for (const [token, code] of junk) await expect(handle.authorize(token), code).rejects.toMatchObject({ code });
  expect((await handle.workflow.describe()).historyLength).toBe(historyLength);
  const token = signed(wanted);
  expect((await handle.authorize(token)).wants?.job_id).not.toBe(wanted.job_id);
  await handle.authorize(token);
  await expect(handle.authorize(signed(wanted))).rejects.toMatchObject({ name: 'Refusal' });
  expect(await authorizeAll(rig, handle)).toMatchObject({ outcome: 'completed' });
  expect(provider.requests(wanted.job_id)).toBe(1);
});

describe('ends within its time', () => {
  test('where nobody authorizes', async () => {
    await worker();
    const runs = clientOf(rig);
    const handle = await runs.start(await runs.prepare(draft(1, 1)), { authorizationMs: 1_500 });
    await track(rig, handle.workflowId);
    const { outcome, jobs } = await handle.result();
    expect({ outcome, reason: jobs[0]?.reason }).toEqual({ outcome: 'incomplete', reason: 'authorization_expired' });
    expect(provider.requests()).toBe(0);
  });

  test('where it is cancelled before a launch', async () => {
    await worker();
    const runs = clientOf(rig);
    const handle = await runs.start(await runs.prepare(draft(1, 1)));
    await handle.wanted();
    await track(rig, handle.workflowId);
    expect(await handle.cancel()).toMatchObject({
      outcome: 'incomplete',
      jobs: [{ reason: 'dispatch_exhausted' }, {}],
    });
    expect(provider.requests()).toBe(0);
  });

  test('where Temporal cancels it while a worker is out', async () => {
    provider.mode = 'hangs';
    await worker();
    const runs = clientOf(rig);
    const handle = await runs.start(await runs.prepare(draft(1, 1)), { launchLeaseMs: 3_000 });
    const ending = authorizeAll(rig, handle);
    await provider.arrived(1);
    await handle.workflow.cancel();
    const { outcome, jobs } = await ending;
    expect({ outcome, reason: jobs[0]?.reason }).toEqual({ outcome: 'incomplete', reason: 'launch_outcome_unknown' });
    expect(provider.requests()).toBe(1);
  });

  test.each([
    ['exit', 'worker_exited_before_submission'],
    ['wait', 'running_deadline_exceeded'],
  ])('where a worker process does: %s', async (steps, reason) => {
    const script = path.resolve(__dirname, '../../adapters/launchers/worker.mjs');
    const launcher = processLauncher({ command: process.execPath, args: [script, steps], lifetimeMs: 10_000 });
    await rig.worker({ plugin: { launchers: [{ provider: PROVIDER, model: MODEL, launcher }], reviewers, checks } });
    const runs = clientOf(rig);
    const handle = await runs.start(await runs.prepare(draft(0, 1)), {
      runningDeadlineMs: steps === 'wait' ? 1_500 : 20_000,
    });
    const { outcome, jobs } = await authorizeAll(rig, handle);
    expect({ outcome, reason: jobs[0]?.reason }).toEqual({ outcome: 'incomplete', reason });
    await historyOf(rig, handle.runId);
  });
});

test('a stranger changes nothing', async () => {
  await worker();
  const runs = clientOf(rig);
  const prepared = await runs.prepare(draft(1, 1));
  const handle = await runs.start(prepared);
  const wanted = (await handle.wanted())!;
  await track(rig, handle.workflowId);
  const journal = path.join(rig.folder, 'journal');
  const before = await everything(journal);
  const opening = { run: runToRecord(prepared.run), person: prepared.person, captured_at: prepared.capturedAt };
  const acts = [
    { does: 'go_on' },
    { does: 'authorize', job_id: wanted.job_id, token: signed(wanted) },
    { does: 'end', job_id: wanted.job_id, why: 'given_up' },
  ];
  for (const [index, act] of acts.entries()) {
    const request = { run_id: prepared.runId, journal_id: null, opening, known: null, act };
    const stranger = { workflowId: `stranger-${rig.taskQueue}-${index}`, taskQueue: rig.taskQueue, args: [request] };
    const { cause } = await failureOf(rig.client.workflow.execute('strangerAdvances', stranger));
    expect(cause).toMatchObject({ type: 'not_the_plans_workflow' });
  }
  const misnamed = {
    workflowId: `other-${rig.taskQueue}`,
    taskQueue: rig.taskQueue,
    args: [{ run_id: prepared.runId }],
  };
  const failure = await failureOf(rig.client.workflow.execute('verificationRun', misnamed));
  expect(failure).toMatchObject({ type: 'invalid_arguments' });
  expect(await everything(journal)).toEqual(before);
  expect(provider.requests()).toBe(0);
});

test('what may not be opened leaves nothing', async () => {
  await rig.worker({ plugin: { reviewers, checks, mostLaunchedChecks: 1 } });
  const runs = clientOf(rig);
  const prepared = await runs.prepare(draft(1, 2));
  await expect(runs.start(prepared)).rejects.toMatchObject({ code: 'invalid_record' });
  const many = draft(0, 1, { checks: Array.from({ length: 6 }, (_, index) => specialist(index)) });
  await expect(runs.prepare(many)).rejects.toMatchObject({ code: 'invalid_record' });
  await expect(
    runs.apply(prepared.runId, { person: 'person:example.org/ann', proposals: [proposalId(0)] }),
  ).rejects.toMatchObject({
    code: 'unknown_run',
  });
  expect(Object.keys(await everything(path.join(rig.folder, 'journal')))).toHaveLength(1);
});
