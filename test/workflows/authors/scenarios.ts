/** What authors do with effects, each told by what stands at the sinks afterwards. */
import { Context } from '@temporalio/activity';
import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { expect } from 'vitest';
import { putContent, readContent, type CountersignPluginOptions } from '../../../src';
import type { PlanHandle } from '../../../src/client';
import { runsIn, parkedFor, type Scenarios } from '../scenarios/support';
import type { Rig, RigWorker } from '../../support/rig';
import { APPROVER, TestReviewers, approvalOf, rejectionOf } from '../../support/reviewers';
import { effectsAt } from './effects';
import type * as authors from './workflows';

type Workflows = typeof authors;
type Name = Exclude<keyof Workflows, 'stopSignal' | 'governedPlan'>;
type Answer<W extends Name> = Awaited<ReturnType<Workflows[W]>>;

export const authorsWorker = (rig: Rig, plugin: Partial<CountersignPluginOptions> = {}): Promise<RigWorker> =>
  rig.worker({ plugin: { effects: effectsAt(rig.sinks.url), ...plugin } });

export function begin<W extends Name>(rig: Rig, name: W, args: Parameters<Workflows[W]>): Promise<WorkflowHandle> {
  return rig.client.workflow.start(name, { workflowId: authorId(rig), taskQueue: rig.taskQueue, args });
}

export async function run<W extends Name>(rig: Rig, name: W, args: Parameters<Workflows[W]>): Promise<Answer<W>> {
  return (await (await begin(rig, name, args)).result()) as Answer<W>;
}

/** One workflow at a time in a test: a second one of the same id is a workflow id used again. */
const authorId = (rig: Rig): string => `author-${rig.taskQueue}`;

/** The workflow that carries the only other plan of this test, once it is there; to be replayed like all others. */
export async function carrier(rig: Rig, besides?: string): Promise<PlanHandle> {
  const find = async (): Promise<string | undefined> =>
    (await runsIn(rig))
      .map((entry) => entry.replace('/', ''))
      .find((runId) => runId.startsWith('run_') && runId !== besides);
  await expect.poll(find, { timeout: 30_000 }).toBeTruthy();
  const handle = rig.plans.getHandle((await find())!);
  await rig.until(handle, ({ state }) => state === 'parked');
  const { runId } = await handle.workflow.describe();
  rig.track({ client: rig.client, workflowId: handle.workflowId, runId });
  return handle;
}

const counts = (rig: Rig): [writes: number, received: number] => [
  rig.sinks.counts().writes,
  rig.sinks.counts().received,
];
const name = (effect: string, id: string): { effect: string; id: string } => ({ effect, id });

export const IDENTITIES: Scenarios = {
  'a loop': async (rig) => {
    await authorsWorker(rig);
    expect(await run(rig, 'inALoop', [5])).toEqual([1, 2, 3, 4, 5]);
    expect(counts(rig)).toEqual([5, 5]);
  },

  'fifty at once': async (rig) => {
    await authorsWorker(rig);
    const all = await run(rig, 'allTogether', [50]);
    expect(new Set(all.map(({ exposed }) => (exposed as { row: number }).row)).size).toBe(50);
    expect(rig.sinks.counts().keys.map(({ writes, received }) => [writes, received])).toEqual(
      Array.from({ length: 50 }, () => [1, 1]),
    );
  },

  'the same call again is answered, one after the other and side by side': async (rig) => {
    await authorsWorker(rig);
    const results = await run(rig, 'thrice', []);
    expect(results.slice(0, 2).filter(({ replayed }) => replayed)).toHaveLength(1);
    expect(results.slice(2).map(({ replayed }) => replayed)).toEqual([false, true]);
    expect({ ...results[0], replayed: true }).toEqual({ ...results[1], replayed: true });
    expect(results[3]).toEqual({ ...results[2], replayed: true });
    expect(counts(rig)).toEqual([2, 2]);
  },

  'the same id with other arguments is a conflict, one after the other and side by side': async (rig) => {
    await authorsWorker(rig);
    const became = await run(rig, 'otherArguments', []);
    const ends = became.map((one) => ('failed' in one ? one.failed : 'answered'));
    expect(ends.slice(0, 2).sort()).toEqual(['answered', 'plan_conflict']);
    expect(ends.slice(2)).toEqual(['answered', 'plan_conflict']);
    expect(counts(rig)).toEqual([2, 2]);
  },

  'a workflow id used again': async (rig) => {
    await authorsWorker(rig);
    const first = await run(rig, 'chargeOnce', [5]);
    expect(first).toMatchObject({ replayed: false, exposed: { row: 1 } });
    expect(await run(rig, 'chargeOnce', [5])).toEqual({ ...first, replayed: true });
    const other: unknown = await run(rig, 'chargeOnce', [6]).catch((reason: unknown) => reason);
    expect(other).toBeInstanceOf(WorkflowFailedError);
    expect(other).toMatchObject({ cause: { type: 'plan_conflict' } });
    expect(counts(rig)).toEqual([1, 1]);
  },

  'continue-as-new': async (rig) => {
    await authorsWorker(rig);
    expect(await run(rig, 'continued', [1, []])).toEqual([false, true, true]);
    expect(counts(rig)).toEqual([1, 1]);
  },

  'a reset to the start': async (rig) => {
    await authorsWorker(rig);
    const handle = await begin(rig, 'chargeAfterSignal', []);
    await rig.sinks.arrivals.wait('answered', '*', 1, 30_000);
    await rig.reset(handle);
    await handle.signal('stop');
    expect(await rig.client.workflow.getHandle(handle.workflowId).result()).toMatchObject({ exposed: { row: 1 } });
    expect(counts(rig)).toEqual([1, 1]);
  },

  'a plan of several': async (rig) => {
    await authorsWorker(rig, { effects: effectsAt(rig.sinks.url, { maxInFlight: 4 }) });
    const first = (await run(rig, 'planned', [[5, 6, 7, 8]])) as { rows: number[] };
    expect([...first.rows].sort()).toEqual([1, 2, 3, 4]);
    expect(await run(rig, 'planned', [[5, 6, 7, 8]])).toMatchObject({ replayed: true, rows: first.rows });
    expect(counts(rig)).toEqual([4, 4]);
    expect(await runsIn(rig)).toHaveLength(1);
  },

  'content by reference': async (rig) => {
    await authorsWorker(rig);
    const order = await putContent(rig.contents, { amount: 7, note: 'x' });
    const [paid] = await run(rig, 'byReference', [order]);
    expect(await readContent(rig.contents, paid!.ref!)).toEqual({ row: 1 });
    const again = await run(rig, 'byReference', [await putContent(rig.contents, { note: 'x', amount: 7 })]);
    expect(again.map(({ replayed }) => replayed)).toEqual([true, true]);
    expect(counts(rig)).toEqual([2, 2]);
  },
};

export const ENDINGS: Scenarios = {
  'what a sink refuses is thrown, and thrown again': async (rig) => {
    await authorsWorker(rig);
    rig.sinks.faults.programme([{ fault: 'status', status: 400 }]);
    const none = { committed: [], notSent: [name('charge', 'order-7')], unknown: [] };
    const rejected = {
      failed: 'EffectRejected',
      details: { code: 'invalid_body', ...name('charge', 'order-7'), ...none },
    };
    expect(await run(rig, 'caught', ['charge', 1])).toEqual({ ...rejected, cancellation: false });
    expect(await run(rig, 'caught', ['charge', 1])).toEqual({ ...rejected, cancellation: false });
    expect(counts(rig)).toEqual([0, 1]);
  },

  'arguments that do not fit are refused before anything happens': async (rig) => {
    await authorsWorker(rig);
    expect(await run(rig, 'caught', ['charge', 1.5])).toMatchObject({ failed: 'invalid_arguments' });
    expect([counts(rig), await runsIn(rig)]).toEqual([[0, 0], []]);
  },

  'a cancelled scope finishes the effect in hand, and says what became of each': async (rig) => {
    let held = 0;
    await authorsWorker(rig, {
      at: async (point) => {
        if (point !== 'answered' || held === 2) return;
        held += 1;
        await Context.current().cancelled.catch(() => undefined);
      },
    });
    const handle = await begin(rig, 'inAScope', []);
    await expect.poll(() => held, { timeout: 30_000 }).toBe(2);
    await handle.signal('stop');
    const [inHand, set, late, known, outside] = (await handle.result()) as Answer<'inAScope'>;
    expect(inHand).toMatchObject({ answered: { replayed: false, exposed: { row: 1 } } });
    expect(set).toMatchObject({
      failed: 'cancelled',
      details: { committed: [name('notify', 'a')], notSent: [name('reserve', 'b')], unknown: [] },
    });
    expect(late).toEqual({
      ...{ failed: 'cancelled', cancellation: true },
      details: { committed: [], notSent: [name('charge', 'never-begun')], unknown: [] },
    });
    expect(known).toMatchObject({ answered: { replayed: true, exposed: { row: 1 } } });
    expect(outside).toMatchObject({ answered: { replayed: false } });
    expect(counts(rig)).toEqual([3, 3]);
  },
};

export const SHIELDED: Scenarios = {
  'what is shielded is done although its workflow is cancelled': async (rig) => {
    await authorsWorker(rig);
    const handle = await begin(rig, 'cleaningUp', []);
    await rig.sinks.arrivals.wait('answered', '*', 1, 30_000);
    await handle.cancel();
    const became = (await handle.result()) as Answer<'cleaningUp'>;
    expect(became.map((one) => 'answered' in one)).toEqual([true, true, true]);
    expect(counts(rig)).toEqual([2, 2]);
  },
};

export const PEOPLE: Scenarios = {
  'what takes a person goes on in a workflow of its own, and comes back': async (rig) => {
    await authorsWorker(rig);
    rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const handle = await begin(rig, 'chargeOnce', [5]);
    const parked = await carrier(rig);
    expect(await parked.status()).toMatchObject({ reason: 'effect_mismatch' });
    rig.sinks.faults.clear();
    await parked.reobserve();
    expect(await handle.result()).toMatchObject({ replayed: false, exposed: { row: 1 } });
    expect(counts(rig)).toEqual([1, 1]);
  },

  'approved, then denied, by a reviewer': async (rig) => {
    const reviewers = new TestReviewers();
    await authorsWorker(rig, { reviewers, policy: () => ({ approvals: 1, roles: [APPROVER] }) });
    const approved = await begin(rig, 'caught', ['charge', 5]);
    const first = await carrier(rig);
    await first.approve(approvalOf((await first.approvals())!, 'ann'));
    expect(await approved.result()).toMatchObject({ answered: { replayed: false, exposed: { row: 1 } } });

    const denied = await begin(rig, 'caught', ['notify', 5]);
    const second = await carrier(rig, first.runId);
    await second.approve(rejectionOf((await second.approvals())!, 'bob'));
    const ended = { failed: 'ApprovalRejected', details: { code: 'rejected', notSent: [name('notify', 'order-7')] } };
    expect(await denied.result()).toMatchObject(ended);
    expect(await run(rig, 'caught', ['notify', 5])).toMatchObject(ended);
    expect(counts(rig)).toEqual([1, 1]);
  },

  'cancelled by its author while it waits for a person': async (rig) => {
    await authorsWorker(rig);
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const handle = await begin(rig, 'caught', ['notify', 5]);
    const parked = await carrier(rig);
    await handle.cancel();
    expect(await handle.result()).toEqual({
      ...{ failed: 'cancelled', cancellation: true },
      details: { committed: [], notSent: [], unknown: [name('notify', 'order-7')] },
    });
    expect((await parked.workflow.describe()).status.name).toBe('CANCELLED');
    expect(counts(rig)).toEqual([1, 1]);
  },

  'cancelled by a person': async (rig) => {
    await authorsWorker(rig);
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const handle = await begin(rig, 'caught', ['notify', 5]);
    await (await carrier(rig)).cancel();
    expect(await handle.result()).toEqual({
      ...{ failed: 'EffectCancelled', cancellation: false },
      details: { committed: [], notSent: [], unknown: [name('notify', 'order-7')] },
    });
  },

  'reset while it waits for a person': async (rig) => {
    await authorsWorker(rig);
    rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const handle = await begin(rig, 'chargeOnce', [5]);
    const parked = await carrier(rig);
    const again = await rig.reset(handle);
    const drives = async (): Promise<number> => (await rig.historyOf(parked)).events.length;
    const before = await drives();
    await expect.poll(drives, { timeout: 30_000 }).toBeGreaterThan(before);
    await rig.until(parked, parkedFor('effect_mismatch'));
    rig.sinks.faults.clear();
    await parked.reobserve();
    expect(await again.result()).toMatchObject({ exposed: { row: 1 } });
    expect(counts(rig)).toEqual([1, 1]);
  },
};
