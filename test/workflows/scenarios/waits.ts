/** What a plan waits for: a running operation, a quiet time, a person, a worker that can. */
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { expect } from 'vitest';
import type { ApprovalRule } from '../../../src';
import { details, memoOf, summaries, toolId } from '../../support/rig';
import { parkedFor, states, type Scenarios } from './support';

export const WAITS: Scenarios = {
  'an operation that the sink still carries out is waited for': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'in_flight', times: 2, retryAfterMs: 100 }]);
    const handle = await rig.start(['lookup', 'enforcing']);
    await rig.until(handle, (status) => status.state === 'waiting' && status.reason === 'settling');
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
  },

  'a dropped request is sent again only after its quiet time': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'drop_request' }]);
    const handle = await rig.start(['lookup']);
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    const log = rig.sinks.arrivals.log().filter(({ event }) => event === 'received');
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 2 });
    expect((log[1]?.atMs ?? 0) - (log[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(1_300);
  },

  'a quiet time goes on where somebody interrupted it': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'drop_request' }]);
    const handle = await rig.start(['lookup']);
    const seen = await rig.until(handle, (status) => status.state === 'waiting' && status.reason === 'settling');
    // The last look was before the send: what it found says nothing any more.
    expect(seen.effects).toMatchObject([{ state: 'unknown', doubt: null, proof: null }]);
    expect(seen.resumes_at).toBeGreaterThan(seen.observed_at ?? Infinity);
    let state: string = 'waiting';
    // Each look comes back long before the quiet time is over.
    for (let looks = 0; looks < 100 && state !== 'closed'; looks += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      state = await handle.reobserve().then(
        (status) => status.state,
        () => 'closed',
      );
    }
    expect(state).toBe('closed');
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 2 });
  },

  'an outcome that nobody can prove is a review, with a story for the people who look': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const handle = await rig.start(['blind', 'lookup']);
    await rig.until(handle, parkedFor('ambiguous_effect'));
    const status = await handle.status();
    expect(status.effects.map(({ state, doubt }) => [state, doubt])).toEqual([
      ['unknown', 'outcome_unknown'],
      ['not_sent', null],
    ]);
    expect(await details(handle)).toMatch(/^\*\*parked\*\* \(ambiguous_effect\), run `run_[0-9a-f]{32}`/);
    expect(await details(handle)).toContain(`| 0 | \`${toolId('blind')}\` | unknown | outcome_unknown |`);
    expect(await memoOf(handle)).toMatchObject({ state: 'parked', reason: 'ambiguous_effect', committed: '0/2' });
    expect(await summaries(handle)).toContain('drive: 2 of 2 effects not yet committed');
    expect(await handle.reobserve()).toMatchObject({ state: 'parked', reason: 'ambiguous_effect' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
  },

  'a review of a failing look-up is over when the sink answers again': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'status', on: 'lookup', status: 500, times: 0 }]);
    const handle = await rig.start(['lookup']);
    await rig.until(handle, parkedFor('ambiguous_effect'));
    expect((await handle.status()).effects[0]?.doubt).toBe('lookup_failed');
    rig.sinks.faults.clear();
    await handle.reobserve();
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
    expect(await memoOf(handle)).toMatchObject({ state: 'closed', reason: null, phase: 'completed', committed: '1/1' });
  },

  'another operation under our key is a review': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const handle = await rig.start(['lookup']);
    await rig.until(handle, parkedFor('effect_mismatch'));
    expect((await handle.status()).effects[0]?.state).toBe('unknown');
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
  },

  'a plan that wants an approval waits for it, whoever wants it': async (rig) => {
    const policy = (tool: string): ApprovalRule | null => (tool === toolId('blind') ? { approvals: 1 } : null);
    const effects = rig.definitions().map((one) => ({ ...one, approvalRequired: one.toolId === toolId('enforcing') }));
    await rig.worker({ plugin: { policy, effects } });
    const handles = [
      await rig.start([{ mode: 'lookup', approval_required: true }]),
      await rig.start(['lookup', 'blind']),
      await rig.start(['lookup', 'enforcing']),
    ];
    for (const handle of handles) {
      await rig.until(handle, parkedFor('approval_missing'));
      expect(await handle.reobserve()).toMatchObject({ state: 'parked', reason: 'approval_missing', phase: 'planned' });
      await handle.cancel();
      expect(await handle.result()).toMatchObject({ status: 'cancelled' });
    }
    expect(rig.sinks.counts().received).toBe(0);
  },

  'an Update that a plan does not know is turned away and leaves no trace': async (rig) => {
    await rig.worker();
    const handle = await rig.start([{ mode: 'lookup', approval_required: true }]);
    await rig.until(handle, parkedFor('approval_missing'));
    await expect(handle.workflow.executeUpdate('approve')).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
    const types = (await rig.historyOf(handle)).events.map(({ eventType }) => eventType);
    expect(types.filter((type) => type.includes('UPDATE'))).toEqual([]);
  },

  'without the plugin a worker only fails its tries, says so, and a right worker heals it': async (rig) => {
    const wrong = await rig.worker({ plugins: [], activities: { another: async () => undefined } });
    const handle = await rig.start(['lookup']);
    await rig.until(handle, ({ reason }) => reason === 'activity_failed');
    expect(await details(handle)).toMatch(/drive keeps failing on its workers/);
    await wrong.stop();
    await rig.worker();
    expect(states(await handle.result())).toEqual(['committed']);
    expect(rig.writes).toBe(1);
  },
};
