/**
 * Runs placed into journals, and journals copied.
 *
 * Held here:
 * - of two copies the smaller one is brought up to the other, entry by entry, and a larger one is left alone;
 * - whatever conflicts (another journal, another entry, two ways gone from one state, other contents, a folder of something
 *   else, a source that does not verify) is refused by its code, and nothing is written;
 * - cut short at any entry, a placing leaves no journal in a new folder, and the same placing again completes it.
 */
import { describe, expect, it } from 'vitest';
import { StoreError, type CreateOutcome } from '../../src/ports';
import { journalToText } from '../../src/rules/journal-record';
import { epochToText } from '../../src/rules/sends/epoch';
import { sha256Digest } from '../../src/rules/recovery';
import { copyJournal, importRun, type Copied } from '../../src/transfer';
import { storeView, verifyJournal } from '../../src/verify';
import { WholeStore, exported, opened, sampleRun, type Sample } from './support';

const sorted = (store: WholeStore): Map<string, string> =>
  new Map([...store.entries].map(([name, bytes]) => [name, Buffer.from(bytes).toString()] as const).sort());
const epoch3 = (driver: string): Buffer =>
  Buffer.from(
    epochToText({ epoch: 3, owner: `own_${'3'.repeat(32)}`, driver: sha256Digest(driver), lineage: 1, scheduledAt: 1 }),
  );

/** The journal as it was after so many of its entries. */
function earlier({ sample }: Sample, entries: number): WholeStore {
  return new WholeStore([...sample.files].slice(0, entries));
}

describe('a copied journal', () => {
  it('is the journal', async () => {
    const one = await sampleRun();
    const [two, to] = [await sampleRun('second'), new WholeStore()];
    for (const [name, bytes] of two.journal.entries) one.journal.put(name, bytes);
    const copied: Copied = await copyJournal(one.journal, to);
    expect(copied.runs.map(({ state }) => state)).toEqual(['placed', 'placed']);
    expect(sorted(to)).toEqual(sorted(one.journal));
    expect((await copyJournal(one.journal, to)).runs.map(({ state, written }) => [state, written])).toEqual([
      ['same', 0],
      ['same', 0],
    ]);
    expect(await verifyJournal(storeView(to), { strict: true })).toMatchObject({ ok: true, runs: [{}, {}] });
  });

  it('brings an older state up, from each one, and leaves a newer one alone', async () => {
    const sample = await sampleRun();
    const all = sample.sample.files.size;
    for (let entries = 2; entries < all; entries += 1) {
      const old = earlier(sample, entries);
      const source = earlier(sample, entries);
      const { runs } = await copyJournal(sample.journal, old);
      expect(runs).toEqual([{ runId: sample.runId, state: 'advanced', written: all - entries }]);
      expect(sorted(old)).toEqual(sorted(sample.journal));
      if (!(await verifyJournal(storeView(source))).ok) continue;
      expect((await copyJournal(source, old)).runs).toMatchObject([{ state: 'ahead', written: 0 }]);
    }
  });
});

const REFUSED: Readonly<Record<string, { readonly code: string; readonly to: (sample: Sample) => WholeStore }>> = {
  'another journal': {
    code: 'wrong_journal',
    to: () => new WholeStore([['journal.json', Buffer.from(journalToText('1'.repeat(32)))]]),
  },
  'a folder of something else': {
    code: 'journal_missing',
    to: () => new WholeStore([['notes.txt', Buffer.from('x')]]),
  },
  'another plan of the run': {
    code: 'journal_conflict',
    to: (sample) => new WholeStore([...earlier(sample, 1).entries, [`${sample.runId}/plan.json`, Buffer.from('{}')]]),
  },
  'two ways gone from one state': {
    code: 'journal_conflict',
    to: (sample) => new WholeStore([...earlier(sample, 6).entries, [`${sample.runId}/epochs/000003`, epoch3('other')]]),
  },
  'another driver under one epoch': {
    code: 'journal_conflict',
    to: (sample) => {
      sample.journal.put(`${sample.runId}/epochs/000003`, epoch3('this'));
      return new WholeStore([...sample.sample.files, [`${sample.runId}/epochs/000003`, epoch3('other')]]);
    },
  },
  'a source that does not verify': {
    code: 'journal_invalid',
    to: (sample) => {
      sample.journal.entries.delete(`${sample.runId}/lineage-0001/checkpoint-00000000000000000001.json`);
      return new WholeStore();
    },
  },
};

describe('what is refused', () => {
  it.each(Object.keys(REFUSED))('%s', async (name) => {
    const { code, to } = REFUSED[name]!;
    const sample = await sampleRun();
    const target = to(sample);
    const before = sorted(target);
    await expect(copyJournal(sample.journal, target)).rejects.toMatchObject({ code });
    expect(sorted(target)).toEqual(before);
    const run = await opened(await exported(sample.journal, sample.contents, sample.runId));
    const contents = new WholeStore();
    await expect(importRun(run, target, contents)).rejects.toMatchObject({ code });
    expect(sorted(target)).toEqual(before);
    expect(contents.entries.size).toBe(0);
  });

  it('other contents', async () => {
    const { journal, contents, runId } = await sampleRun();
    const run = await opened(await exported(journal, contents, runId));
    const [to, other] = [new WholeStore(), new WholeStore([[`salts/${runId}`, Buffer.from('cd'.repeat(32))]])];
    await expect(importRun(run, to, other)).rejects.toMatchObject({ code: 'journal_conflict' });
    expect([to.entries.size, other.entries.size]).toEqual([0, 1]);
  });
});

/** Takes so many entries and then fails. */
class FullStore extends WholeStore {
  constructor(private room: number) {
    super();
  }
  override create(name: string, bytes: Uint8Array): Promise<CreateOutcome> {
    if (this.entries.size >= this.room) return Promise.reject(new StoreError('store_full', 'no room'));
    return super.create(name, bytes);
  }
  grow(): void {
    this.room = Infinity;
  }
}

describe('a placing that is cut short', () => {
  it('at any entry leaves no journal, and goes on when it is asked again', async () => {
    const { journal, contents, runId, sample } = await sampleRun();
    const run = await opened(await exported(journal, contents, runId));
    for (let room = 0; room < sample.files.size; room += 1) {
      const to = new FullStore(room);
      await expect(importRun(run, to, null)).rejects.toMatchObject({ code: 'store_full' });
      expect(to.entries.has('journal.json')).toBe(false);
      to.grow();
      await importRun(run, to, null);
      expect(sorted(to)).toEqual(sorted(journal));
    }
  });
});
