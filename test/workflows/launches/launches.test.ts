/**
 * Properties of an authorized launch on the real server:
 * - the worker's output is submitted and can be read; the provider is asked once, and asking again answers the same without it, and
 *   without another receipt: also of what was begun, and of what came to nothing;
 * - the same id with other arguments is refused, and nothing is launched;
 * - a launch that answers with what the job came to needs no other workflow; the receipt of one that does not is refused by the job's own;
 * - whatever the provider does, the launch ends typed, within its leases, with one request or none;
 * - a receipt that is expired, of another launch or key, or used, launches nothing, and the job says why;
 * - no content, credential or person stands in any history.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WorkflowHandle } from '@temporalio/client';
import { putContent, readContent } from '../../../src';
import { historyToJson } from '../../../src/testing/history-json';
import { startPaidProvider, type PaidProvider, type ProviderMode } from '../../systems/paid-provider';
import { failureOf, useRig } from '../../support/rig';
import {
  asked,
  authorizedStart,
  eventually,
  jobStatus,
  paidLauncher,
  reviewers,
  runOf,
  signed,
  startLaunch,
  trackJob,
  WORKFLOWS,
  type Wanted,
} from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });
let provider: PaidProvider;
beforeEach(async () => {
  provider = await startPaidProvider();
});
afterEach(() => provider.close());

const worker = (): ReturnType<typeof rig.worker> =>
  rig.worker({ plugin: { launchers: [paidLauncher(provider.url)], reviewers } });

test('submits once, and again the same without a launch', async () => {
  await worker();
  const context = await putContent(rig.contents, { prompt: 'planted-context' });
  const started = await authorizedStart(rig, { context });
  const end = await started.result();
  expect(end).toMatchObject({ status: 'submission', replayed: false });
  if (end.status !== 'submission') return;
  expect(await readContent(rig.contents, end.submission)).toMatchObject({ object: 'chat.completion' });
  expect(await runOf(started.job)).toBeNull();

  const again = await rig.client.workflow.start('launchOne', {
    workflowId: started.author.workflowId,
    taskQueue: rig.taskQueue,
    args: [asked({ context })],
  });
  expect(await again.result()).toEqual({ ...end, replayed: true });
  expect(provider.requests()).toBe(1);
  expect(await plainHistory(started.author)).not.toMatch(PLANTED);
});

describe('started again, nobody is asked to sign', () => {
  const again = (author: WorkflowHandle, more: Wanted = {}): Promise<WorkflowHandle> =>
    rig.client.workflow.start('launchOne', {
      workflowId: author.workflowId,
      taskQueue: rig.taskQueue,
      args: [asked(more)],
    });

  test('for what came to nothing', async () => {
    provider.mode = { status: 429 };
    await worker();
    const { author, result } = await authorizedStart(rig);
    const end = await result();
    expect(await (await again(author)).result()).toEqual({ ...end, replayed: true });
    expect(provider.requests()).toBe(1);
  });

  test('for what was begun', async () => {
    provider.mode = 'holds';
    await worker();
    const more = { launchLeaseMs: 60_000 };
    const started = await authorizedStart(rig, more);
    await provider.arrived(1);
    await started.author.terminate();
    const second = await again(started.author, more);
    await eventually(() => runOf(started.job));
    expect(await second.query('to_authorize')).toBeNull();
    provider.release();
    expect(await second.result()).toMatchObject({ status: 'submission', replayed: true });
    expect(provider.requests()).toBe(1);
  });
});

test('one id is one launch', async () => {
  await worker();
  const context = await putContent(rig.contents, { prompt: 'planted-context' });
  const started = await authorizedStart(rig, { context });
  const end = await started.result();
  const other = await putContent(rig.contents, { prompt: 'another' });
  const launch = (options: object): Promise<unknown> =>
    rig.client.workflow.execute('launchAtOnce', {
      workflowId: started.author.workflowId,
      taskQueue: rig.taskQueue,
      args: [{ ...asked({ context }), receipt: signed(started.launch), ...options }],
    });
  for (const options of [{ context: other }, { costCeiling: 6 }]) {
    expect(await failureOf(launch(options))).toMatchObject({ type: 'plan_conflict' });
  }
  expect(await failureOf(launch({ id: '' }))).toMatchObject({ type: 'invalid_arguments' });
  expect(await launch({})).toEqual({ ...end, replayed: true });
  expect(provider.requests()).toBe(1);
});

/** What is content, a credential or a person. */
const PLANTED = /planted-context|no findings|wrk_|person:/;

async function plainHistory({ workflowId }: WorkflowHandle): Promise<string> {
  const text = JSON.stringify(historyToJson(await rig.client.workflow.getHandle(workflowId).fetchHistory()));
  const plain = text.replace(/"data":"([A-Za-z0-9+/=]+)"/g, (_all, data: string) =>
    Buffer.from(data, 'base64').toString(),
  );
  expect(plain).toContain('countersign.job_order.v1');
  return plain;
}

describe('the provider', () => {
  test.each<[string, ProviderMode, object]>([
    ['refuses', { status: 429 }, { reason: 'provider_refused', refusal: 'http_429', launched: 'no' }],
    ['fails', { status: 500 }, { reason: 'launch_outcome_unknown', launched: 'unknown' }],
    ['cuts its answer off', 'cuts', { reason: 'launch_outcome_unknown', launched: 'unknown' }],
    ['is silent', 'hangs', { reason: 'launch_outcome_unknown', launched: 'unknown' }],
  ])('%s', async (_name, mode, expected) => {
    provider.mode = mode;
    await worker();
    const context = await putContent(rig.contents, { prompt: 'planted-context' });
    const { author, job, result } = await authorizedStart(rig, { context, launchLeaseMs: 2_000 });
    expect(await result()).toMatchObject({ status: 'unavailable', replayed: false, ...expected });
    expect(provider.requests()).toBe(1);
    for (const handle of [author, job]) expect(await plainHistory(handle)).not.toMatch(PLANTED);
  });
});

describe('nothing is launched on a receipt', () => {
  const OTHER = `sha256:${'f'.repeat(64)}`;
  const now = (): number => Math.floor(Date.now() / 1000);
  test.each([
    ['that has expired', { iat: now() - 100, livesS: 10 }, 'authorization_expired'],
    ['of a stranger', { who: 'nobody' }, 'authorization_invalid'],
    ['in a role that its key does not hold', { role: 'role:example.org/clerk' }, 'authorization_invalid'],
    ['for another model', { model: 'model-2' }, 'authorization_invalid'],
    ['for another provider', { provider: 'other' }, 'authorization_invalid'],
    ['for another context', { contextDigest: OTHER }, 'authorization_invalid'],
    ['for another job', { jobId: '0'.repeat(32) }, 'authorization_invalid'],
    ['for another ceiling', { costCeiling: 6 }, 'authorization_invalid'],
    ['for another snapshot', { snapshotDigest: OTHER }, 'authorization_invalid'],
    ['for another journal', { journalId: `jrn_${'0'.repeat(32)}` }, 'authorization_invalid'],
  ])('%s', async (_name, signing, reason) => {
    await worker();
    const started = await authorizedStart(rig, {}, signing);
    expect(await started.result()).toMatchObject({ status: 'unavailable', reason, launched: 'no' });
    expect(await jobStatus(started)).toMatchObject({ state: 'unavailable', launched: 'no' });
    expect(provider.requests()).toBe(0);
  });

  test('that is none', async () => {
    await worker();
    const started = await startLaunch(rig);
    await started.author.signal('authorize', 'whatever');
    trackJob(rig, started);
    expect(await started.result()).toMatchObject({ reason: 'authorization_invalid', launched: 'no' });
    expect(provider.requests()).toBe(0);
  });
});

test('a provider that no worker launches ends the hand-off, and nothing is launched', async () => {
  await rig.worker({ plugin: { reviewers } });
  const { result } = await authorizedStart(rig, { launchLeaseMs: 1_000 });
  expect(await result()).toMatchObject({ reason: 'dispatch_exhausted', launched: 'no' });
});
