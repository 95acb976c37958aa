/**
 * Properties of calls that people are asked about, on a real server:
 * - with a quorum of 2, the same person twice is refused, and the second person releases exactly that call and not its sibling;
 * - the person who asked for the session is refused;
 * - a question is open, and is answered, without any worker of its tool; the call is dispatched only then;
 * - a word is taken before the very end of its question and not at it, by the clock of whoever takes it; when it was taken stands in the log;
 * - a rejected call is an error that the model is told, and is never done; so is one that nobody answered in time;
 * - silence escalates to others, whose answer counts, and is consent only where a rule says so;
 * - what a policy denies is never asked about and never done; a missing argument denies.
 * After each, the log is one that the rules accept.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import { PlanClient, type PlanHandle, type ToolSessionStatus } from '../../src/client';
import type { PolicyRule } from '../../src/rules/invocations/policy';
import { APPROVER, AUDITOR, TestReviewers, approvalOf, personOf, rejectionOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { SessionRig, auditedLog, call, eventsUntil, typesOf, uniqueTool, until } from './support';

const rig = useRig();

function payments(done: unknown[]): ToolHandler & { readonly capacity: 'native' } {
  const handler = defineTool({
    tool: uniqueTool('pay'),
    version: '1.0.0',
    inputSchema: z.object({ amount: z.number().int(), to: z.string().optional() }),
    run: ({ amount }) => {
      done.push(amount);
      return Promise.resolve({ paid: amount });
    },
  });
  return { ...(handler as ToolHandler), capacity: 'native' };
}

interface Scene {
  readonly play: SessionRig;
  readonly tool: ToolHandler;
  readonly done: unknown[];
  readonly asked: ModelRequest[];
}

function scene(amounts: readonly unknown[], rule: Partial<PolicyRule>, now: () => number = Date.now): Scene {
  const done: unknown[] = [];
  const asked: ModelRequest[] = [];
  const tool = payments(done);
  const policy: PolicyRule = { name: 'people-pay', scope: 'agent', decision: 'require_approval', ...rule };
  const reviewers = new TestReviewers();
  const play = new SessionRig(rig, {
    script: [{ toolCalls: amounts.map((args) => call(tool.tool, args)) }, { text: 'done' }],
    tools: [tool],
    plugin: { toolPolicies: [policy], reviewers, now },
    toolWorker: { reviewers },
    onRequest: (request) => void asked.push(request),
  });
  return { play, tool, done, asked };
}

/** The plan of the n-th call, where people answer. */
function reviewOf(status: ToolSessionStatus, index: number): PlanHandle {
  const { client, contents, taskQueue } = rig;
  return new PlanClient({ client, contents, taskQueue }).getHandle(status.calls[index]?.run_id ?? '');
}

const isAsked = ({ status }: ToolSessionStatus): boolean => status === 'awaiting_approval';

async function question(handle: PlanHandle) {
  await rig.until(handle, ({ state }) => state === 'parked');
  return (await handle.approvals())!;
}

test('a quorum of two releases its call and no other', async () => {
  const { play, done, asked } = scene([{ amount: 1 }, { amount: 2 }], { approvals: 2 });
  await play.worker();
  const session = await play.start({ message: 'please', kind: 'child' });
  const status = await until(session, isAsked);
  const [first, second] = [reviewOf(status, 0), reviewOf(status, 1)];
  const about = await question(first);
  const ann = approvalOf(about, 'ann');
  await first.approve(ann);
  // The same word again is the same word; another one of the same person is refused at every door.
  await expect(first.approve(ann)).resolves.toMatchObject({ state: 'parked' });
  await expect(first.approve(approvalOf(about, 'ann'))).rejects.toMatchObject({ code: 'receipt_voted' });
  const update = { args: [approvalOf(about, 'ann')] as [string] };
  await expect(first.workflow.executeUpdate('approve', update)).rejects.toMatchObject({
    cause: { type: 'receipt_voted', message: expect.stringContaining('has approved this already') as string },
  });
  // No worker of the tool has been there so far.
  await play.toolWorker();
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(done).toEqual([]);
  await first.approve(approvalOf(about, 'bob'));
  await expect.poll(() => done, { timeout: 20_000 }).toEqual([1]);
  const after = await until(session, ({ calls }) => calls[0]?.status === 'succeeded');
  expect(after.calls.map(({ status }) => status)).toEqual(['succeeded', 'awaiting_approval']);
  await second.approve(rejectionOf(await question(second), 'ann'));
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([1]);
  expect(asked.at(-1)?.messages.at(-1)).toMatchObject({
    results: [
      { ok: true, value: { paid: 1 } },
      { ok: false, value: { code: 'approval:denied' } },
    ],
  });
  const { view } = await auditedLog(rig, session.session);
  expect([...view.approvals.values()].map(({ status, votes }) => [status, votes.length])).toEqual([
    ['approved', 2],
    ['denied', 1],
  ]);
});

test('who asks for a session has no say in its calls', async () => {
  const { play, done } = scene([{ amount: 1 }], {});
  await Promise.all([play.worker(), play.toolWorker()]);
  await expect(play.start({ requester: 'ann' })).rejects.toMatchObject({ code: 'invalid_arguments' });
  const session = await play.start({ message: 'please', kind: 'child', requester: personOf('ann') });
  const review = reviewOf(await until(session, isAsked), 0);
  const about = await question(review);
  await expect(review.approve(approvalOf(about, 'ann'))).rejects.toMatchObject({ code: 'receipt_requester' });
  expect(done).toEqual([]);
  await review.approve(approvalOf(about, 'bob'));
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([1]);
  const { view } = await auditedLog(rig, session.session);
  expect([...view.approvals.values()].map(({ status, votes }) => [status, votes.length])).toEqual([['approved', 1]]);
});

test('nobody answers in time', async () => {
  const { play, done, asked } = scene([{ amount: 1 }], { expiryMs: 1_500 });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([]);
  expect(asked.at(-1)?.messages.at(-1)).toMatchObject({
    results: [{ ok: false, value: { code: 'approval:expired' } }],
  });
  const events = await eventsUntil(session, 'session.completed');
  expect(typesOf(events).filter((type) => type.startsWith('approval'))).toEqual([
    'approval.required',
    'approval.expired',
  ]);
  await auditedLog(rig, session.session);
});

test.each([
  [-1, null],
  [0, 'receipt_late'],
  [1, 'receipt_late'],
])('the clock of whoever takes the word stands %i ms after the end of its question: %s', async (ms, code) => {
  let clock: () => number = Date.now;
  const { play, done } = scene([{ amount: 1 }], { expiryMs: 3_600_000 }, () => clock());
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  const review = reviewOf(await until(session, isAsked), 0);
  const about = await question(review);
  const { expiresAt = 0 } = about.rules[0] ?? {};
  const word = approvalOf(about, 'ann', { livesS: 7_200 });
  clock = () => expiresAt + ms;
  if (code === null) await review.approve(word);
  else {
    await expect(review.approve(word)).rejects.toMatchObject({ code });
    // By the clock of the server there is time enough: who has been refused is asked again.
    clock = Date.now;
    await review.approve(approvalOf(await question(review), 'ann'));
  }
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([1]);
  const { view } = await auditedLog(rig, session.session);
  expect([...view.approvals.values()].map((one) => [one.status, one.votes.length, one.expiresAt])).toEqual([
    ['approved', 1, expiresAt],
  ]);
  const votes = (await eventsUntil(session, 'session.completed')).filter(({ type }) => type === 'approval.vote');
  if (code === null) expect(votes.map(({ at }) => at)).toEqual([expiresAt + ms]);
});

test('silence asks others, and then is consent', async () => {
  const { play, done } = scene([{ amount: 1 }, { amount: 2 }], {
    conditions: { field: 'amount', op: 'eq', value: 1 },
    route: APPROVER,
    expiryMs: 6_000,
    onTimeout: { escalate: [AUDITOR] },
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  const status = await until(session, ({ calls }) => calls[1]?.status === 'succeeded');
  expect(done).toEqual([2]);
  await eventsUntil(session, 'approval.escalated');
  const review = reviewOf(status, 0);
  await expect
    .poll(async () => (await review.approvals())?.rules.map(({ roles }) => roles), { timeout: 20_000 })
    .toEqual([[AUDITOR]]);
  const about = (await review.approvals())!;
  await expect(review.approve(approvalOf(about, 'bob'))).rejects.toMatchObject({ code: 'receipt_wrong_role' });
  await review.approve(approvalOf(about, 'ann', { role: AUDITOR }));
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([2, 1]);
  const { view } = await auditedLog(rig, session.session);
  expect([...view.approvals.values()].map(({ status }) => status)).toEqual(['escalated', 'approved']);
});

test('silence is consent where a rule says so', async () => {
  const { play, done } = scene([{ amount: 1 }], { expiryMs: 1_000, onTimeout: 'allow' });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([1]);
  await auditedLog(rig, session.session);
});

test('what a policy denies is not done, and a missing argument denies', async () => {
  const { play, done, asked } = scene([{ amount: 1, to: 'me' }, { amount: 2, to: 'you' }, { amount: 3 }], {
    decision: 'deny',
    conditions: { field: 'to', op: 'eq', value: 'me' },
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([2]);
  expect(asked.at(-1)?.messages.at(-1)).toMatchObject({
    results: [{ ok: false, value: { code: 'policy:denied' } }, { ok: true }, { value: { code: 'policy:denied' } }],
  });
  await auditedLog(rig, session.session);
});
