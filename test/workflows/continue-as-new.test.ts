/**
 * Properties of a parked plan that is asked more than 500 times:
 * - it continues as new and goes on from the head that it knew, without a send in between;
 * - every Update is answered, also those that were under way while it continued;
 * - both histories replay, and the second one proves that it follows the first.
 */
import { expect, test } from 'vitest';
import { useRig } from '../support/rig';
import { parkedFor } from './scenarios/support';

const rig = useRig();

test('520 questions, up to 8 at once', async () => {
  await rig.worker();
  rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
  const handle = await rig.start(['lookup', 'blind']);
  await rig.until(handle, parkedFor('effect_mismatch'));
  const first = (await handle.workflow.describe()).runId;
  const current = rig.plans.getHandle(handle.runId);
  let asked = 0;
  const answers: string[] = [];
  const ask = async (): Promise<void> => {
    while (asked < 520) {
      asked += 1;
      answers.push((await current.reobserve()).run_id);
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  expect(answers).toEqual(Array.from({ length: 520 }, () => handle.runId));
  await expect.poll(async () => (await current.workflow.describe()).runId, { timeout: 60_000 }).not.toBe(first);
  expect(rig.sinks.counts()).toMatchObject({ writes: 1, received: 1 });

  rig.sinks.faults.clear();
  await current.reobserve();
  expect(await current.result()).toMatchObject({ status: 'completed', journal_id: rig.journalId });
  expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
  const report = await rig.verify(await rig.histories());
  expect(report).toMatchObject({ replayed: 2, failures: [] });
});
