/** How plans end: completed, answered again, refused, handed from worker to worker. */
import type { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import { failureOf } from '../../support/rig';
import { codeOf, parkedFor, runsIn, states, type Scenarios } from './support';

export const ENDINGS: Scenarios = {
  'three sinks are written once each, and the history proves the journal’s chain': async (rig) => {
    await rig.worker();
    const handle = await rig.start(['enforcing', 'lookup', 'blind']);
    const outcome = await handle.result();
    expect(outcome).toMatchObject({ status: 'completed', replayed: false, journal_id: rig.journalId, preview: null });
    expect(states(outcome)).toEqual(['committed', 'committed', 'committed']);
    expect(rig.sinks.counts().keys.map(({ writes }) => writes)).toEqual([1, 1, 1]);
    const [status, lineage] = [await handle.status(), await handle.lineage()];
    expect(status).toMatchObject({
      run_id: handle.runId,
      state: 'closed',
      phase: 'completed',
      lineage: 1,
      reason: null,
    });
    expect(status.effects.map(({ ordinal, state, doubt }) => [ordinal, state, doubt])).toEqual([
      [0, 'committed', null],
      [1, 'committed', null],
      [2, 'committed', null],
    ]);
    expect(lineage.digests.at(-1)).toBe(outcome.head?.digest);
    expect(lineage).toMatchObject({ run_id: handle.runId, journal_id: rig.journalId, lineage: 1 });
    const report = await rig.verify(await rig.histories());
    expect(report).toEqual({ replayed: 1, checked: lineage.digests.length, failures: [] });
  },

  'independent effects are all written once': async (rig) => {
    await rig.worker({ plugin: { effects: rig.definitions({ maxInFlight: 4 }) } });
    const outcome = await (
      await rig.start(
        Array.from({ length: 12 }, () => 'lookup'),
        { order: 'independent' },
      )
    ).result();
    expect(states(outcome)).toEqual(Array.from({ length: 12 }, () => 'committed'));
    expect(rig.sinks.counts()).toMatchObject({ writes: 12, received: 12 });
  },

  'the same run again is answered from the journal': async (rig) => {
    await rig.worker();
    const plan = await rig.prepare(['lookup', 'blind']);
    const first = await rig.plans.execute(plan);
    const second = await rig.plans.execute(plan);
    expect(second).toEqual({ ...first, replayed: true });
    expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
  },

  'a preview looks up and writes nothing anywhere': async (rig) => {
    await rig.worker();
    const plan = await rig.prepare(['lookup', 'blind', 'enforcing']);
    const preview = await rig.plans.preview(plan);
    expect(preview).toMatchObject({ status: 'previewed', head: null, effects: [] });
    expect(preview.preview?.map(({ state, proof }) => [state, proof])).toEqual([
      ['absent', 'looked_up'],
      ['absent', 'never_begun'],
      ['absent', 'looked_up'],
    ]);
    expect([rig.writes, await runsIn(rig)]).toEqual([0, []]);
    await rig.plans.execute(plan);
    const after = await rig.plans.preview(plan);
    expect(after).toMatchObject({ status: 'previewed', replayed: true });
  },

  'the same run with other arguments is a plan_conflict, running or closed': async (rig) => {
    const name = 'the same name';
    const [one, other] = [
      await rig.prepare(['lookup'], { name }),
      await rig.prepare([{ mode: 'lookup', operation: { amount: 99 } }], { name }),
    ];
    const handle = await rig.plans.start(one);
    await expect(rig.plans.start(other)).rejects.toMatchObject({ code: 'plan_conflict' });
    expect((await rig.plans.start(one)).workflow.workflowId).toBe(handle.workflowId);
    await rig.worker();
    await handle.result();
    expect(await codeOf(rig.plans.execute(other))).toBe('plan_conflict');
    expect(rig.writes).toBe(1);
  },

  'a tool without a sink ends a plan before anything is written': async (rig) => {
    await rig.worker({ plugin: { effects: rig.definitions().slice(0, 1) } });
    expect(await codeOf((await rig.start(['enforcing', 'lookup'])).result())).toBe('no_adapter');
    expect([rig.sinks.counts().received, await runsIn(rig)]).toEqual([0, []]);
  },

  'a worker that shuts down finishes the effect in hand; one without its sinks parks the plan; a right one ends it':
    async (rig) => {
      const effects = rig.definitions({ deadlineMs: 20_000 });
      const first = await rig.worker({ plugin: { effects } });
      rig.sinks.faults.programme([{ fault: 'hold_before' }]);
      const handle = await rig.start(['lookup', 'enforcing']);
      await rig.sinks.arrivals.wait('held', '*', 1, 60_000);
      const stopped = first.stop();
      rig.sinks.faults.release('*');
      await stopped;
      expect(rig.sinks.counts().received).toBe(1);

      const wrong = await rig.worker({ plugin: { effects: effects.slice(1) } });
      await rig.until(handle, parkedFor('no_adapter'));
      expect((await handle.status()).message).toMatch(
        /tool:example\.org\/enforcing@1\.0\.0: has no sink on this worker/,
      );
      await wrong.stop();
      await rig.worker({ plugin: { effects } });
      await handle.reobserve();
      expect(states(await handle.result())).toEqual(['committed', 'committed']);
      expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
      const types = (await rig.historyOf(handle)).events.map(({ eventType }) => eventType);
      expect(types).not.toContain('EVENT_TYPE_ACTIVITY_TASK_FAILED');
    },

  'an effect that its sink refuses ends the plan as EffectRejected, with the code': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'status', status: 400 }]);
    const plan = await rig.prepare(['lookup', 'enforcing']);
    const handle = await rig.plans.start(plan);
    const failure = (await failureOf(handle.result())) as ApplicationFailure;
    expect([failure.type, failure.nonRetryable]).toEqual(['EffectRejected', true]);
    expect(failure.message).toBe('effect 0 (tool:example.org/lookup@1.0.0) was refused: invalid_body');
    expect(failure.details?.[0]).toMatchObject({ code: 'invalid_body', ordinal: 0, run_id: handle.runId });
    expect(states(failure.details?.[0] as never)).toEqual(['not_sent', 'not_sent']);
    expect(await handle.status()).toMatchObject({ state: 'closed', phase: 'aborted' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 0, received: 1 });
    expect(await codeOf(rig.plans.execute(plan))).toBe('EffectRejected');
    expect(rig.sinks.counts().received).toBe(1);
  },
};
