/** More than one driver of a run, and journals that are not what the history knew. */
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { initJournal, type CountersignPluginOptions } from '../../../src';
import { PlanClient } from '../../../src/client';
import type { Rig, RigWorker } from '../../support/rig';
import { connectTemporal } from '../../support/temporal';
import { parkedFor, states, type Scenarios } from './support';

/** A second namespace with a worker on the same journal, content store and sinks. */
export async function secondCluster(
  rig: Rig,
  plugin: Partial<CountersignPluginOptions> = {},
): Promise<{ plans: PlanClient; worker: RigWorker }> {
  const other = await connectTemporal({ ownNamespace: true });
  const client = rig.newClient({ connection: other.client.connection, namespace: other.namespace });
  const plans = new PlanClient({ client, contents: rig.contents, taskQueue: rig.taskQueue });
  const effects = rig.definitions(PATIENT);
  const { nativeConnection: connection, namespace } = other;
  const worker = await rig.worker({ connection, namespace, plugin: { effects, ...plugin } });
  rig.atEnd(() => other.close());
  return { plans, worker };
}

/** A sink that may stay in flight for as long as these tests need. */
const PATIENT = { settleMs: 60_000 };

export const DRIVERS: Scenarios = {
  'the driver that is overtaken follows to the same outcome, and sends nothing': async (rig) => {
    await rig.worker({ plugin: { effects: rig.definitions(PATIENT) } });
    rig.sinks.faults.programme([{ fault: 'in_flight', times: 0 }]);
    const plan = await rig.prepare(['lookup', 'enforcing']);
    const handle = await rig.plans.start(plan);
    await rig.until(handle, ({ state }) => state === 'waiting');
    const second = await secondCluster(rig);
    const other = await second.plans.start(plan);
    await rig.until(handle, ({ state, reason }) => state === 'following' && reason === 'another_driver');
    rig.sinks.faults.clear();
    const [mine, theirs] = [await handle.result(), await other.result()];
    expect(mine).toEqual({ ...theirs, replayed: mine.replayed });
    expect(states(mine)).toEqual(['committed', 'committed']);
    expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
  },

  'an overtaken driver takes the turn back when a person asks': async (rig) => {
    await rig.worker({ plugin: { effects: rig.definitions(PATIENT) } });
    rig.sinks.faults.programme([{ fault: 'in_flight', times: 0 }]);
    const plan = await rig.prepare(['enforcing', 'lookup']);
    const handle = await rig.plans.start(plan);
    await rig.until(handle, ({ state }) => state === 'waiting');
    const second = await secondCluster(rig);
    await second.plans.start(plan);
    await rig.until(handle, ({ state }) => state === 'following');
    await second.worker.stop();
    rig.sinks.faults.clear();
    await handle.reobserve();
    expect(await handle.result()).toMatchObject({ status: 'completed', replayed: false });
    expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
  },

  'a reset to the start goes on in the journal and sends nothing again': async (rig) => {
    await rig.worker();
    const handle = await rig.start(['lookup', 'enforcing', 'blind']);
    await handle.result();
    const second = await rig.reset(handle);
    expect(await second.result()).toMatchObject({ status: 'completed', replayed: true });
    expect(rig.sinks.counts()).toMatchObject({ writes: 3, received: 3 });
  },

  'a journal that lost its head stops the plan': async (rig) => {
    await rig.worker();
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const handle = await rig.start(['blind']);
    await rig.until(handle, parkedFor('ambiguous_effect'));
    const folder = path.join(rig.folder, 'journal', handle.runId, 'lineage-0001');
    const last = (await readdir(folder)).sort().at(-1) ?? '';
    await rm(path.join(folder, last));
    rig.expectedFailures = ({ kind }) => kind === 'journal';
    expect(await handle.reobserve()).toMatchObject({ state: 'parked', reason: 'journal_behind' });
    expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
  },

  'another journal than the history’s stops the plan, and the right one lets it go on': async (rig) => {
    rig.sinks.faults.programme([{ fault: 'status', on: 'lookup', status: 500, times: 0 }]);
    const right = await rig.worker();
    const handle = await rig.start(['lookup']);
    await rig.until(handle, parkedFor('ambiguous_effect'));
    await right.stop();
    rig.sinks.faults.clear();
    const store = rig.store('another-journal');
    await initJournal(store);
    const wrong = await rig.worker({ plugin: { store } });
    expect(await handle.reobserve()).toMatchObject({ state: 'parked', reason: 'wrong_journal' });
    expect(rig.sinks.counts().received).toBe(0);
    await wrong.stop();
    await rig.worker();
    await handle.reobserve();
    expect(await handle.result()).toMatchObject({ status: 'completed', journal_id: rig.journalId });
  },
};
