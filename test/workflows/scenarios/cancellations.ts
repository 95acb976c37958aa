/** Cancellation, by Update and by Temporal: before, during and after the sends. */
import { Context } from '@temporalio/activity';
import { CancelledFailure } from '@temporalio/common';
import { expect } from 'vitest';
import type { CountersignPluginOptions } from '../../../src';
import type { PlanHandle } from '../../../src/client';
import { failureOf, memoOf } from '../../support/rig';
import { parkedFor, states, type Scenarios } from './support';

/** Holds the worker at a point until the cancellation of its activity has arrived. */
function heldUntilCancelled(at: 'answered' | 'returning'): Partial<CountersignPluginOptions> {
  return {
    at: async (point) => {
      if (point === at) await Context.current().cancelled.catch(() => undefined);
    },
  };
}

/** Temporal’s own record of a cancellation has no room for details: the story stays with the execution. */
async function cancelled(handle: PlanHandle): Promise<string[]> {
  expect(await failureOf(handle.result())).toBeInstanceOf(CancelledFailure);
  expect((await handle.workflow.describe()).status.name).toBe('CANCELLED');
  expect(await memoOf(handle)).toMatchObject({ state: 'closed', phase: 'aborted' });
  return states(await handle.status());
}

export const CANCELLATIONS: Scenarios = {
  'cancel by Update before anything is sent': async (rig) => {
    const handle = await rig.start(['lookup', 'blind']);
    const cancelling = handle.cancel();
    await rig.worker();
    expect(await cancelling).toMatchObject({ state: 'closed', phase: 'aborted' });
    const outcome = await handle.result();
    expect(outcome).toMatchObject({ status: 'cancelled', replayed: false });
    expect(states(outcome)).toEqual(['not_sent', 'not_sent']);
    expect(rig.sinks.counts().received).toBe(0);
  },

  'cancel by Update during a send finishes the effect in hand': async (rig) => {
    await rig.worker({ plugin: heldUntilCancelled('answered') });
    const handle = await rig.start(['lookup', 'enforcing']);
    await rig.sinks.arrivals.wait('answered', '*', 1, 60_000);
    await handle.cancel();
    const outcome = await handle.result();
    expect(outcome.status).toBe('cancelled');
    expect(states(outcome)).toEqual(['committed', 'not_sent']);
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
  },

  'cancel and reobserve about a head that has moved are refused, and leave nothing': async (rig) => {
    await rig.worker();
    const handle = await rig.start([{ mode: 'lookup', approval_required: true }]);
    const { head } = await rig.until(handle, parkedFor('approval_missing'));
    const moved = `sha256:${'0'.repeat(64)}`;
    await expect(handle.cancel(moved)).rejects.toMatchObject({ name: 'Refusal', code: 'stale_head' });
    await expect(handle.reobserve(moved)).rejects.toMatchObject({ name: 'Refusal', code: 'stale_head' });
    const { events } = await rig.historyOf(handle);
    expect(events.filter(({ eventType }) => String(eventType).includes('UPDATE'))).toEqual([]);
    expect(await handle.reobserve(head?.digest)).toMatchObject({ state: 'parked', head });
    expect(await handle.cancel(head?.digest)).toMatchObject({ state: 'closed', phase: 'aborted' });
    expect(await handle.result()).toMatchObject({ status: 'cancelled' });
  },

  'cancel by Update after the last send changes nothing': async (rig) => {
    await rig.worker({ plugin: heldUntilCancelled('returning') });
    const handle = await rig.start(['lookup']);
    await rig.sinks.arrivals.wait('answered', '*', 1, 60_000);
    expect(await handle.cancel()).toMatchObject({ state: 'closed', phase: 'completed' });
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    await expect(handle.cancel()).rejects.toThrow(/already completed/);
  },

  'a parked plan is cancelled, and what nobody could prove is said to be unknown': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const handle = await rig.start(['blind', 'lookup']);
    await rig.until(handle, parkedFor('ambiguous_effect'));
    expect(await handle.cancel()).toMatchObject({ state: 'closed', phase: 'aborted' });
    expect(states(await handle.result())).toEqual(['unknown', 'not_sent']);
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
  },

  'Temporal’s cancellation before, during and after': async (rig) => {
    const before = await rig.start(['lookup']);
    await before.workflow.cancel();
    const early = await rig.worker();
    expect(await cancelled(before)).toEqual(['not_sent']);
    await early.stop();

    const inHand = await rig.worker({ plugin: heldUntilCancelled('answered') });
    const during = await rig.start(['lookup', 'enforcing']);
    await rig.sinks.arrivals.wait('answered', '*', 1, 60_000);
    await during.workflow.cancel();
    expect(await cancelled(during)).toEqual(['committed', 'not_sent']);
    await inHand.stop();

    await rig.worker({ plugin: heldUntilCancelled('returning') });
    const after = await rig.start(['lookup']);
    await rig.sinks.arrivals.wait('answered', '*', 2, 60_000);
    await after.workflow.cancel();
    expect(await after.result()).toMatchObject({ status: 'completed' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
  },

  'Temporal’s cancellation of a parked review says committed, not sent and unknown': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'delay_after', delayMs: 1 }, { fault: 'drop_reply' }]);
    const handle = await rig.start(['lookup', 'blind', 'lookup']);
    await rig.until(handle, parkedFor('ambiguous_effect'));
    await handle.workflow.cancel();
    expect(await cancelled(handle)).toEqual(['committed', 'unknown', 'not_sent']);
  },
};
