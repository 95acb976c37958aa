/**
 * An old backup of the journal, put back under plans that went on since, on a real server with worker processes.
 *
 * Held here:
 * - the workflow of a running plan notices at its next look and parks as `journal_behind`; nothing is sent and nothing written;
 *   with the newest state put back it goes on and ends;
 * - a cluster that resumes from the newest state, and so knows its head before it has seen any of the chain, sends nothing
 *   through workers that have the old one;
 * - `verify --history` finds it with Temporal off, where `verify` alone cannot.
 */
import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PlanHandle } from '../../src/client';
import type { WorkerProcess } from '../../scripts/kill-matrix/worker-process';
import { verify } from '../../src/verify';
import { answerOf } from '../cli/support';
import { temporalAddress } from '../support/temporal';
import { Clusters, until, type Cluster } from './clusters';

let all: Clusters;
let cluster: Cluster;
beforeEach(async () => {
  temporalAddress(); // this file starts its own servers, with the program of the shared one
  all = new Clusters();
  await all.open();
  cluster = await all.cluster();
}, 300_000);
afterEach(() => all.close());

interface Parked {
  readonly handle: PlanHandle;
  readonly worker: WorkerProcess;
  /** The journal as it was after the first slot was taken, before anything was sent. */
  readonly backup: string;
}

/** A plan of two effects whose first one is in doubt: sent once, and its sink says that it holds another operation. */
async function parked(): Promise<Parked> {
  const backup = path.join(all.folder, 'backup');
  const worker = await all.worker(cluster, 'lookup', { at: 'slot_taken', nth: 1, does: 'wait' });
  all.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
  const handle = await cluster.plans.start(await all.prepare(cluster.plans, 'lookup', 2, 'backup'));
  await worker.passes('struck');
  cpSync(all.journal, backup, { recursive: true });
  worker.proceed();
  await until(handle, ({ reason }) => reason === 'effect_mismatch');
  expect(all.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
  return { handle: cluster.plans.getHandle(handle.runId), worker, backup };
}

test('a running execution', { timeout: 240_000 }, async () => {
  const { handle, worker, backup } = await parked();
  await worker.kill();
  all.sinks.faults.clear(); // from here on a look-up would let the plan go on
  const newest = path.join(all.folder, 'newest');
  renameSync(all.journal, newest);
  cpSync(backup, all.journal, { recursive: true });
  const misled = await all.worker(cluster, 'lookup');
  await handle.reobserve();
  expect(await until(handle, ({ reason }) => reason === 'journal_behind')).toMatchObject({ state: 'parked' });
  expect(all.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
  const files = readdirSync(all.journal, { recursive: true }).filter((name) => !String(name).startsWith('.tmp'));
  expect(files.sort()).toEqual(
    readdirSync(backup, { recursive: true })
      .filter((name) => !String(name).startsWith('.tmp'))
      .sort(),
  );

  await misled.kill();
  rmSync(all.journal, { recursive: true });
  renameSync(newest, all.journal);
  await all.worker(cluster, 'lookup');
  await handle.reobserve();
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(all.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
  expect(await verify(all.journal, { strict: true })).toMatchObject({ ok: true });
});

test('a cluster that resumes with workers that have it', { timeout: 240_000 }, async () => {
  const { handle, worker, backup } = await parked();
  const history: unknown = JSON.parse(JSON.stringify(await handle.workflow.fetchHistory()));
  await worker.kill();
  await all.forget(cluster);
  all.sinks.faults.clear();
  expect(await verify(backup)).toMatchObject({ ok: true, justified: true });
  expect(await verify(all.journal, { histories: [{ name: 'history', history }] })).toMatchObject({
    ok: true,
    anchored: true,
  });
  expect(await verify(backup, { histories: [{ name: 'history', history }] })).toMatchObject({
    ok: false,
    findings: [{ code: 'history_ahead', divergence: { actual: null } }],
  });

  const fresh = await all.cluster();
  await all.worker(fresh, 'lookup', null, { journal: backup, contents: all.contents });
  const resumed = await all.countersign(fresh, 'resume', all.journal, handle.runId, '--json').ended;
  expect(resumed.code).toBe(4);
  expect(answerOf(resumed)).toMatchObject({ ok: false, error: { code: 'journal_behind' } });
  expect(all.sinks.counts()).toMatchObject({ writes: 1, received: 1 });

  const head = (await verify(all.journal)).runs[0]?.lineages[0]?.head?.digest ?? '';
  const anchored = await all.countersign(fresh, 'resume', backup, handle.runId, '--expect-head', head, '--json').ended;
  expect(answerOf(anchored)).toMatchObject({ ok: false, error: { code: 'journal_behind' } });
  expect(all.sinks.counts()).toMatchObject({ writes: 1, received: 1 });
});
