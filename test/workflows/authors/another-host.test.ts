/**
 * A worker that dies with a send under way, and one of the same task queue on another host, whose journal is its own.
 *
 * Held here:
 * - the other one never sends what the first had begun, although its history had heard nothing of the first: neither a call of an
 *   author's workflow nor a plan whose client was given the journal
 * - the plan parks as `wrong_journal`, and a worker with the right journal goes on: it knows that something may have happened
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { initJournal } from '../../../src';
import { PlanClient, type PlanHandle } from '../../../src/client';
import { death, startDying } from '../../support/dying-worker';
import { useRig, type Rig } from '../../support/rig';
import { effectsAt } from './effects';

const rig = useRig({ workflowsPath: path.resolve(__dirname, 'workflows.ts') });

/** The plan, however it was begun; of a call, the workflow that takes over from the author's. */
const BEGUN: Readonly<Record<string, (rig: Rig) => Promise<() => Promise<PlanHandle>>>> = {
  'a call': async ({ client, taskQueue, plans }) => {
    await client.workflow.start('caught', { workflowId: taskQueue, taskQueue, args: ['notify', 5] });
    return async () => {
      for (;;) {
        for await (const { workflowId } of client.workflow.list({ query: `TaskQueue = "${taskQueue}"` })) {
          const [, runId] = /^countersign\/(run_[0-9a-f]{32})$/.exec(workflowId) ?? [];
          if (runId !== undefined) return plans.getHandle(runId);
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
  },
  'a plan of a client that was given the journal': async ({ client, taskQueue, journal: store, contents }) => {
    const plans = new PlanClient({ client, store, contents, taskQueue });
    const operation = 'hello';
    const effect = { id: 'e', tool_id: 'tool:example.org/notify@1.0.0', kind: 'local_tool', operation };
    const draft = { workflow_id: 'workflow:example.org/hosts', name: taskQueue, effects: [effect] };
    const handle = await plans.start(await plans.prepare(draft));
    return async () => handle;
  },
};

test.each(Object.entries(BEGUN))('%s', async (_name, begin) => {
  const plan = await begin(rig);
  const main = path.join(__dirname, 'worker-main.ts');
  await death(await startDying(rig, main, { killAt: 'answered', sinkUrl: rig.sinks.url }));
  expect(rig.writes).toBe(1);

  const store = rig.store('journal-of-another-host');
  await initJournal(store);
  const effects = effectsAt(rig.sinks.url);
  const other = await rig.worker({ plugin: { store, effects } });
  const handle = await plan();
  expect(await rig.until(handle, ({ reason }) => reason === 'wrong_journal')).toMatchObject({ state: 'parked' });
  await other.stop();
  expect(await store.list('')).toEqual(['journal.json']);
  expect(rig.writes).toBe(1);

  await rig.worker({ plugin: { effects } });
  await handle.reobserve();
  const found = await rig.until(handle, ({ reason }) => reason === 'ambiguous_effect');
  expect(found).toMatchObject({ state: 'parked', journal_id: rig.journalId });
  expect(rig.writes).toBe(1);
});
