/**
 * Properties of exporting and importing the histories of verification runs:
 * - the export of an import is the import, byte for byte; importing it again places nothing;
 * - a target that holds something else in a record's, or a capture's, place is refused, and stays as it is;
 * - an import that is cut off shows no half of a history: until a run is whole, nobody can open it or carry it on;
 * - a journal that is copied takes the runs with it: their records, what these rest on, and nothing else;
 * - a file that is damaged in any byte of any line places nothing.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Journal } from '../../src/activities/journal';
import { verificationRunIds } from '../../src/activities/read-runs';
import type { Store } from '../../src/ports';
import { copyJournal, exportLifecycle, importLifecycle, placeLifecycle } from '../../src/transfer';
import { runDigest } from '../../src/rules/verification/run';
import { snapshotDigest } from '../../src/rules/verification/snapshot';
import { storeView, verifyJournal } from '../../src/verify';
import { RunBench } from '../activities/run-bench';
import { MemoryStore } from '../activities/simulation/store';
import { draft } from '../workflows/verification/drafts';
import { KEYS, capture, linesOf, proposal, runOf, storyOf } from '../rules/verification/support';

const snapshotOf = (number: number): ReturnType<typeof runOf>['snapshot'] => ({
  ...runOf(1, 1).snapshot,
  captureId: capture(number),
});
const STORIES = [1, 2, 3].map((number) =>
  storyOf(runOf(number, 2, { snapshot: snapshotOf(number) }), [proposal(number)]),
);
const TEXT = linesOf([...STORIES].sort((one, other) => (one.runId < other.runId ? -1 : 1)))
  .map((line) => `${line}\n`)
  .join('');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'countersign-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const sourceOf = (text: string): Parameters<typeof placeLifecycle>[1] => {
  const bytes = Buffer.from(text, 'latin1');
  return { read: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)) };
};

test('the export of an import is the import', async () => {
  const [file, again] = [path.join(folder, 'in'), path.join(folder, 'out')];
  await writeFile(file, TEXT);
  const store = new MemoryStore();
  const imported = await importLifecycle(store, file, { keys: KEYS });
  expect(imported).toMatchObject({ runs: 3, placed: imported.records });
  expect(await exportLifecycle(store, again)).toMatchObject({ runs: 3, records: imported.records, open: [] });
  expect(await readFile(again, 'utf8')).toBe(TEXT);
  expect(await importLifecycle(store, again)).toMatchObject({ placed: 0 });
});

const textsOf = ({ entries }: MemoryStore): Record<string, string> =>
  Object.fromEntries([...entries].map(([name, bytes]) => [name, new TextDecoder().decode(bytes)]));

test('a copied journal has all of a run', async () => {
  const bench = new RunBench();
  await bench.carry(await bench.prepare(draft(1, 1)));
  const copy = new MemoryStore();
  await copyJournal(bench.journal, copy);
  expect(textsOf(copy)).toEqual(textsOf(bench.journal));
  expect((await verifyJournal(storeView(copy), { strict: true })).findings).toEqual([]);
});

test('what is another in the target is refused', async () => {
  const whole = new MemoryStore();
  await placeLifecycle(whole, sourceOf(TEXT));
  const paths = [...whole.entries.keys()].filter((name) => name !== 'journal.json');
  for (const taken of [
    paths.find((one) => one.includes('/lifecycle/')),
    paths.find((one) => one.startsWith('captures/')),
  ]) {
    const store = new MemoryStore();
    await store.create('journal.json', whole.entries.get('journal.json')!);
    await store.create(taken!, new TextEncoder().encode('{}'));
    const before = new Map(store.entries);
    await expect(placeLifecycle(store, sourceOf(TEXT))).rejects.toMatchObject({ code: 'journal_conflict' });
    expect(store.entries).toEqual(before);
  }
});

test('one capture for two things is refused', async () => {
  const other = { ...snapshotOf(1), targetDigest: snapshotDigest(snapshotOf(1)) };
  const stories = [STORIES[0]!, storyOf(runOf(1, 1, { snapshot: other }))];
  const text = linesOf(stories.sort((one, two) => (one.runId < two.runId ? -1 : 1))).map((line) => `${line}\n`);
  const store = new MemoryStore();
  await expect(placeLifecycle(store, sourceOf(text.join('')))).rejects.toMatchObject({ code: 'record_conflict' });
  expect(store.entries.size).toBe(0);
});

test('cut off after any entry, no half of a run is to be seen', async () => {
  const whole = new MemoryStore();
  await placeLifecycle(whole, sourceOf(TEXT));
  for (let entries = 0; entries < whole.entries.size; entries += 7) {
    const memory = new MemoryStore();
    await memory.create('journal.json', whole.entries.get('journal.json')!);
    let left = entries;
    const store: Store = {
      scope: 'host',
      read: (name) => memory.read(name),
      list: (prefix, after) => memory.list(prefix, after),
      create: (name, bytes) => ((left -= 1) < 0 ? Promise.reject(new Error('full')) : memory.create(name, bytes)),
    };
    await expect(placeLifecycle(store, sourceOf(TEXT))).rejects.toThrow('full');
    const journal = new Journal(memory);
    for (const runId of await verificationRunIds(journal)) {
      expect((await journal.run(runId).book(await journal.id())).outcome).toBe('completed');
    }
    await placeLifecycle(memory, sourceOf(TEXT));
    expect(memory.entries).toEqual(whole.entries);
  }
});

test('damaged anywhere, nothing is placed', async () => {
  const byte = fc.record({ at: fc.nat(TEXT.length - 1), to: fc.integer({ min: 0, max: 255 }) });
  await fc.assert(
    fc.asyncProperty(byte, async ({ at, to }) => {
      const text = TEXT.slice(0, at) + String.fromCharCode(to) + TEXT.slice(at + 1);
      if (text === TEXT) return;
      const store = new MemoryStore();
      await expect(placeLifecycle(store, sourceOf(text))).rejects.toMatchObject({ name: 'Refusal' });
      expect(store.entries.size).toBe(0);
    }),
    { numRuns: 60 },
  );
});

test('runs are those that were told', async () => {
  const store = new MemoryStore();
  await placeLifecycle(store, sourceOf(TEXT));
  const journal = new Journal(store);
  const digests = await Promise.all(
    (await verificationRunIds(journal)).map(async (id) => (await journal.run(id).book(await journal.id())).must.digest),
  );
  expect(digests.sort()).toEqual(STORIES.map(({ run }) => runDigest(run)).sort());
});
