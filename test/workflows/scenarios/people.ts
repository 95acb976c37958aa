/** What people decide about a plan: approvals, rejections, deadlines, resolutions, new lineages; and keys that come and go. */
import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import type { ApprovalRule, CountersignPluginOptions } from '../../../src';
import type { GovernedPlan, PlanHandle, Question } from '../../../src/client';
import { effectRecords } from '../../../src/rules/plans/plan';
import { Refusal } from '../../../src/rules/refusal';
import { storeView, verifyJournal } from '../../../src/verify';
import {
  APPROVER,
  AUDITOR,
  TestReviewers,
  approvalOf,
  personOf,
  rejectionOf,
  resolutionOf,
} from '../../support/reviewers';
import { details, failureOf, memoOf, type Rig, type RigEffect } from '../../support/rig';
import { secondCluster } from './drivers';
import { parkedFor, states, type Scenarios } from './support';

const WANTED = { mode: 'lookup', approval_required: true } as const;

/** A worker that knows the reviewers, and a plan that asks them. */
async function asking(
  rig: Rig,
  rule: ApprovalRule,
  effects: readonly RigEffect[] = [WANTED],
): Promise<{ reviewers: TestReviewers; plan: GovernedPlan; handle: PlanHandle; asked: Question }> {
  const reviewers = new TestReviewers();
  await rig.worker({ plugin: { reviewers, policy: () => rule } });
  const plan = await rig.prepare(effects);
  const handle = await rig.plans.start(plan);
  await rig.until(handle, parkedFor('approval_missing'));
  return { reviewers, plan, handle, asked: await questionOf(handle) };
}

async function questionOf(handle: PlanHandle): Promise<Question> {
  const question = await handle.approvals();
  if (question === null) throw new Error('nothing is asked');
  return question;
}

/** The journal of the rig is good, and every step in it justified. */
async function justified(rig: Rig): Promise<void> {
  const report = await verifyJournal(storeView(rig.journal), { strict: true });
  expect(report.findings).toEqual([]);
  expect(report.justified).toBe(true);
}

async function refusalOf(answer: Promise<unknown>): Promise<string> {
  const fault: unknown = await answer.catch((reason: unknown) => reason);
  return fault instanceof Refusal ? fault.code : String(fault);
}

export const PEOPLE: Scenarios = {
  'two people approve, and the plan is sent once': async (rig) => {
    const { handle, asked } = await asking(rig, { approvals: 2 }, [WANTED, 'blind']);
    expect(await details(handle)).toContain('asked for approval: 2 of any reviewer');
    const ann = approvalOf(asked, 'ann');
    expect(await handle.approve(ann)).toMatchObject({ state: 'parked', asks: { have: ['approve'] } });
    expect(await handle.approve(ann)).toMatchObject({ state: 'parked', asks: { have: ['approve'] } });
    expect(await memoOf(handle)).toMatchObject({ asks: 'approval: 2 of any reviewer; there: approve' });
    expect(rig.sinks.counts()).toMatchObject({ received: 0 });
    await handle.approve(approvalOf(asked, 'bob'));
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
    await justified(rig);
  },

  'one rejection ends the plan, and its author hears whose key it was': async (rig) => {
    const { handle, asked } = await asking(rig, { approvals: 2 });
    await handle.approve(approvalOf(asked, 'ann'));
    await handle.approve(rejectionOf(asked, 'bob'));
    const failure = await failureOf(handle.result());
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ type: 'ApprovalRejected', nonRetryable: true });
    expect((failure as ApplicationFailure).details?.[0]).toMatchObject({
      code: 'rejected',
      key: expect.stringMatching(/^sha256:/) as unknown,
      effects: [{ state: 'not_sent' }],
    });
    expect(rig.sinks.counts()).toMatchObject({ received: 0 });
    await justified(rig);
  },

  'a deadline that denies': async (rig) => {
    const { handle } = await asking(rig, { approvals: 1, deadline: { afterMs: 1_500, then: 'deny' } });
    const failure = (await failureOf(handle.result())) as ApplicationFailure;
    expect(failure).toMatchObject({ type: 'ApprovalRejected' });
    expect(failure.details?.[0]).toMatchObject({ code: 'deadline', key: null });
    await justified(rig);
  },

  'a deadline that escalates to another role': async (rig) => {
    const deadline = { afterMs: 1_500, then: { escalate: AUDITOR } } as const;
    const { handle, asked } = await asking(rig, { approvals: 1, roles: [APPROVER], deadline });
    const token = approvalOf(asked, 'ann', { role: AUDITOR });
    expect(await refusalOf(handle.approve(token))).toBe('receipt_wrong_role');
    await rig.until(handle, (status) => status.asks?.approvals[0]?.roles?.includes(AUDITOR) === true);
    await handle.approve(token);
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    await justified(rig);
  },

  'a deadline without consequence': async (rig) => {
    const { handle, asked } = await asking(rig, { approvals: 1, deadline: { afterMs: 1_000, then: 'none' } });
    const before = (await rig.historyOf(handle)).events.length;
    await expect.poll(async () => (await rig.historyOf(handle)).events.length).toBeGreaterThan(before);
    await rig.until(handle, parkedFor('approval_missing'));
    await handle.approve(approvalOf(asked, 'cleo'));
    expect(await handle.result()).toMatchObject({ status: 'completed' });
  },

  'an answer is not left with a driver that was overtaken by one that is gone': async (rig) => {
    const { reviewers, plan, handle, asked } = await asking(rig, { approvals: 1 });
    const second = await secondCluster(rig, { reviewers, policy: () => ({ approvals: 1 }) });
    const other = await second.plans.start(plan);
    await rig.until(other, parkedFor('approval_missing'));
    await second.worker.stop();
    await handle.approve(approvalOf(asked, 'ann'));
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
    await justified(rig);
  },

  'who asked for the plan does not approve it': async (rig) => {
    await rig.worker({ plugin: { reviewers: new TestReviewers() } });
    const plan = await rig.plans.prepare(rig.draft([WANTED]), { requester: personOf('ann') });
    const handle = await rig.plans.start(plan);
    await rig.until(handle, parkedFor('approval_missing'));
    const asked = await questionOf(handle);
    expect(await refusalOf(handle.approve(approvalOf(asked, 'ann')))).toBe('receipt_requester');
    await handle.approve(approvalOf(asked, 'bob'));
    expect(await handle.result()).toMatchObject({ status: 'completed' });
  },

  'a key that was added since is found by asking again': async (rig) => {
    const { handle, asked, reviewers } = await asking(rig, { approvals: 1 });
    reviewers.add('newcomer', [APPROVER]);
    await handle.approve(approvalOf(asked, 'newcomer'));
    expect(await handle.result()).toMatchObject({ status: 'completed' });
  },

  'keys that cannot be had park the plan; it asks again by itself when a person does': async (rig) => {
    const reviewers = new TestReviewers();
    reviewers.away = true;
    await rig.worker({ plugin: { reviewers } });
    const handle = await rig.start([WANTED]);
    await rig.until(handle, parkedFor('reviewers_unavailable'));
    expect(await handle.approvals()).toBeNull();
    reviewers.away = false;
    await handle.reobserve();
    await handle.approve(approvalOf(await questionOf(handle), 'ann'));
    expect(await handle.result()).toMatchObject({ status: 'completed' });
  },

  'an approval that expired is given anew, in a new lineage that carries what is committed': async (rig) => {
    const reviewers = new TestReviewers();
    await rig.worker({ plugin: { reviewers, policy: () => ({ approvals: 1 }) } });
    const plan = await rig.prepare([WANTED, 'blind', WANTED]);
    rig.sinks.faults.programme([{ fault: 'drop_reply', key: effectRecords(plan)[1]?.idempotencyKey ?? '' }]);
    const handle = await rig.plans.start(plan);
    await rig.until(handle, parkedFor('approval_missing'));
    const iat = Math.floor(Date.now() / 1000);
    await handle.approve(approvalOf(await questionOf(handle), 'ann', { iat, livesS: 4 }));
    await rig.until(handle, parkedFor('ambiguous_effect'));
    const blind = (await handle.status()).effects[1]?.action_id ?? '';
    await new Promise((resolve) => setTimeout(resolve, (iat + 4) * 1_000 - Date.now()));
    const marked = { resolution: 'mark_committed', actionIds: [blind], externalId: 'b-1' } as const;
    await handle.resolve(resolutionOf(await questionOf(handle), 'bob', marked));
    await rig.until(handle, parkedFor('approval_expired'));
    expect((await handle.status()).effects.map(({ state }) => state)).toEqual(['committed', 'committed', 'not_sent']);
    await handle.resolve(resolutionOf(await questionOf(handle), 'bob', { resolution: 'new_lineage' }));
    expect(await handle.status()).toMatchObject({ state: 'parked', reason: 'approval_missing', lineage: 2 });
    await handle.approve(approvalOf(await questionOf(handle), 'cleo'));
    expect(await handle.result()).toMatchObject({ status: 'completed', lineage: 2 });
    expect(rig.sinks.counts()).toMatchObject({ writes: 3 });
    await justified(rig);
  },

  'a person says that it is not there, and it is sent again': async (rig) => {
    await rig.worker({ plugin: { reviewers: new TestReviewers() } });
    rig.sinks.faults.programme([{ fault: 'drop_request' }]);
    const handle = await rig.start(['blind']);
    await rig.until(handle, parkedFor('ambiguous_effect'));
    const { effects } = await handle.status();
    const actionIds = effects.map(({ action_id: id }) => id);
    const asked = await questionOf(handle);
    expect(asked.doubtful).toEqual(actionIds);
    await handle.resolve(resolutionOf(asked, 'ann', { resolution: 'mark_absent', actionIds }));
    const outcome = await handle.result();
    expect(outcome).toMatchObject({ status: 'completed' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 2 });
    await justified(rig);
  },

  'a person ends a plan in doubt': async (rig) => {
    await rig.worker({ plugin: { reviewers: new TestReviewers() } });
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const handle = await rig.start(['blind', 'lookup']);
    await rig.until(handle, parkedFor('ambiguous_effect'));
    const asked = await questionOf(handle);
    const earlier = { ...asked, headDigest: (await handle.lineage()).digests.at(-2) ?? '' };
    const stale = resolutionOf(earlier, 'ann', { resolution: 'abort' });
    expect(await refusalOf(handle.resolve(stale))).toBe('receipt_stale_head');
    await handle.reobserve();
    await handle.resolve(resolutionOf(await questionOf(handle), 'ann', { resolution: 'abort' }));
    const outcome = await handle.result();
    expect([outcome.status, states(outcome)]).toEqual(['cancelled', ['unknown', 'not_sent']]);
    await justified(rig);
  },

  'what was approved before a reset counts after it': async (rig) => {
    const { handle, asked } = await asking(rig, { approvals: 2 });
    await handle.approve(approvalOf(asked, 'ann'));
    await rig.reset(handle);
    const again = rig.plans.getHandle(handle.runId);
    await rig.until(again, (status) => status.state === 'parked' && status.asks?.have.length === 1);
    await again.approve(approvalOf(await questionOf(again), 'bob'));
    expect(await again.result()).toMatchObject({ status: 'completed' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 1 });
    await justified(rig);
  },

  'a worker that knows nobody parks the plan, and says so to who answers': async (rig) => {
    const plugin: Partial<CountersignPluginOptions> = { policy: () => ({ approvals: 1 }) };
    await rig.worker({ plugin });
    const handle = await rig.start(['lookup']);
    await rig.until(handle, parkedFor('approval_missing'));
    const status = await handle.status();
    const asked = { journalId: rig.journalId, runId: handle.runId, lineage: 1, headDigest: status.head?.digest ?? '' };
    const { planDigest } = await rig.prepare(['lookup']);
    expect(await refusalOf(handle.approve(approvalOf({ ...asked, planDigest }, 'ann')))).toBe('receipt_not_wanted');
    await handle.cancel();
  },
};
