/**
 * Plans that outlive their cluster, with real servers, worker processes and the built command line.
 *
 * Held here:
 * - a server that is killed with SIGKILL in mid-send and whose database is deleted is not needed again: on a fresh server
 *   `resume` ends the run with every effect written exactly once, whether the old worker died with its server, or lived on and
 *   its write came late;
 * - so it ends when only an exported file is left, placed in a new folder for new workers;
 * - an old cluster that comes back finds itself fenced, follows the other, and tells the same outcome;
 * - resumed twice, a run is followed, and once it has ended its recorded outcome is told.
 */
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verify } from '../../src/verify';
import { temporalAddress } from '../support/temporal';
import { answerOf } from '../cli/support';
import { Clusters, until } from './clusters';

const EFFECTS = 5;
const each = (writes: number): readonly number[] => Array.from({ length: EFFECTS }, () => writes);

let all: Clusters;
beforeEach(async () => {
  temporalAddress(); // this file starts its own servers, with the program of the shared one
  all = new Clusters();
  await all.open();
}, 300_000);
afterEach(() => all.close());

/** A plan whose third send is under way, its process stopped inside the sink's client. */
async function midSend(sink: 'enforcing' | 'lookup') {
  const old = await all.cluster();
  const worker = await all.worker(old, sink, { at: 'in_client', nth: 3, does: 'stop' });
  const plan = await all.prepare(old.plans, sink, EFFECTS, `mid-send-${sink}`);
  const handle = await old.plans.start(plan);
  await worker.passes('struck');
  expect(all.sinks.counts().writes).toBe(2);
  return { old, worker, plan, handle, runId: plan.runId };
}

async function verified(runId: string, journal = all.journal): Promise<void> {
  const report = await verify(journal, { strict: true });
  expect(report).toMatchObject({ ok: true, justified: true, runs: [{ runId, lineages: [{ committed: EFFECTS }] }] });
}

test.each(['enforcing', 'lookup'] as const)('server and worker are gone (%s)', { timeout: 240_000 }, async (sink) => {
  const { old, worker, runId } = await midSend(sink);
  await all.forget(old);
  await worker.kill();
  expect(existsSync(old.dbFile)).toBe(false);
  expect(await verify(all.journal)).toMatchObject({
    ok: true,
    runs: [{ lineages: [{ head: { phase: 'dispatching' } }] }],
  });

  const fresh = await all.cluster();
  expect(fresh.server.port).not.toBe(old.server.port);
  await all.worker(fresh, sink);
  const resumed = await all.countersign(fresh, 'resume', all.journal, runId, '--json').ended;
  expect(resumed.err).toBe('');
  expect(resumed.code).toBe(0);
  expect(answerOf(resumed)).toMatchObject({
    ok: true,
    command: 'resume',
    data: { status: 'completed', replayed: false },
  });
  expect(all.writesByKey(runId)).toEqual(each(1));
  await verified(runId);

  const again = await all.countersign(fresh, 'resume', all.journal, runId, '--json').ended;
  expect(answerOf(again)).toMatchObject({ ok: true, data: { status: 'completed', replayed: true } });
  expect(all.sinks.counts()).toMatchObject({ writes: EFFECTS });
});

test('only an exported file is left', { timeout: 240_000 }, async () => {
  const { old, worker, runId } = await midSend('lookup');
  await all.forget(old);
  await worker.kill();
  const file = path.join(all.folder, 'run.export');
  const exporting = all.countersign(
    null,
    'export',
    all.journal,
    runId,
    '-o',
    file,
    '--contents',
    all.contents,
    '--json',
  );
  expect(answerOf(await exporting.ended)).toMatchObject({ ok: true, data: { contents: true, missing_operations: 0 } });
  for (const gone of [all.journal, all.contents]) rmSync(gone, { recursive: true });

  const fresh = await all.cluster();
  const folders = {
    journal: path.join(all.folder, 'elsewhere'),
    contents: path.join(all.folder, 'elsewhere-contents'),
  };
  const placing = all.countersign(null, 'journal', 'init', folders.journal, '--from', file, '--json');
  expect(answerOf(await placing.ended)).toMatchObject({
    ok: true,
    data: { state: 'placed', contents: folders.contents },
  });
  await all.worker(fresh, 'lookup', null, folders);
  const resumed = await all.countersign(fresh, 'resume', file, '--journal', folders.journal, '--json').ended;
  expect(answerOf(resumed)).toMatchObject({ ok: true, data: { status: 'completed', replayed: false } });
  expect(all.writesByKey(runId, folders.journal)).toEqual(each(1));
  await verified(runId, folders.journal);
});

test('the old worker lives on, and its write comes late', { timeout: 240_000 }, async () => {
  all.deadlineMs = 25_000;
  const { old, worker, runId } = await midSend('lookup');
  await all.forget(old);
  const fresh = await all.cluster();
  await all.worker(fresh, 'lookup');
  const resuming = all.countersign(fresh, 'resume', all.journal, runId);
  await resuming.shown('(settling)');
  expect(all.epochs(runId)).toBe(2);
  expect(all.sinks.counts().received).toBe(2);
  worker.resume();
  const resumed = await resuming.ended;
  expect(resumed).toMatchObject({ code: 0, err: '' });
  expect(resumed.out).toMatch(/its journal verifies, and goes on as countersign\/run_/);
  expect(resumed.out).toMatch(/completed: 5 of 5 effects committed/);
  expect(all.writesByKey(runId)).toEqual(each(1));
  expect(all.sinks.counts().received).toBe(EFFECTS);
  await verified(runId);
  await worker.kill();
});

test('the old cluster comes back, and follows', { timeout: 300_000 }, async () => {
  const { old, worker, runId } = await midSend('lookup');
  await old.server.kill();
  await worker.kill();

  const fresh = await all.cluster();
  const second = await all.worker(fresh, 'lookup', { at: 'epoch_taken', nth: 1, does: 'wait' });
  const resuming = all.countersign(fresh, 'resume', all.journal, runId, '--json');
  await second.passes('struck');
  const back = await all.cluster(old);
  await all.worker(back, 'lookup');
  const handle = back.plans.getHandle(runId);
  expect(await until(handle, ({ state }) => state === 'following')).toMatchObject({ reason: 'another_driver' });
  second.proceed();
  expect(answerOf(await resuming.ended)).toMatchObject({ ok: true, data: { status: 'completed', replayed: false } });
  const [followed, driven] = await Promise.all([handle.result(), fresh.plans.getHandle(runId).result()]);
  expect(followed).toMatchObject({ status: 'completed', head: driven.head });
  expect(all.writesByKey(runId)).toEqual(each(1));
  expect(all.sinks.counts().received).toBe(EFFECTS);
  await verified(runId);
});
