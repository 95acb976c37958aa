/**
 * Properties of sessions at their limits, and of what is counted of their calls, on a real server:
 * - at a limit a session fails, unless a policy asks people; meanwhile it waits, without a request to the model, and no time passes;
 * - each time that they approve, it has as much again; when they reject, or say nothing in time, it fails;
 * - the wall clock asks in the middle of a round: calls under way go on, and the answer of the model waits for that of people;
 * - nothing is ever sent for the question, and its plan is over when it is answered;
 * - every execution of a call is counted, with its ground: one that is safe goes on as it is, any other is in doubt in between;
 * - who says what becomes of a call in doubt is whom a policy names for that;
 * - a class is narrowed by a binding, so that what was safe is not sent again; a binding that would widen it is refused before the model
 *   is asked; a worker that knows the tool otherwise than the session does not get the call.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src';
import { ToolOutcomeUnknown, defineTool, type ToolHandler } from '../../src/adapters/tools';
import { PlanClient, type PlanHandle, type SessionStart, type ToolSessionStatus } from '../../src/client';
import { Journal } from '../../src/activities/journal';
import type { PolicyRule } from '../../src/rules/invocations/policy';
import { limitRunId } from '../../src/rules/invocations/names';
import type { SideEffectClass } from '../../src/ports';
import { APPROVER, AUDITOR, TestReviewers, approvalOf, rejectionOf, resolutionOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { SessionRig, auditedLog, call, eventsUntil, typesOf, uniqueTool, until } from './support';

const rig = useRig();
const ASK: PolicyRule = { name: 'more', scope: 'agent', decision: 'escalate', route: APPROVER };

interface Scene {
  readonly play: SessionRig;
  readonly tool: ToolHandler;
  readonly begun: number[];
  readonly asked: ModelRequest[];
}

interface Options {
  readonly rounds: number;
  readonly rules?: readonly PolicyRule[];
  readonly sideEffect?: SideEffectClass;
  readonly run?: (n: number, times: number) => Promise<unknown>;
}

function scene({
  rounds,
  rules = [],
  sideEffect = 'idempotent_write',
  run = (n) => Promise.resolve({ n }),
}: Options): Scene {
  const begun: number[] = [];
  const asked: ModelRequest[] = [];
  const tool = defineTool({
    tool: uniqueTool('step'),
    sideEffect,
    deadlineMs: 10_000,
    settleMs: 100,
    inputSchema: z.object({ n: z.number().int() }),
    run: ({ n }) => run(n, begun.push(n)),
  }) as ToolHandler;
  const reviewers = new TestReviewers();
  const play = new SessionRig(rig, {
    script: [...Array.from({ length: rounds }, (_, n) => ({ toolCalls: [call(tool.tool, { n })] })), { text: 'done' }],
    tools: [tool],
    plugin: { toolPolicies: rules, reviewers },
    toolWorker: { reviewers },
    onRequest: (request) => void asked.push(request),
  });
  return { play, tool, begun, asked };
}

function planOf(runId: string): PlanHandle {
  const { client, contents, taskQueue } = rig;
  return new PlanClient({ client, contents, taskQueue }).getHandle(runId);
}

async function parked(plan: PlanHandle) {
  await rig.until(plan, ({ state }) => state === 'parked');
  return (await plan.approvals())!;
}

const waits = ({ status }: ToolSessionStatus): boolean => status === 'awaiting_approval';

test('people let it go on, once, and then no more', { timeout: 60_000 }, async () => {
  const { play, asked } = scene({ rounds: 4, rules: [ASK] });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child', limits: { rounds: 2 } });
  await until(session, waits);
  expect(asked).toHaveLength(2);
  const first = planOf(limitRunId(session.session, 'rounds', 1));
  await first.approve(approvalOf(await parked(first), 'ann'));
  await until(session, (status) => waits(status) && status.round === 4);
  const second = planOf(limitRunId(session.session, 'rounds', 2));
  await second.approve(rejectionOf(await parked(second), 'bob'));
  await expect(session.result()).rejects.toMatchObject({ cause: { type: 'SessionFailed' } });
  expect(asked).toHaveLength(4);
  const { view } = await auditedLog(rig, session.session);
  expect(view.ended).toMatchObject({ status: 'failed', code: 'limit:rounds' });
  expect([...view.approvals.values()].map(({ status, limit }) => [status, limit])).toEqual([
    ['approved', 'rounds'],
    ['denied', 'rounds'],
  ]);
  for (const question of [1, 2]) {
    const chain = await new Journal(rig.journal).chain(limitRunId(session.session, 'rounds', question), 1);
    expect(chain.at(-1)?.phase).toBe('aborted');
  }
});

test.each([
  ['nobody is asked', [], ['session.failed']],
  ['nobody answers', [{ ...ASK, expiryMs: 1_000 }], ['approval.required', 'approval.expired', 'session.failed']],
] as const)('it fails where %s', async (_what, rules, ends) => {
  const { play } = scene({ rounds: 2, rules });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child', limits: { tokens: 1 } });
  await expect(session.result()).rejects.toMatchObject({ cause: { type: 'SessionFailed' } });
  const events = typesOf(await eventsUntil(session, 'session.failed'));
  expect(events.slice(-ends.length)).toEqual(ends);
  await auditedLog(rig, session.session);
});

test('the wall clock asks in the middle of a round', { timeout: 60_000 }, async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const { play, begun, asked } = scene({
    rounds: 1,
    rules: [ASK],
    run: async (n) => {
      await released;
      return { n };
    },
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child', limits: { wallClockMs: 3_000 } });
  await until(session, waits);
  expect(begun).toEqual([0]);
  release();
  await until(session, ({ calls }) => calls.length === 0 || calls.every(({ status }) => status === 'succeeded'));
  expect(asked).toHaveLength(1);
  const plan = planOf(limitRunId(session.session, 'wall_clock', 1));
  await plan.approve(approvalOf(await parked(plan), 'ann'));
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(asked).toHaveLength(2);
  const { view } = await auditedLog(rig, session.session);
  expect(view.waitedMs).toBeGreaterThan(0);
});

test('cancelled while people are asked', async () => {
  const { play, asked } = scene({ rounds: 2, rules: [ASK] });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child', limits: { rounds: 1 } });
  await until(session, waits);
  expect(await session.cancel()).toMatchObject({ status: 'cancelled' });
  expect(asked).toHaveLength(1);
  await auditedLog(rig, session.session);
});

const LOST = (_n: number, times: number): Promise<unknown> =>
  times === 1 ? Promise.reject(new ToolOutcomeUnknown()) : Promise.resolve({ times });

test('a safe call that is executed twice is counted twice', { timeout: 60_000 }, async () => {
  const { play, begun } = scene({ rounds: 1, run: LOST });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  await session.result();
  expect(begun).toEqual([0, 0]);
  const { view } = await auditedLog(rig, session.session);
  expect([...view.calls.values()]).toMatchObject([{ status: 'succeeded', attempt: 2 }]);
  const grounds = (await eventsUntil(session, 'session.completed')).filter(({ type }) => type === 'tool.dispatched');
  expect(grounds.map(({ body }) => [body['attempt'], body['ground']])).toEqual([
    [1, 'first'],
    [2, 'resend_safe'],
  ]);
});

/** Ann alone audits, and the policy names auditors for calls in doubt. */
test.each(['non_idempotent_write', undefined] as const)(
  'a person sends it again, a class that is narrowed: %s',
  { timeout: 60_000 },
  async (narrowed) => {
    const rules: PolicyRule[] = [{ name: 'doubt', scope: 'agent', decision: 'escalate', route: AUDITOR }];
    const own = narrowed === undefined ? 'non_idempotent_write' : 'idempotent_write';
    const { play, tool, begun } = scene({ rounds: 1, rules, sideEffect: own, run: LOST });
    await Promise.all([play.worker(), play.toolWorker()]);
    const bound = { tool: tool.tool, ...(narrowed === undefined ? {} : { sideEffect: narrowed }) };
    const session = await play.start({ message: 'please', kind: 'child', tools: [bound] });
    const inDoubt = ({ calls }: ToolSessionStatus): boolean => calls[0]?.status === 'indeterminate';
    const { calls } = await until(session, (status) => inDoubt(status) && status.calls[0]?.review !== null);
    expect(begun).toEqual([0]);
    const plan = planOf(calls[0]?.run_id ?? '');
    const about = await parked(plan);
    const word = { resolution: 'mark_absent', actionIds: about.doubtful } as const;
    await expect(plan.resolve(resolutionOf(about, 'bob', word))).rejects.toMatchObject({ code: 'receipt_wrong_role' });
    await plan.resolve(resolutionOf(about, 'ann', { ...word, role: AUDITOR }));
    expect(await session.result()).toMatchObject({ status: 'completed' });
    expect(begun).toEqual([0, 0]);
    const { view } = await auditedLog(rig, session.session);
    expect([...view.calls.values()]).toMatchObject([
      { status: 'succeeded', attempt: 2, sideEffect: 'non_idempotent_write' },
    ]);
    const dispatched = (await eventsUntil(session, 'session.completed')).filter(
      ({ type }) => type === 'tool.dispatched',
    );
    expect(dispatched.map(({ body }) => body['ground'])).toEqual(['first', 'redispatch']);
  },
);

test('a class is not widened', async () => {
  const { play, tool, asked } = scene({ rounds: 1, sideEffect: 'irreversible_action' });
  await play.worker();
  const tools: SessionStart['tools'] = [{ tool: tool.tool, sideEffect: 'read_only' }];
  const session = await play.start({ message: 'please', kind: 'child', tools });
  await expect(session.result()).rejects.toMatchObject({ cause: { type: 'invalid_arguments' } });
  expect(asked).toEqual([]);
});

test('a worker that knows the tool otherwise does not get the call', { timeout: 60_000 }, async () => {
  const { play, tool, begun } = scene({ rounds: 1, sideEffect: 'non_idempotent_write' });
  const other: ToolHandler = { ...tool, sideEffect: 'idempotent_write' };
  Object.assign(play.play.tools[0] ?? {}, { queueWaitMs: 1_500 });
  await Promise.all([play.worker(), play.toolWorker([other])]);
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(begun).toEqual([]);
  const { view } = await auditedLog(rig, session.session);
  expect([...view.calls.values()]).toMatchObject([{ status: 'failed', errorCode: 'dispatch:capacity_exhausted' }]);
});
