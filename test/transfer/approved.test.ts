/**
 * Runs that people have decided about, moved while they are under way, on a real server.
 *
 * Held here:
 * - an approved run is exported with its receipts and claims, verifies strictly by itself, and resumed in another folder it ends
 *   without being approved again;
 * - a run in its second lineage agrees in both with its history, and is resumed in that one: it asks for the approval that this lineage lacks, and ends when it has it.
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Store } from '../../src';
import { PlanClient, type PlanHandle } from '../../src/client';
import { exportRun, importRun, openExport } from '../../src/transfer';
import { storeView, verifyJournal } from '../../src/verify';
import { TestReviewers, approvalOf, resolutionOf } from '../support/reviewers';
import { useRig, type RigWorker } from '../support/rig';

const rig = useRig();

/** Ends the execution and its worker, and takes the run to a new folder, where a new worker is. */
async function moved(handle: PlanHandle, worker: RigWorker, reviewers: TestReviewers): Promise<PlanClient> {
  rig.expectedFailures = ({ kind }) => kind === 'journal'; // what goes on there, this test's own journal lacks
  await worker.stop();
  await handle.workflow.terminate('the cluster is gone');
  const file = path.join(rig.folder, 'run.export');
  await exportRun(rig.journal, rig.contents, handle.runId, file);
  const [store, contents]: readonly [Store, Store] = [rig.store('elsewhere'), rig.store('elsewhere-contents')];
  await openExport(file, async (exported) => {
    const report = await verifyJournal(storeView(exported.journal), { strict: true });
    expect(report.findings).toEqual([]);
    expect(await exported.journal.list('claims')).not.toEqual([]);
    await importRun(exported, store, contents);
  });
  await rig.worker({ plugin: { store, contents, reviewers } });
  return new PlanClient({ client: rig.client, store, contents, taskQueue: rig.taskQueue });
}

test('an approved run', async () => {
  const reviewers = new TestReviewers();
  const worker = await rig.worker({ plugin: { reviewers } });
  const handle = await rig.start([{ mode: 'lookup', approval_required: true }, 'lookup']);
  await rig.until(handle, ({ reason }) => reason === 'approval_missing');
  rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
  await handle.approve(approvalOf((await handle.approvals())!, 'ann'));
  await rig.until(handle, ({ reason }) => reason === 'effect_mismatch');
  rig.sinks.faults.clear();
  const plans = await moved(handle, worker, reviewers);
  const resumed = await plans.resume(handle.runId);
  expect(await resumed.result()).toMatchObject({ status: 'completed', lineage: 1 });
  expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
});

test('a run in its second lineage', async () => {
  const reviewers = new TestReviewers();
  const worker = await rig.worker({ plugin: { reviewers } });
  const handle = await rig.start([{ mode: 'lookup', approval_required: true }, 'lookup']);
  await rig.until(handle, ({ reason }) => reason === 'approval_missing');
  rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
  const iat = Math.floor(Date.now() / 1000);
  await handle.approve(approvalOf((await handle.approvals())!, 'ann', { iat, livesS: 6 }));
  await rig.until(handle, ({ reason }) => reason === 'effect_mismatch');
  rig.sinks.faults.clear();
  await expect.poll(() => Date.now() / 1000, { timeout: 30_000 }).toBeGreaterThan(iat + 6);
  expect(await handle.reobserve()).toMatchObject({ state: 'parked', reason: 'approval_expired' });
  await handle.resolve(resolutionOf((await handle.approvals())!, 'bob', { resolution: 'new_lineage' }));
  await rig.until(handle, ({ lineage, reason }) => lineage === 2 && reason === 'approval_missing');
  const histories = [{ name: 'history', history: await rig.historyOf(handle) }];
  expect(await verifyJournal(storeView(rig.journal), { strict: true, histories })).toMatchObject({
    ok: true,
    anchored: true,
    histories: [
      { lineage: 1, agrees: true },
      { lineage: 2, agrees: true },
    ],
  });
  const plans = await moved(handle, worker, reviewers);
  const resumed = await plans.resume(handle.runId);
  await rig.until(resumed, ({ lineage, reason }) => lineage === 2 && reason === 'approval_missing');
  await resumed.approve(approvalOf((await resumed.approvals())!, 'ann'));
  expect(await resumed.result()).toMatchObject({ status: 'completed', lineage: 2 });
  expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
});
