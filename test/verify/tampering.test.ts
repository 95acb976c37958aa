/**
 * A good journal, and everything that can be done to it.
 *
 * Held here:
 * - the good journal, its run and its lineage each verify strictly, from a folder and from a store alike, and say what they are;
 * - each damage is found, under the right code and at the right place; damage to a chain names sequence, field and digests;
 * - what is only untidy or unproven fails strictly and is a note otherwise;
 * - a changed byte in any file but a few free fields (times, owners without an end) is found, and never as another error;
 * - an expected head finds the cut-off tail that nothing else can find; no finding repeats a value.
 */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fileStore } from '../../src/adapters/stores';
import { initJournal } from '../../src/journal-init';
import { RecoveryCheckpoint, checkpointFileName, sha256Digest, sha256Hex } from '../../src/rules/recovery';
import { witnessToText } from '../../src/rules/sends/witness';
import { storeView, verify, verifyJournal, type FindingCode } from '../../src/verify';
import { sampleJournal, writeFiles, type SampleJournal } from './sample-journal';

let sample: SampleJournal;
let folder = '';
beforeAll(async () => void (sample = await sampleJournal()));
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'countersign-verify-'));
  writeFiles(folder, sample.files);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (...names: readonly string[]): string => path.join(folder, sample.run, ...names);
const checkpoint = (sequence: number): string => at('lineage-0001', checkpointFileName(BigInt(sequence)));
const slotFile = (effect: 0 | 1, name: string): string => at('sends', sample.keys[effect], name);
const witnessFolder = (sequence: number): string => at('witnesses', sample.chain[sequence]!.checkpointDigest.slice(7));
const witnessFile = (sequence: number): string =>
  path.join(witnessFolder(sequence), `${sha256Hex(witnessToText(sample.witnesses[sequence - 1]!))}.json`);
const edit = (file: string, from: string | RegExp, to: string): void => {
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(from);
  writeFileSync(file, text.replace(from, to));
};
const reseal = (sequence: number, change: Partial<RecoveryCheckpoint>): void => {
  const resealed = RecoveryCheckpoint.create({ ...sample.chain[sequence]!, ...change });
  writeFileSync(checkpoint(sequence), RecoveryCheckpoint.toJson(resealed));
};

describe('a good journal', () => {
  it.each([
    ['journal', () => folder, true],
    ['run', () => at(), true],
    ['lineage', () => at('lineage-0001'), null],
  ] as const)('verifies as a %s', async (kind, where, justified) => {
    const report = await verify(where(), { strict: true, expectHead: sample.chain[3]!.checkpointDigest });
    expect(report).toMatchObject({
      kind,
      ok: true,
      valid: true,
      justified,
      anchored: true,
      checkpoints: 4,
      findings: [],
    });
    const [lineage] = report.lineage === null ? report.runs[0]!.lineages : [report.lineage];
    expect(lineage).toMatchObject({ head: { sequence: 3, phase: 'completed' }, effects: 2, committed: 2 });
    expect(lineage?.justified).toBe(kind === 'lineage' ? 'none_here' : 'yes');
    expect(lineage?.chain.map(({ digest }) => digest)).toEqual(sample.chain.map((one) => one.checkpointDigest));
  });

  it('verifies from a store as from a folder', async () => {
    const [fromStore, fromFolder] = [await verifyJournal(storeView(fileStore(folder))), await verify(folder)];
    expect(fromStore).toEqual(fromFolder);
    expect(fromStore.runs[0]).toMatchObject({ epochs: 2, slots: { begun: 3, closed: 2, ended: 3 } });
  });

  it('is anchored by its head only', async () => {
    const report = await verify(folder, { expectHead: sample.chain[2]!.checkpointDigest });
    const { checkpointDigest: expected } = sample.chain[2]!;
    expect(report).toMatchObject({ ok: false, anchored: false });
    expect(report.findings).toMatchObject([{ code: 'head_unexpected', divergence: { sequence: 3, expected } }]);
    for (const name of [checkpoint(3), witnessFile(3)]) unlinkSync(name);
    expect(await verify(folder, { strict: true })).toMatchObject({ ok: true, anchored: false });
    expect(await verify(folder, { expectHead: sample.chain[3]!.checkpointDigest })).toMatchObject({ ok: false });
  });

  it('may be empty, and may hold a run that was not begun', async () => {
    const empty = path.join(folder, 'another');
    await initJournal(fileStore(empty, { createRoot: true }));
    expect(await verify(empty, { strict: true })).toMatchObject({ kind: 'journal', ok: true, runs: [] });
    mkdirSync(path.join(empty, sample.run));
    writeFileSync(path.join(empty, sample.run, 'plan.json'), readFileSync(at('plan.json')));
    expect(await verify(empty, { strict: true })).toMatchObject({ ok: true, runs: [{ lineages: [] }] });
    mkdirSync(path.join(empty, 'nothing'));
    expect(await verify(path.join(empty, 'nothing'))).toMatchObject({ kind: 'nothing', ok: false });
  });
});

interface Damage {
  readonly do: () => void;
  readonly code: FindingCode;
  /** A part of the path at which it is found. */
  readonly path: string;
  /** Sequence and field of the divergence. */
  readonly divergence?: readonly [number, string];
  readonly strictOnly?: boolean;
}

/** A whole forged continuation: valid by every rule of the contract, and nothing derives it. */
function forgeTail(): void {
  unlinkSync(checkpoint(3));
  const forged = RecoveryCheckpoint.create({
    ...sample.chain[2]!,
    sequence: 3n,
    phase: 'aborted',
    previousCheckpointDigest: sample.chain[2]!.checkpointDigest,
  });
  writeFileSync(checkpoint(3), RecoveryCheckpoint.toJson(forged));
}

/** A witness of another step under the name of a true one. */
function forgeWitness(beside: boolean): void {
  const text = witnessToText({ ...sample.witnesses[1]!, observations: sample.witnesses[0]!.observations });
  if (!beside) unlinkSync(witnessFile(2));
  writeFileSync(path.join(witnessFolder(2), `${sha256Hex(text)}.json`), text);
}

const CHAIN = 'lineage-0001';
const DAMAGES: Readonly<Record<string, Damage>> = {
  'a digit of a checkpoint': {
    do: () => edit(checkpoint(1), '"phase":"dispatching"', '"phase":"reconciling"'),
    code: 'lineage_invalid',
    path: '01.json',
    divergence: [1, 'checkpoint_digest'],
  },
  'the end of a checkpoint': {
    do: () => truncateSync(checkpoint(2), 100),
    code: 'lineage_invalid',
    path: '02.json',
    divergence: [2, 'checkpoint'],
  },
  'a checkpoint sealed anew in the middle': {
    do: () => reseal(1, { recoveryEvidenceDigest: sha256Digest('x') }),
    code: 'lineage_invalid',
    path: '02.json',
    divergence: [2, 'previous_checkpoint_digest'],
  },
  'the head sealed anew': {
    do: () => reseal(3, { recoveryEvidenceDigest: sha256Digest('x') }),
    code: 'checkpoint_unjustified',
    path: '03.json',
    divergence: [3, 'witness'],
    strictOnly: true,
  },
  'a forged tail': { do: forgeTail, code: 'witness_missing', path: '03.json', strictOnly: true },
  'a missing checkpoint': {
    do: () => unlinkSync(checkpoint(1)),
    code: 'lineage_invalid',
    path: '01.json',
    divergence: [1, 'journal'],
  },
  'a missing first checkpoint': {
    do: () => unlinkSync(checkpoint(0)),
    code: 'lineage_invalid',
    path: '00.json',
    divergence: [0, 'journal'],
  },
  'two checkpoints swapped': {
    do: () => {
      renameSync(checkpoint(1), `${checkpoint(1)}.x`);
      renameSync(checkpoint(2), checkpoint(1));
      renameSync(`${checkpoint(1)}.x`, checkpoint(2));
    },
    code: 'lineage_invalid',
    path: '01.json',
    divergence: [1, 'journal'],
  },
  'a link in place of a checkpoint': {
    do: () => {
      renameSync(checkpoint(3), at('elsewhere'));
      symlinkSync(at('elsewhere'), checkpoint(3));
    },
    code: 'lineage_invalid',
    path: '03.json',
    divergence: [3, 'journal'],
  },
  'an extra entry in a lineage': {
    do: () => writeFileSync(at(CHAIN, 'notes.txt'), 'x'),
    code: 'lineage_invalid',
    path: CHAIN,
    divergence: [0, 'journal'],
  },
  'a checkpoint spelled otherwise': {
    do: () => writeFileSync(checkpoint(3), `${readFileSync(checkpoint(3), 'utf8')}\n`),
    code: 'not_canonical',
    path: '03.json',
    strictOnly: true,
  },
  'a leftover of an append': {
    do: () => writeFileSync(at(CHAIN, '.checkpoint-abc'), ''),
    code: 'leftover_temporary',
    path: '.checkpoint-abc',
    strictOnly: true,
  },
  'a leftover of the store': {
    do: () => {
      mkdirSync(path.join(folder, '.tmp'));
      writeFileSync(path.join(folder, '.tmp/abc'), '');
    },
    code: 'leftover_temporary',
    path: '.tmp/abc',
    strictOnly: true,
  },
  'the lineage of another run': {
    do: () => {
      const first = RecoveryCheckpoint.create({ ...sample.chain[0]!, planDigest: sha256Digest('other') });
      for (const sequence of [1, 2, 3]) unlinkSync(checkpoint(sequence));
      writeFileSync(checkpoint(0), RecoveryCheckpoint.toJson(first));
    },
    code: 'lineage_foreign',
    path: '00.json',
    divergence: [0, 'plan_digest'],
  },
  'a skipped lineage number': {
    do: () => renameSync(at(CHAIN), at('lineage-0002')),
    code: 'lineage_missing',
    path: CHAIN,
  },
  'a missing lineage': { do: () => rmSync(at(CHAIN), { recursive: true }), code: 'slot_unknown_head', path: 'sends/' },
  'a missing witness': {
    do: () => unlinkSync(witnessFile(2)),
    code: 'witness_missing',
    path: '02.json',
    strictOnly: true,
  },
  'a digit of a witness': {
    do: () => edit(witnessFile(2), '"now":1002', '"now":1003'),
    code: 'witness_invalid',
    path: 'witnesses/',
  },
  'half a witness': { do: () => truncateSync(witnessFile(2), 50), code: 'witness_invalid', path: 'witnesses/' },
  'a witness under another name': {
    do: () => renameSync(witnessFile(2), path.join(witnessFolder(2), `${'0'.repeat(64)}.json`)),
    code: 'witness_invalid',
    path: 'witnesses/',
  },
  'a forged witness': {
    do: () => forgeWitness(false),
    code: 'witness_invalid',
    path: 'witnesses/',
    divergence: [2, 'recovery_evidence_digest'],
  },
  'a forged witness beside a true one': { do: () => forgeWitness(true), code: 'witness_invalid', path: 'witnesses/' },
  'a strange witness folder': { do: () => mkdirSync(at('witnesses/x')), code: 'entry_unexpected', path: 'witnesses/x' },
  'a digit of the plan': {
    do: () => edit(at('plan.json'), 'ordered', 'independent'),
    code: 'plan_invalid',
    path: 'plan.json',
  },
  'half a plan': { do: () => truncateSync(at('plan.json'), 50), code: 'plan_invalid', path: 'plan.json' },
  'no plan': { do: () => unlinkSync(at('plan.json')), code: 'plan_missing', path: 'run_' },
  'a plan spelled otherwise': {
    do: () => edit(at('plan.json'), /^/, ' '),
    code: 'not_canonical',
    path: 'plan.json',
    strictOnly: true,
  },
  'a run under another name': {
    do: () => renameSync(at(), path.join(folder, `run_${'0'.repeat(32)}`)),
    code: 'plan_misplaced',
    path: 'plan.json',
  },
  'an extra entry in a run': {
    do: () => writeFileSync(at('notes.txt'), 'x'),
    code: 'entry_unexpected',
    path: 'notes.txt',
  },
  'an extra entry in the journal': {
    do: () => writeFileSync(path.join(folder, 'notes.txt'), 'x'),
    code: 'entry_unexpected',
    path: 'notes.txt',
  },
  'no journal record': {
    do: () => unlinkSync(path.join(folder, 'journal.json')),
    code: 'journal_record_invalid',
    path: 'journal.json',
  },
  'a bad journal record': {
    do: () => edit(path.join(folder, 'journal.json'), 'jrn_0', 'jrn_x'),
    code: 'journal_record_invalid',
    path: 'journal.json',
  },
  'a missing epoch': { do: () => unlinkSync(at('epochs/000001')), code: 'epoch_invalid', path: 'epochs/000002' },
  'the last epoch missing': { do: () => unlinkSync(at('epochs/000002')), code: 'slot_unknown_epoch', path: 'sends/' },
  'an epoch of another number': {
    do: () => edit(at('epochs/000002'), '"epoch":2', '"epoch":3'),
    code: 'epoch_invalid',
    path: 'epochs/000002',
  },
  'a bad epoch': { do: () => truncateSync(at('epochs/000001'), 9), code: 'epoch_invalid', path: 'epochs/000001' },
  'a missing slot': { do: () => unlinkSync(slotFile(1, '0002')), code: 'slot_invalid', path: '0003' },
  'a missing slot with an end': { do: () => unlinkSync(slotFile(1, '0003')), code: 'end_invalid', path: '0003.end' },
  'slots of no effect': {
    do: () => renameSync(at('sends', sample.keys[0]), at('sends', `idem_${'0'.repeat(64)}`)),
    code: 'slot_unknown_effect',
    path: 'sends/idem_0',
  },
  'a bad slot': { do: () => truncateSync(slotFile(0, '0001'), 9), code: 'slot_invalid', path: '0001' },
  'a slot of a future epoch': {
    do: () => edit(slotFile(1, '0003'), '"epoch":2', '"epoch":9'),
    code: 'slot_unknown_epoch',
    path: '0003',
  },
  'a slot of an earlier epoch than the one before': {
    do: () => edit(slotFile(1, '0003'), '"epoch":2', '"epoch":1'),
    code: 'slot_out_of_turn',
    path: '0003',
  },
  'a slot begun by a takeover at once': {
    do: () => edit(slotFile(0, '0001'), '"epoch":1', '"epoch":2'),
    code: 'slot_out_of_turn',
    path: '0001',
  },
  'a slot under another head': {
    do: () => edit(slotFile(1, '0003'), /sha256:[0-9a-f]{64}/, sha256Digest('x')),
    code: 'slot_unknown_head',
    path: '0003',
    divergence: [2, 'head.digest'],
  },
  'a slot beyond the chain': {
    do: () => edit(slotFile(1, '0003'), '"sequence":2', '"sequence":9'),
    code: 'slot_unknown_head',
    path: '0003',
  },
  'a send for a committed effect': {
    do: () => {
      const text = readFileSync(slotFile(1, '0003'), 'utf8');
      writeFileSync(slotFile(0, '0003'), text);
    },
    code: 'slot_out_of_turn',
    path: '0003',
  },
  'an end of another owner': {
    do: () => edit(slotFile(1, '0003.end'), /own_2{32}/, `own_${'3'.repeat(32)}`),
    code: 'end_invalid',
    path: '0003.end',
  },
  'an end of a closed slot': {
    do: () => writeFileSync(slotFile(0, '0002.end'), readFileSync(slotFile(1, '0003.end'))),
    code: 'end_invalid',
    path: '0002.end',
  },
  'a strange entry among slots': {
    do: () => writeFileSync(slotFile(0, '1'), 'x'),
    code: 'entry_unexpected',
    path: '/1',
  },
  'an end with another external id': {
    do: () => edit(slotFile(1, '0003.end'), 'ext-1', 'ext-9'),
    code: 'proof_contradicted',
    path: '03.json',
  },
  'the end behind an ack removed': {
    do: () => unlinkSync(slotFile(1, '0003.end')),
    code: 'proof_contradicted',
    path: '03.json',
  },
  'the end behind a failed send removed': {
    do: () => unlinkSync(slotFile(1, '0001.end')),
    code: 'proof_contradicted',
    path: '02.json',
  },
  'a slot moved before the look that missed it': {
    do: () => {
      edit(slotFile(1, '0001'), /"sequence":1/, '"sequence":0');
      edit(slotFile(1, '0001'), sample.chain[1]!.checkpointDigest, sample.chain[0]!.checkpointDigest);
    },
    code: 'proof_contradicted',
    path: '01.json',
  },
  'a folder in place of a file': {
    do: () => {
      unlinkSync(slotFile(0, '0001'));
      mkdirSync(slotFile(0, '0001'));
    },
    code: 'entry_unreadable',
    path: '0001',
  },
  'a file too large to be a record': {
    do: () => truncateSync(slotFile(0, '0001'), 1_048_577),
    code: 'entry_unreadable',
    path: '0001',
  },
};

describe('a damaged journal', () => {
  it.each(Object.keys(DAMAGES))('with %s is found out', async (what) => {
    const damage = DAMAGES[what] as Damage;
    damage.do();
    const strict = await verify(folder, { strict: true });
    expect(strict.ok).toBe(false);
    const found = strict.findings.find(({ code, path: place }) => code === damage.code && place.includes(damage.path));
    expect(found, JSON.stringify(strict.findings)).toBeDefined();
    expect(found?.failure).toBe(true);
    if (damage.divergence !== undefined) {
      const [sequence, field] = damage.divergence;
      expect(found?.divergence).toMatchObject({ sequence, field });
    }
    const lenient = await verify(folder);
    expect(lenient.ok, JSON.stringify(lenient.findings)).toBe(damage.strictOnly === true);
    const words = JSON.stringify([strict, lenient]);
    expect(/ext-[0-9]|own_[0-9a-f]{32}/.exec(words)).toBeNull();
  });

  it('names expected and actual digest of the first divergence', async () => {
    reseal(1, { recoveryEvidenceDigest: sha256Digest('x') });
    const resealed = RecoveryCheckpoint.fromJson(readFileSync(checkpoint(1)));
    const lineage = (await verify(folder)).runs[0]?.lineages[0];
    expect(lineage).toMatchObject({ valid: false, justified: 'no', checkpoints: 2 });
    expect(lineage?.divergence).toEqual({
      sequence: 2,
      field: 'previous_checkpoint_digest',
      expected: resealed.checkpointDigest,
      actual: sample.chain[1]!.checkpointDigest,
    });
  });
});

describe('a changed byte', () => {
  /** Nothing else in a journal says what these should be. */
  const FREE =
    /"(?:opened_at|deadline_ms|settle_ms|scheduled_at|retry_after_ms)":|"driver":"sha256:|"result_digest":|"owner":"own_|"journal_id":"jrn_|"external_id":/;

  it('is found in every file, or stands in a free field', async () => {
    const free = new Set<string>();
    for (const [name, bytes] of sample.files) {
      const step = Math.max(1, Math.floor(bytes.length / 40));
      for (let index = 0; index < bytes.length; index += step) {
        const changed = Buffer.from(bytes);
        changed[index] = changed[index]! ^ 1;
        writeFileSync(path.join(folder, name), changed);
        const report = await verify(folder, { strict: true });
        if (report.ok) free.add(fieldAt(bytes.toString(), index));
      }
      writeFileSync(path.join(folder, name), bytes);
    }
    for (const field of free) expect(field).toMatch(FREE);
    expect((await verify(folder, { strict: true })).ok).toBe(true);
  }, 240_000);

  function fieldAt(text: string, index: number): string {
    const start = Math.max(0, text.lastIndexOf(',"', index));
    return text.slice(start, index + 1).padEnd(1) + text.slice(index + 1, index + 16);
  }
});
