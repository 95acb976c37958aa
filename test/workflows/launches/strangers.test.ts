/**
 * Properties of a launch that somebody else asks for, too, on the real server:
 * - an author's id is one launch for ever, whichever workflow launched it: on other terms, with another receipt, it is refused.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { putContent } from '../../../src';
import { Journal } from '../../../src/activities/journal';
import { refDigest } from '../../../src/rules/calls/ref';
import { jobWorkflowId } from '../../../src/rules/launches/job-order';
import { orderOfCall } from '../../../src/rules/launches/launch-call';
import { claimsToAuthorize } from '../../../src/rules/launches/launch-request';
import type { LaunchEnd } from '../../../src/workflow';
import { failureOf, useRig } from '../../support/rig';
import { startPaidProvider, type PaidProvider } from '../../systems/paid-provider';
import { asked, eventually, MODEL, paidLauncher, PROVIDER, reviewers, runOf, signed, WORKFLOWS } from './support';

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
  const orderOf = (costCeiling: number) => {
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
    const { runId, jobId } = orderOf(costCeiling);
    const receipt = signed({ runId, jobId, claims: claimsToAuthorize(journalId, orderOf(costCeiling)) });
    const options = { ...asked({ context, taskQueue, launchLeaseMs: 2_000 }), costCeiling, receipt };
    return rig.client.workflow.start('launchAtOnce', { workflowId, taskQueue: rig.taskQueue, args: [options] });
  };
  const first = await start(5);
  // Nobody took the hand-off of its author, so that its own workflow has it now.
  await eventually(() => runOf(rig.client.workflow.getHandle(jobWorkflowId(orderOf(5).jobId))));
  await rig.worker({ taskQueue, plugin: { launchers: [paidLauncher(provider.url)], reviewers } });
  expect((await first.result()) as LaunchEnd).toMatchObject({ status: 'submission' });
  expect(await failureOf((await start(6)).result())).toMatchObject({ type: 'plan_conflict' });
  expect(provider.requests()).toBe(1);
});
