/**
 * Properties of calls that stand still because nobody takes them, on a real server, where a policy asks people about that:
 * - a call of a tool without any worker is asked about as `dispatch:no_handler`, one whose workers stay busy as
 *   `dispatch:capacity_exhausted`, in a queue and on Temporal's own task queue, and one that finds the queue full at once; the question
 *   goes on the route that the policy names;
 * - approved, it is dispatched once more, and done once; rejected, it is never done, and the model is told; a policy about another code
 *   asks nobody, and the call fails with its code;
 * - limits: a session that has reached its tokens, rounds or wall clock fails with that word, after what is under way; time for which a
 *   person was waited for does not count.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { PlanHandle, SessionHandle } from '../../src/client';
import type { PolicyRule } from '../../src/rules/invocations/policy';
import { APPROVER, AUDITOR, TestReviewers, approvalOf, rejectionOf } from '../support/reviewers';
import { failureOf, useRig } from '../support/rig';
import { SessionRig, auditedLog, call, eventsUntil, uniqueTool, until } from './support';

const rig = useRig();

/** A tool whose calls, or only those that `holds` says, go on until they are let. */
function slowTool(capacity: 'queue' | 'native', queueWaitMs: number, holds: (n: number) => boolean = (n) => n === 0) {
  const done: number[] = [];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const handler = defineTool({
    ...{ tool: uniqueTool('slow'), maxConcurrency: 1, deadlineMs: 30_000, settleMs: 200 },
    inputSchema: z.object({ n: z.int() }),
    run: async ({ n }) => {
      done.push(n);
      if (holds(n)) await released;
      return { did: n };
    },
  }) as ToolHandler;
  return { done, release: () => release(), tool: { ...handler, capacity, queueWaitMs } };
}

const stuckAt = (code: string): PolicyRule => ({
  ...{ name: 'stuck', scope: 'agent', decision: 'escalate', route: AUDITOR },
  conditions: { field: 'dispatch.trigger', op: 'eq', value: code },
});

function rigOf(
  tool: ToolHandler & { readonly queueBound?: number },
  script: ConstructorParameters<typeof SessionRig>[1]['script'],
  policy: PolicyRule | null,
  asked: ModelRequest[] = [],
): SessionRig {
  const reviewers = new TestReviewers();
  return new SessionRig(rig, {
    ...{ script, tools: [tool], toolWorker: { reviewers } },
    plugin: { reviewers, ...(policy === null ? {} : { toolPolicies: [policy] }) },
    onRequest: (request) => void asked.push(request),
  });
}

/** Where people answer about a call, once they are asked. */
async function question(session: SessionHandle, index: number) {
  const { calls } = await until(session, (status) => status.calls[index]?.status === 'awaiting_approval');
  const handle: PlanHandle = rig.plans.getHandle(calls[index]?.run_id ?? '');
  await rig.until(handle, ({ state }) => state === 'parked');
  return { handle, about: (await handle.approvals())! };
}

const BUSY = 'dispatch:capacity_exhausted';

test.each([
  ['queue', 'dispatch:no_handler', false],
  ['queue', BUSY, true],
  ['native', BUSY, true],
] as const)('people are asked about a call that nobody takes: %s, %s', async (capacity, code, busy) => {
  const { tool, done, release } = slowTool(capacity, 1_000, () => true);
  const asked: ModelRequest[] = [];
  const calls = [0, 1, 2].map((n) => call(tool.tool, { n }));
  const play = rigOf(tool, [{ toolCalls: calls }, { text: 'done' }], stuckAt(code), asked);
  await play.worker();
  if (busy) await play.toolWorker();
  const session = await play.start({ message: 'please', kind: 'child' });
  const isStuck = ({ status }: { readonly status: string }): boolean => status === 'awaiting_approval';
  const wanted = busy ? 2 : 3;
  const { calls: seen } = await until(session, (status) => status.calls.filter(isStuck).length === wanted);
  const stuck = seen.flatMap((one, index) => (isStuck(one) ? [index] : []));
  const before = [...done];
  expect(before).toHaveLength(3 - wanted);
  if (!busy) await play.toolWorker();
  release();
  if (busy) await until(session, (status) => status.calls.some((one) => one.status === 'succeeded'));
  const [rejected, ...approved] = stuck as [number, ...number[]];
  for (const index of approved) {
    const { handle, about } = await question(session, index);
    expect(about.rules).toMatchObject([{ roles: [AUDITOR] }]);
    await expect(handle.approve(approvalOf(about, 'ann', { role: APPROVER }))).rejects.toMatchObject({
      code: 'receipt_wrong_role',
    });
    await handle.approve(approvalOf(about, 'ann', { role: AUDITOR }));
  }
  const { handle, about } = await question(session, rejected);
  await handle.approve(rejectionOf(about, 'ann', { role: AUDITOR }));
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect([...done].sort()).toEqual([0, 1, 2].filter((index) => index !== rejected));
  expect(done.slice(0, before.length)).toEqual(before);
  expect(asked.at(-1)?.messages.at(-1)).toMatchObject({
    results: calls.map((_call, index) =>
      index === rejected ? { ok: false, value: { code: 'approval:denied' } } : { ok: true },
    ),
  });
  const { view } = await auditedLog(rig, session.session);
  expect(new Set([...view.approvals.values()].map(({ reason, route }) => `${reason} ${route}`))).toEqual(
    new Set([`${code} ${AUDITOR}`]),
  );
  expect([...view.calls.values()].map(({ attempt }) => attempt)).toEqual(
    calls.map((_call, index) => (index === rejected ? 0 : 1)),
  );
});

test.each([
  ['dispatch:no_handler', false],
  [BUSY, true],
] as const)('people are asked at once about a call that finds the queue full: %s', async (code, busy) => {
  const { tool, done, release } = slowTool('queue', 60_000, () => true);
  const calls = [0, 1, 2].slice(busy ? 0 : 1).map((n) => call(tool.tool, { n }));
  const play = rigOf({ ...tool, queueBound: 1 }, [{ toolCalls: calls }, { text: 'done' }], stuckAt(code));
  await play.worker();
  if (busy) await play.toolWorker();
  const session = await play.start({ message: 'please', kind: 'child' });
  const last = calls.length - 1;
  const { handle, about } = await question(session, last);
  const status = await session.status();
  expect(status.calls.slice(0, last).map((one) => one.status)).toEqual(calls.slice(1).map(() => 'queued'));
  if (!busy) await play.toolWorker();
  release();
  await until(session, (now) => now.calls.slice(0, last).every((one) => one.status === 'succeeded'));
  await handle.approve(approvalOf(about, 'ann', { role: AUDITOR }));
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual(busy ? [0, 1, 2] : [1, 2]);
  const { view } = await auditedLog(rig, session.session);
  expect([...view.approvals.values()].map(({ reason }) => reason)).toEqual([code]);
});

test('a policy about another code asks nobody', async () => {
  const { tool, done } = slowTool('queue', 500);
  const asked: ModelRequest[] = [];
  const script = [{ toolCalls: [call(tool.tool, { n: 1 })] }, { text: 'so be it' }];
  const play = rigOf(tool, script, stuckAt(BUSY), asked);
  await play.worker();
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(asked.at(-1)?.messages.at(-1)).toMatchObject({
    results: [{ ok: false, value: { code: 'dispatch:no_handler' } }],
  });
  expect(done).toEqual([]);
});

test.each([
  ['tokens', { tokens: 150 }, 2],
  ['rounds', { rounds: 3 }, 3],
] as const)('a session ends at its limit: %s', async (limit, limits, rounds) => {
  const { tool, done } = slowTool('native', 20_000);
  const usage = { input: 90, output: 10 };
  const script = [1, 2, 3, 4].map((n) => ({ usage, toolCalls: [call(tool.tool, { n })] }));
  const play = rigOf(tool, script, null);
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child', limits });
  const failure = await failureOf(session.result());
  expect(failure).toMatchObject({ type: 'SessionFailed', message: expect.stringContaining(`limit:${limit}`) });
  // What the last allowed answer asked for is done; nothing is asked after it.
  expect(done).toEqual(Array.from({ length: rounds }, (_none, index) => index + 1));
  const { view } = await auditedLog(rig, session.session);
  expect(view).toMatchObject({ status: 'failed', ended: { code: `limit:${limit}` } });
});

test('a wall clock stands still for people, and ends the session for nobody else', async () => {
  const { tool, done, release } = slowTool('native', 20_000);
  const policy: PolicyRule = {
    ...{ name: 'ones', scope: 'agent', decision: 'require_approval' },
    conditions: { field: 'n', op: 'eq', value: 1 },
  };
  const script = [
    { toolCalls: [call(tool.tool, { n: 1 })] },
    { toolCalls: [call(tool.tool, { n: 0 })] },
    { text: 'done' },
  ];
  const play = rigOf(tool, script, policy);
  await Promise.all([play.worker(), play.toolWorker()]);
  const wallClockMs = 6_000;
  const session = await play.start({ message: 'please', kind: 'child', limits: { wallClockMs } });
  const { handle, about } = await question(session, 0);
  // The clock that must not run is the server's, so this time has to pass.
  await new Promise((resolve) => setTimeout(resolve, wallClockMs + 500));
  await handle.approve(approvalOf(about, 'ann'));
  await expect.poll(() => done, { timeout: 20_000 }).toEqual([1, 0]);
  const events = eventsUntil(session, 'session.failed');
  await until(session, ({ failure }) => failure === 'limit:wall_clock', 30_000);
  release();
  expect(await failureOf(session.result())).toMatchObject({ type: 'SessionFailed' });
  await events;
  const { view } = await auditedLog(rig, session.session);
  expect([...view.calls.values()].map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  expect(view.waitedMs).toBeGreaterThan(wallClockMs);
});
