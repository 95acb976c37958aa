/**
 * Properties of sessions that an operator resets (`temporal workflow reset`), on a real server:
 * - reset to any of its workflow tasks, a session comes to the same end: each call was done once, the model is asked for nothing again that
 *   it has answered, and the log is one that the rules accept and the journal verifies with;
 * - reset while a question is open, it waits for the same answer, until the same moment;
 * - reset while a call is in doubt, it takes the person's word;
 * - reset to its beginning and cancelled there, it ends the calls that only the run before it knew of: none is begun later.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src';
import { ToolOutcomeUnknown, defineTool, type ToolHandler } from '../../src/adapters/tools';
import { PlanClient, type PlanHandle, type SessionHandle, type ToolSessionStatus } from '../../src/client';
import type { PolicyRule } from '../../src/rules/invocations/policy';
import { TestReviewers, approvalOf, resolutionOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { SessionRig, auditedLog, call, uniqueTool, until } from './support';

const rig = useRig();
const inputSchema = z.object({ n: z.number().int() });

interface Scene {
  readonly play: SessionRig;
  readonly done: number[];
  readonly asked: ModelRequest[];
}

function scene(
  rounds: readonly (readonly [tool: 'queued' | 'direct', n: number])[][],
  rules: readonly PolicyRule[],
): Scene {
  const done: number[] = [];
  const asked: ModelRequest[] = [];
  const handler = (name: string): ToolHandler =>
    defineTool({
      tool: uniqueTool(name),
      inputSchema,
      deadlineMs: 1_000,
      settleMs: 100,
      run: ({ n }) => {
        done.push(n);
        return n < 0 ? Promise.reject(new ToolOutcomeUnknown()) : Promise.resolve({ did: n });
      },
    }) as ToolHandler;
  const [queued, direct] = [handler('queued'), handler('direct')];
  const reviewers = new TestReviewers();
  const play = new SessionRig(rig, {
    script: [
      ...rounds.map((calls) => ({
        toolCalls: calls.map(([tool, n]) => call(tool === 'queued' ? queued.tool : direct.tool, { n })),
      })),
      { text: 'done' },
    ],
    tools: [
      { ...queued, capacity: 'queue', queueWaitMs: 60_000 },
      { ...direct, capacity: 'native', queueWaitMs: 60_000 },
    ],
    handlers: [queued, direct],
    plugin: { toolPolicies: rules, reviewers },
    toolWorker: { reviewers },
    onRequest: (request) => void asked.push(request),
  });
  return { play, done, asked };
}

const ASKED: PolicyRule = {
  name: 'over-ten',
  scope: 'agent',
  decision: 'require_approval',
  conditions: { field: 'n', op: 'gt', value: 10 },
  expiryMs: 60_000,
};

function planOf({ calls }: ToolSessionStatus, index = 0): PlanHandle {
  const { client, contents, taskQueue } = rig;
  return new PlanClient({ client, contents, taskQueue }).getHandle(calls[index]?.run_id ?? '');
}

async function parked(plan: PlanHandle) {
  await rig.until(plan, ({ state }) => state === 'parked');
  return (await plan.approvals())!;
}

/** The ends of the workflow tasks of a run, to each of which it can be reset. */
async function tasksOf({ workflowId }: SessionHandle, runId: string): Promise<readonly number[]> {
  const { events } = await rig.client.workflow.getHandle(workflowId, runId).fetchHistory();
  return (events ?? []).flatMap(({ eventId, workflowTaskCompletedEventAttributes: completed }) =>
    completed == null ? [] : [Number(eventId)],
  );
}

async function reset({ workflowId }: SessionHandle, runId: string, task: number): Promise<void> {
  const answer = await rig.client.workflowService.resetWorkflowExecution({
    namespace: rig.temporal.namespace,
    workflowExecution: { workflowId, runId },
    workflowTaskFinishEventId: task as never, // declared Long, a number does
    requestId: `${runId}-${task}`,
    reason: 'a test',
  });
  rig.track({ client: rig.client, workflowId, runId: answer.runId ?? '' });
}

const runIdOf = async ({ workflow }: SessionHandle): Promise<string> => (await workflow.describe()).runId;

test('comes to the same end from everywhere', { timeout: 240_000 }, async () => {
  const { play, done, asked } = scene(
    [
      [
        ['queued', 1],
        ['direct', 2],
        ['queued', 11],
      ],
      [['direct', 3]],
    ],
    [ASKED],
  );
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  const plan = planOf(await until(session, ({ status }) => status === 'awaiting_approval'), 2);
  await plan.approve(approvalOf(await parked(plan), 'ann'));
  await session.result();
  const [first, rounds] = [await runIdOf(session), asked.length];
  for (const task of await tasksOf(session, first)) {
    await reset(session, first, task);
    expect(await session.result()).toMatchObject({ status: 'completed' });
    const { view } = await auditedLog(rig, session.session);
    expect([...view.calls.values()].map(({ status, attempt }) => [status, attempt])).toEqual(
      Array(4).fill(['succeeded', 1]),
    );
  }
  expect([...done].sort((a, b) => a - b)).toEqual([1, 2, 3, 11]);
  expect(asked).toHaveLength(rounds);
});

test('waits for the same answer', { timeout: 120_000 }, async () => {
  const { play, done } = scene([[['direct', 11]]], [ASKED]);
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  const plan = planOf(await until(session, ({ status }) => status === 'awaiting_approval'));
  const about = await parked(plan);
  const first = await runIdOf(session);
  for (const task of await tasksOf(session, first)) {
    await reset(session, first, task);
    await until(session, ({ status }) => status === 'awaiting_approval');
  }
  const { view: open } = await auditedLog(rig, session.session);
  expect([...open.approvals.values()].map(({ status }) => status)).toEqual(['pending']);
  const expiresAt = [...open.approvals.values()][0]?.expiresAt;
  await plan.approve(approvalOf(about, 'ann'));
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([11]);
  const { view } = await auditedLog(rig, session.session);
  expect([...view.approvals.values()].map((one) => [one.status, one.expiresAt])).toEqual([['approved', expiresAt]]);
});

test('takes a person’s word', { timeout: 120_000 }, async () => {
  const { play, done } = scene(
    [
      [
        ['queued', -1],
        ['direct', -2],
      ],
    ],
    [],
  );
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  const inDoubt = ({ calls }: ToolSessionStatus): boolean =>
    calls.length === 2 && calls.every(({ status, review }) => status === 'indeterminate' && review !== null);
  const status = await until(session, inDoubt);
  const plans = [planOf(status, 0), planOf(status, 1)];
  for (const plan of plans) await parked(plan);
  const first = await runIdOf(session);
  const tasks = await tasksOf(session, first);
  for (const task of [tasks[0] ?? 3, tasks.at(-2) ?? 3]) {
    await reset(session, first, task);
    await until(session, inDoubt);
  }
  for (const plan of plans) {
    const about = await parked(plan);
    const { doubtful: actionIds } = about;
    await plan.resolve(resolutionOf(about, 'ann', { resolution: 'mark_committed', actionIds }));
  }
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect([...done].sort()).toEqual([-1, -2]);
  const { view } = await auditedLog(rig, session.session);
  expect([...view.calls.values()].map(({ status: end }) => end)).toEqual(['succeeded', 'succeeded']);
});

test('ends what only the run before it knew of', { timeout: 120_000 }, async () => {
  const { play, done } = scene(
    [
      [['direct', 1]],
      [
        ['queued', 2],
        ['direct', 3],
      ],
    ],
    [],
  );
  const [, tools] = await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please' });
  await until(session, ({ round, calls }) => round === 2 || calls.some(({ status }) => status === 'dispatched'));
  tools.shutdown();
  const first = await runIdOf(session);
  const [begin = 3] = await tasksOf(session, first);
  await reset(session, first, begin);
  expect(await session.cancel()).toMatchObject({ status: 'cancelled' });
  const before = [...done];
  await play.toolWorker();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(done).toEqual(before);
  const { view } = await auditedLog(rig, session.session);
  expect(view.status).toBe('cancelled');
  expect(view.unfinished).toEqual([]);
});
