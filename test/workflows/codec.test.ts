/**
 * Properties under a payload codec on client and worker:
 * - a plan completes, its queries, Updates and memo answer, and a replay with the codec proves the chain;
 * - no payload of the history can be read without it, and a verification without it says so instead of passing.
 */
import { expect, test } from 'vitest';
import { replayAndVerify } from '../../src/testing';
import { maskingCodec } from '../support/masking-codec';
import { memoOf, useRig } from '../support/rig';
import { parkedFor } from './scenarios/support';

const rig = useRig({ dataConverter: { payloadCodecs: [maskingCodec] } });

test('a plan runs, parks, answers and completes behind a codec', async () => {
  await rig.worker();
  rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
  const handle = await rig.start(['lookup', 'blind']);
  await rig.until(handle, parkedFor('effect_mismatch'));
  rig.sinks.faults.clear();
  await handle.reobserve();
  expect(await handle.result()).toMatchObject({ status: 'completed', journal_id: rig.journalId });
  expect(await memoOf(handle)).toMatchObject({ state: 'closed', committed: '2/2' });
  const history = await rig.historyOf(handle);
  expect(Buffer.from(JSON.stringify(history)).toString()).not.toContain(Buffer.from('"run_id"').toString('base64'));
  const { digests } = await handle.lineage();
  expect(await rig.verify(await rig.histories())).toEqual({ replayed: 1, checked: digests.length, failures: [] });
});

test('without the codec nothing is said to be proven', async () => {
  await rig.worker();
  const handle = await rig.start(['lookup']);
  await handle.result();
  const report = await replayAndVerify({
    ...{ workflowBundle: rig.bundle, histories: await rig.histories(), journal: rig.journal },
  });
  expect(report.checked).toBe(0);
  expect(report.failures.map(({ kind }) => kind)).toContain('chain');
});
