/**
 * Properties of a launch that somebody else asks for, too, on the real server:
 * - an author's id is one launch for ever, whichever workflow launched it: on other terms, with another receipt, it is refused;
 * - who takes the id of a job's workflow without its receipt ends it for nobody but himself, whether it waits
 *   for its receipt or its launch is under way.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { putContent } from '../../../src';
import { Journal } from '../../../src/activities/journal';
import { refDigest } from '../../../src/rules/calls/ref';
import type { Dict } from '../../../src/rules/fields';
import { jobWorkflowId, orderToRecord } from '../../../src/rules/launches/job-order';
import { orderOfCall } from '../../../src/rules/launches/launch-call';
import { claimsToAuthorize } from '../../../src/rules/launches/launch-request';
import type { JobStatus, LaunchEnd } from '../../../src/workflow';
import { failureOf, useRig } from '../../support/rig';
import { startPaidProvider, type PaidProvider } from '../../systems/paid-provider';
import {
  authorizedStart,
  startLaunch,
  type StartedLaunch,
  asked,
  eventually,
  MODEL,
  paidLauncher,
  PROVIDER,
  reviewers,
  runOf,
  signed,
  WORKFLOWS,
} from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });
let provider: PaidProvider;
beforeEach(async () => {
  provider = await startPaidProvider();
});
afterEach(() => provider.close());

test('an id that its own workflow launched is not launched again on other terms', async () => {
  await rig.worker({ plugin: { reviewers } });
  const context = await putContent(rig.contents, { prompt: 'planted-context' });
  const journalId = await new Journal(rig.journal).id();
  const workflowId = `author-${rig.taskQueue}`;
  const taskQueue = `${rig.taskQueue}-launch`;
  const orderAt = (costCeiling: number) => {
    const contextDigest = refDigest(context) ?? '';
    const terms = {
      provider: PROVIDER,
      model: MODEL,
      contentBoundary: 'whole_context',
      costCeiling,
      contextDigest,
    } as const;
    return orderOfCall({ origin: 'launches', id: 'one', workflowId }, terms);
  };
  const start = (costCeiling: number) => {
    const { runId, jobId } = orderAt(costCeiling);
    const receipt = signed({ runId, jobId, claims: claimsToAuthorize(journalId, orderAt(costCeiling)) });
    const options = { ...asked({ context, taskQueue, launchLeaseMs: 2_000 }), costCeiling, receipt };
    return rig.client.workflow.start('launchAtOnce', { workflowId, taskQueue: rig.taskQueue, args: [options] });
  };
  const first = await start(5);
  // Nobody took the hand-off of its author, so that its own workflow has it now.
  await eventually(() => runOf(rig.client.workflow.getHandle(jobWorkflowId(orderAt(5).jobId))));
  await rig.worker({ taskQueue, plugin: { launchers: [paidLauncher(provider.url)], reviewers } });
  expect((await first.result()) as LaunchEnd).toMatchObject({ status: 'submission' });
  expect(await failureOf((await start(6)).result())).toMatchObject({ type: 'plan_conflict' });
  expect(provider.requests()).toBe(1);
});

test('a job that waits for its receipt is launched after a stranger took its id', async () => {
  await rig.worker({ plugin: { launchers: [paidLauncher(provider.url)], reviewers } });
  const context = await putContent(rig.contents, { prompt: 'planted-context' });
  const started = await startLaunch(rig, { context });
  expect(await intrude(started, orderOf(started, context))).toEqual(UNHEARD);
  await started.author.signal('authorize', signed(started.launch));
  expect(await started.result()).toMatchObject({ status: 'submission' });
  expect(provider.requests()).toBe(1);
});

test('a launch that is under way comes to its submission after a stranger took its id', async () => {
  provider.mode = 'holds';
  await rig.worker({ plugin: { launchers: [paidLauncher(provider.url)], reviewers } });
  const context = await putContent(rig.contents, { prompt: 'planted-context' });
  const started = await authorizedStart(rig, { context, launchLeaseMs: 60_000 });
  await provider.arrived(1);
  const ends = await intrude(started, orderOf(started, context));
  for (const end of ends) expect(end).toMatchObject({ reason: 'launch_outcome_unknown', launched: 'unknown' });
  provider.release();
  expect(await started.result()).toMatchObject({ status: 'submission' });
  expect(provider.requests()).toBe(1);
});

const UNHEARD = Array(2).fill(expect.objectContaining({ reason: 'authorization_invalid', launched: 'no' }));

function orderOf({ author }: StartedLaunch, context: object): Dict {
  const { costCeiling, provider, model, id, origin = '' } = asked();
  const contextDigest = refDigest(context) ?? '';
  const terms = { provider, model, contentBoundary: 'whole_context', costCeiling, contextDigest } as const;
  return orderToRecord(orderOfCall({ origin, id, workflowId: author.workflowId }, terms));
}

/** With a receipt that is none, at once and as if the launch had been handed off. */
async function intrude({ job, launch }: StartedLaunch, order: Dict): Promise<readonly JobStatus[]> {
  const ends: JobStatus[] = [];
  for (const more of [
    { receipt: 'junk' },
    { receipt: signed(launch, { who: 'nobody' }), handed_off: { launched: 'unknown', ms_ago: 0 } },
  ]) {
    const input = { order, running_deadline_ms: 1, launch_lease_ms: 1, ...more };
    const options = { workflowId: job.workflowId, taskQueue: rig.taskQueue, args: [input] };
    ends.push((await rig.client.workflow.execute('authorizedJob', options)) as JobStatus);
  }
  return ends;
}
