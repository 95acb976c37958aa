/**
 * Runs whose contents were erased, or cannot be opened, driven again.
 *
 * Held here:
 * - a run that was not over parks as `content_missing`: nothing is sent, nothing written, and cancelling ends it
 * - a run that was over answers its outcome, without results, and asks no sink
 * - a result that nothing names, of a sender or of one who asked again and died, goes with its run; those of other runs stay
 * - an entry that is damaged or not encrypted parks the run; a master key that is missing is a failed execution, tried again; in
 *   both, what is there is never written over
 */
import { expect, test } from 'vitest';
import { Contents } from '../../src/activities/contents';
import { encryptedContents, type KeyRing } from '../../src/adapters/stores';
import { eraseContents } from '../../src/erase-contents';
import type { ContentStore } from '../../src/ports';
import { openingCheckpoint } from '../../src/rules/plans/plan';
import { storeView, verifyJournal } from '../../src/verify';
import { Bench } from './support';
import type { MemoryStore } from './simulation/store';

function deletable(memory: MemoryStore): ContentStore {
  return {
    scope: memory.scope,
    create: (path, bytes) => memory.create(path, bytes),
    read: (path) => memory.read(path),
    list: (prefix, after) => memory.list(prefix, after),
    delete: (path) => Promise.resolve(void memory.entries.delete(path)),
  };
}

/** One effect done, then stopped. */
async function halfDone(): Promise<Bench> {
  const bench = new Bench([{}, {}]);
  const stopping = (): boolean => bench.told.sent.length > 0;
  expect(await bench.drive(bench.engine(), {}, { stopping })).toMatchObject({ status: 'stopped' });
  expect(bench.told.sent).toHaveLength(1);
  return bench;
}

test('one that was not over', async () => {
  const bench = await halfDone();
  await expect(eraseContents(bench.store, deletable(bench.contents), bench.plan.runId)).rejects.toMatchObject({
    code: 'run_open',
  });
  await eraseContents(bench.store, deletable(bench.contents), bench.plan.runId, { force: true });
  expect(bench.contents.entries.size).toBe(0);
  const kept = bench.bytes();
  const lookUps = bench.told.lookUps;
  expect(await bench.carry()).toMatchObject({ status: 'parked', reason: 'content_missing' });
  expect(bench.told.sent).toHaveLength(1);
  expect(bench.told.lookUps).toBe(lookUps);
  expect(bench.bytes()).toBe(kept);
  expect(await verifyJournal(storeView(bench.store, bench.plan.runId), { strict: true })).toMatchObject({
    ok: true,
    justified: true,
  });
});

test('one that was over', async () => {
  const bench = new Bench([{}, {}]);
  expect(await bench.carry()).toMatchObject({ status: 'done' });
  await eraseContents(bench.store, deletable(bench.contents), bench.plan.runId);
  expect(bench.contents.entries.size).toBe(0);
  const [kept, lookUps] = [bench.bytes(), bench.told.lookUps];
  expect(await bench.carry()).toMatchObject({ status: 'done', replayed: true });
  expect(bench.told.sent).toHaveLength(2);
  expect(bench.told.lookUps).toBe(lookUps);
  expect(bench.bytes()).toBe(kept);
  expect(bench.contents.entries.size).toBe(0);
});

test('one with results that nothing names', async () => {
  const [bench, other] = [new Bench([{}, {}]), new Bench([{}, {}], 'ordered', 'another')];
  const { runId } = bench.plan;
  const at = (point: string): void => {
    if (point === 'result_kept') throw new Error('the process ends here');
  };
  await expect(bench.drive(bench.engine({}, { at }))).rejects.toThrow('ends here');
  expect(await bench.carry()).toMatchObject({ status: 'done' });
  expect(await other.carry()).toMatchObject({ status: 'done' });
  const key = openingCheckpoint(bench.plan).effects[1]!.idempotencyKey;
  const contents = new Contents(bench.contents);
  await contents.settleResult(key, await contents.putResult(runId, key, { row: 2 }));
  await contents.putResult(runId, key, { row: 3 });
  for (const [path, bytes] of other.contents.entries) bench.contents.entries.set(path, bytes);

  const { paths } = await eraseContents(bench.store, deletable(bench.contents), runId);
  expect(new Set(bench.contents.entries.keys())).toEqual(new Set(other.contents.entries.keys()));
  // One of the dead sender, one that a slot names, one that counts, and one of who asked again and died.
  expect(new Set(paths.filter((path) => path.startsWith('results/'))).size).toBe(4);
});

test('one whose entries do not open', async () => {
  const ring = (id: string, seed: number): KeyRing => ({ current: id, keys: { [id]: new Uint8Array(32).fill(seed) } });
  const bench = await halfDone();
  const plain = new Map(bench.contents.entries);
  const under = (keys: KeyRing) =>
    bench.engine({}, { contents: new Contents(encryptedContents(deletable(bench.contents), keys)) });
  expect(await bench.carry(under(ring('k1', 1)))).toMatchObject({ status: 'parked', reason: 'content_missing' });
  expect(bench.contents.entries).toEqual(plain);

  bench.contents.entries.clear();
  const sealed = encryptedContents(deletable(bench.contents), ring('k1', 1));
  for (const [path, bytes] of plain) await sealed.create(path, bytes);
  const kept = new Map(bench.contents.entries);
  await expect(bench.carry(under(ring('k2', 2)))).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(bench.contents.entries).toEqual(kept);
  expect(bench.told.sent).toHaveLength(1);

  const [one, two] = [...kept.keys()].filter((path) => path.startsWith('operations/')) as [string, string];
  bench.contents.entries.set(one, kept.get(two)!).set(two, kept.get(one)!);
  const swapped = new Map(bench.contents.entries);
  expect(await bench.carry(under(ring('k1', 1)))).toMatchObject({ status: 'parked', reason: 'content_missing' });
  expect(bench.contents.entries).toEqual(swapped);
  expect(bench.told.sent).toHaveLength(1);

  for (const [path, bytes] of kept) bench.contents.entries.set(path, bytes);
  expect(await bench.carry(under(ring('k1', 1)))).toMatchObject({ status: 'done' });
  expect(bench.told.sent).toHaveLength(2);
});
