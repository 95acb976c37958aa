/**
 * Damaged records of a journal.
 *
 * Held here, from fixed seeds:
 * - each reader that verifying uses accepts or refuses with a `Refusal` or `RecoveryError`, 100,000 times;
 * - what is accepted has one text, which is accepted again;
 * - an accepted witness derives a checkpoint or is refused so;
 * - a whole journal with one damaged file is always reported on, never an exception, and is never called good unless the
 *   damage was in a field that nothing else speaks of.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { journalIdFromBytes, journalToText } from '../../src/rules/journal-record';
import { parseRecord } from '../../src/rules/fields';
import { contentJson } from '../../src/rules/plans/content-json';
import { planFromRecord, planToRecord } from '../../src/rules/plans/plan';
import { type RecoveryCheckpoint, RecoveryError } from '../../src/rules/recovery';
import { Refusal } from '../../src/rules/refusal';
import { epochFromBytes, epochToText } from '../../src/rules/sends/epoch';
import { endFromBytes, endToText, slotFromBytes, slotToText } from '../../src/rules/sends/slot';
import { deriveNext, witnessFromBytes, witnessToText } from '../../src/rules/sends/witness';
import { verifyJournal } from '../../src/verify';
import { Chance, damaged, type Json } from '../support/damage';
import { memoryView } from './memory-view';
import { sampleJournal, type SampleJournal } from './sample-journal';

const ROUNDS = 100_000;
let sample: SampleJournal;
beforeAll(async () => void (sample = await sampleJournal()));

/** How each file of a journal is read, and written again. */
const READERS: Readonly<Record<string, { readonly file: RegExp; readonly again: (bytes: Uint8Array) => string }>> = {
  slots: { file: /sends\/.*\/0001$/, again: (bytes) => slotToText(slotFromBytes(bytes)) },
  ends: { file: /0001\.end$/, again: (bytes) => endToText(endFromBytes(bytes)) },
  epochs: { file: /epochs\//, again: (bytes) => epochToText(epochFromBytes(bytes)) },
  journals: { file: /journal\.json/, again: (bytes) => journalToText(journalIdFromBytes(bytes).slice(4)) },
  plans: {
    file: /plan\.json/,
    again: (bytes) => contentJson(planToRecord(parseRecord(bytes, 'plan', planFromRecord))),
  },
  witnesses: {
    file: /witnesses\//,
    again: (bytes) => {
      const witness = witnessFromBytes(bytes);
      refusable(() => deriveNext(sample.chain[0] as RecoveryCheckpoint, witness));
      return witnessToText(witness);
    },
  },
};

function refusable<T>(read: () => T): T | null {
  try {
    return read();
  } catch (fault) {
    if (fault instanceof Refusal || fault instanceof RecoveryError) return null;
    throw fault;
  }
}

describe('the readers of a journal', () => {
  it.each(Object.keys(READERS))('answer every damaged record of %s', { timeout: 300_000 }, (kind) => {
    const { file, again } = READERS[kind]!;
    const bytes = [...sample.files].find(([name]) => file.test(name))![1];
    const document = JSON.parse(bytes.toString()) as Json;
    const chance = new Chance(kind.length);
    let accepted = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const text = refusable(() => again(damaged(chance, document)));
      if (text === null) continue;
      accepted += 1;
      if (again(Buffer.from(text)) !== text) throw new Error('a record has two texts');
    }
    expect(accepted).toBeGreaterThan(100);
    expect(accepted).toBeLessThan(ROUNDS);
  });
});

describe('a whole journal', () => {
  it('with any one damaged file is reported on', { timeout: 300_000 }, async () => {
    const chance = new Chance(5);
    const names = [...sample.files.keys()];
    let good = 0;
    for (let round = 0; round < 4_000; round += 1) {
      const name = chance.of(names);
      const document = JSON.parse((sample.files.get(name) as Buffer).toString()) as Json;
      const files = new Map(sample.files).set(name, Buffer.from(damaged(chance, document)));
      const report = await verifyJournal(memoryView(files), { strict: true });
      if (!report.ok) continue;
      good += 1;
      const same = files.get(name)!.equals(sample.files.get(name) as Buffer);
      if (!same) expect(name).toMatch(/sends\/|epochs\/|journal\.json$/);
    }
    expect(good).toBeLessThan(400);
  });
});
