/**
 * Properties of a chain that a history has not seen yet, but whose head it was given (a continued or a resumed run):
 * - handed over in pieces, it is not taken for one that is behind, and the head is asked for until it was met;
 * - one that ends before the known head, or has another checkpoint there, is `journal_behind`.
 */
import { beforeAll, expect, test } from 'vitest';
import type { DriveResult } from '../../src/activities/contract';
import { planToRecord } from '../../src/rules/plans/plan';
import { sha256Digest } from '../../src/rules/recovery';
import { witnessToRecord } from '../../src/rules/sends/witness';
import { ChainKeeper } from '../../src/workflows/chain-keeper';
import { sampleJournal, type SampleJournal } from '../verify/sample-journal';

const JOURNAL_ID = `jrn_${'0'.repeat(32)}`;
let sample: SampleJournal;
beforeAll(async () => void (sample = await sampleJournal()));

const head = (sequence: number): { sequence: number; digest: string } => ({
  sequence,
  digest: sample.chain[sequence]!.checkpointDigest,
});
const keeperOf = (known: { sequence: number; digest: string }): ChainKeeper =>
  new ChainKeeper(planToRecord(sample.plan), { journal_id: JOURNAL_ID, ...known });
/** Hands over the checkpoints behind `from`, up to `to`. */
const piece = (status: 'stopped' | 'done', from: number, to: number): DriveResult => ({
  status,
  journal_id: JOURNAL_ID,
  epoch: null,
  head: head(to),
  replayed: true,
  steps: sample.witnesses.slice(from, to).map(witnessToRecord),
});

test('piece by piece', () => {
  const keeper = keeperOf(head(3));
  for (const [from, to] of [
    [0, 1],
    [1, 2],
  ] as const) {
    expect(keeper.unseenHead).toEqual(head(3));
    keeper.accept(piece('stopped', from, to));
    expect(keeper.expectedHead).toEqual(head(to));
  }
  keeper.accept(piece('done', 2, 3));
  expect(keeper.unseenHead).toBeNull();
  expect(keeper.digests).toHaveLength(4);
});

test('what is behind', () => {
  expect(() => keeperOf(head(3)).accept(piece('done', 0, 2))).toThrow(/^journal_behind/);
  const other = { sequence: 2, digest: sha256Digest('other') };
  expect(() => keeperOf(other).accept(piece('stopped', 0, 2))).toThrow(/^journal_behind/);
  expect(() => keeperOf(other).accept(piece('done', 0, 3))).toThrow(/^journal_behind/);
});
