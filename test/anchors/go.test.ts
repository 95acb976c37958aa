/**
 * Against golang.org/x/mod/sumdb/note and tlog, both ways:
 * - Go opens our signed heads, and proves from our tiles each entry and each older head; a damaged log it refuses
 * - we open the heads of a log that Go wrote, agree with its roots, and accept each of its proofs
 * - of proofs that are damaged at random, Go and we accept and refuse the same
 * - notes and co-signatures of each are opened by the other; a damaged one is refused by both
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { fileStore } from '../../src/adapters/stores';
import { LogReader } from '../../src/anchor';
import { LogWriter } from '../../src/anchor/log-writer';
import { fromBase64, toBase64 } from '../../src/rules/anchors/base64';
import { noteFromText, noteToText, signNote, signatureFromLine, signersOf } from '../../src/rules/anchors/note';
import { signerToText, verifierFromText, verifierToText } from '../../src/rules/anchors/note-keys';
import { holdsConsistency, holdsInclusion } from '../../src/rules/anchors/proofs';
import { treeHeadToText } from '../../src/rules/anchors/tree-head';
import { describeWith } from '../systems/available';
import { startGoLog, type Claim } from './go-log';
import { LOG_KEY, keyOf } from './scene';

const VKEY = verifierToText(LOG_KEY);
const WITNESS = keyOf('witness.example/w1', 9, 'witness');
const SIZES = [1, 2, 255, 256, 257, 300, 520];

function head(index: number): { runId: string; lineage: number; sequence: number; digest: string } {
  const hex = (value: number, width: number): string => value.toString(16).padStart(width, '0');
  return {
    runId: `run_${hex(index % 7, 32)}`,
    lineage: 1,
    sequence: Math.floor(index / 7),
    digest: `sha256:${hex(index, 64)}`,
  };
}

const bytesOf = (texts: readonly string[]): Uint8Array[] => texts.map((text) => fromBase64(text) ?? new Uint8Array(0));

/** Our own judgement. */
function holds({ size, root, index, leaf, older, first, proof }: Claim): boolean {
  const [top = new Uint8Array(0), known = new Uint8Array(0)] = bytesOf([root, (leaf || first) ?? '']);
  return leaf
    ? holdsInclusion(known, index ?? 0, size, top, bytesOf(proof))
    : holdsConsistency({ size: older ?? 0, root: known }, { size, root: top }, bytesOf(proof));
}

describeWith('anchors and golang.org/x/mod', startGoLog, (go) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'countersign-go-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('Go proves every entry and older head of our log from our tiles, and refuses a damaged one', async () => {
    const dir = path.join(folder, 'ours');
    const log = fileStore(dir, { createRoot: true });
    const writer = await LogWriter.open({ log, key: LOG_KEY, journalId: `jrn_${'0'.repeat(32)}` });
    for (const size of SIZES) {
      await writer.append(Array.from({ length: size - writer.size }, (_, place) => head(writer.size + place)));
    }
    const checked = go.ask({ op: 'check-log', dir, key: VKEY, sizes: [0, ...SIZES] });
    expect(checked).toEqual({ ok: true, size: 520, root: toBase64(writer.head.root) });

    const damage = (name: string, change: (bytes: Buffer) => void): void => {
      const file = path.join(dir, name);
      const before = readFileSync(file);
      const bytes = Buffer.from(before);
      change(bytes);
      writeFileSync(file, bytes);
      expect(go.ask({ op: 'check-log', dir, key: VKEY, sizes: SIZES }).ok).toBe(false);
      writeFileSync(file, before);
    };
    damage('tile/entries/001', (bytes) => bytes.writeUInt8(bytes.readUInt8(100) ^ 1, 100));
    damage('tile/0/000', (bytes) => bytes.writeUInt8(bytes.readUInt8(33) ^ 1, 33));
    damage('tile/1/000.p/2', (bytes) => bytes.writeUInt8(bytes.readUInt8(0) ^ 1, 0));
    damage('heads/000/000/000/257', (bytes) => bytes.write('3', bytes.indexOf('257')));
    const other = verifierToText(keyOf(LOG_KEY.name, 99));
    expect(go.ask({ op: 'check-log', dir, key: other, sizes: SIZES }).ok).toBe(false);
  });

  it('we agree with every root and proof of a log that Go wrote, and refuse the damaged ones that Go refuses', async () => {
    const dir = path.join(folder, 'theirs');
    const entries = Array.from({ length: 300 }, (_, index) => `entry ${index} ${'x'.repeat(index % 50)}`);
    const made = go.ask({ op: 'make-log', dir, key: signerToText(LOG_KEY), sizes: [1, 200, 256, 300], entries });
    const cases = made.cases ?? [];
    expect(cases).toHaveLength(600);
    expect(cases.every(holds)).toBe(true);

    const reader = new LogReader(fileStore(dir), LOG_KEY);
    const newest = await reader.head();
    expect(toBase64(await reader.tiles(300).root())).toBe(toBase64(newest.root));
    for (const size of [1, 200, 256, 300]) expect(await reader.continues(await reader.head(size), newest)).toBe(true);
    for (const index of [0, 1, 199, 255, 256, 299])
      expect(await reader.prove(index, newest)).toContain(`index ${index}\n`);
    // Ours are theirs, hash by hash.
    for (const [index, { proof }] of cases.filter(({ leaf }) => leaf).entries()) {
      if (index % 23 === 0) expect((await reader.tiles(300).inclusionProof(index)).map(toBase64)).toEqual(proof);
    }

    const damaged = fc.sample(
      fc.tuple(
        fc.nat(cases.length - 1),
        fc.nat(20),
        fc.nat(255),
        fc.constantFrom('flip', 'cut', 'swap', 'move', 'size', 'root', 'none'),
      ),
      { numRuns: 3_000, seed: 7 },
    );
    const claims = damaged.map(([place, at, bit, how]) => broken(cases[place] as Claim, at, bit, how));
    const theirs = go.ask({ op: 'check-proofs', cases: claims }).holds;
    expect(claims.map(holds)).toEqual(theirs);
    expect(theirs?.filter(Boolean).length).toBeGreaterThan(100);
    expect(theirs?.filter((one) => !one).length).toBeGreaterThan(1_000);
  });

  it('notes and co-signatures of each are opened by the other, and damaged ones by neither', () => {
    const text = treeHeadToText({ origin: LOG_KEY.name, size: 7, root: new Uint8Array(32).fill(5) });
    const ours = noteToText({ text, signatures: [signNote(text, LOG_KEY), signNote(text, WITNESS, 1_700_000_123)] });
    const open = (note: string) => go.ask({ op: 'open-note', note, key: VKEY, witnesses: [verifierToText(WITNESS)] });
    expect(open(ours)).toEqual({ ok: true, names: [LOG_KEY.name, WITNESS.name] });

    const seed = Buffer.alloc(32, 77).toString('base64');
    const theirs = go.ask({ op: 'cosign', note: ours, key: `go.example/witness+${seed}`, time: 1_700_000_456 });
    const key = verifierFromText(theirs.verifier ?? '');
    const signature = signatureFromLine((theirs.line ?? '').slice(0, -1));
    if (key === null || signature === null) throw new Error('what Go made cannot be read');
    expect(signersOf({ text, signatures: [signature] }, [key])).toEqual([{ key, time: 1_700_000_456 }]);

    const keys = [LOG_KEY, WITNESS];
    const verdict = (note: string): readonly string[] | null => {
      const read = noteFromText(note);
      const signers = read === null ? null : signersOf(read, keys);
      return signers === null || signers.length === 0 ? null : signers.map((one) => one.key.name);
    };
    const bytes = Buffer.from(ours);
    for (let at = 0; at < bytes.length; at += 3) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      const note = changed.toString('utf8');
      const answer = open(note);
      expect([at, verdict(note)]).toEqual([at, answer.ok ? (answer.names ?? []) : null]);
    }
  });
});

function broken(claim: Claim, at: number, bit: number, how: string): Claim {
  const proof = [...claim.proof];
  const place = proof.length === 0 ? 0 : at % proof.length;
  const flip = (text: string): string => {
    const bytes = fromBase64(text) ?? new Uint8Array(32);
    bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
    return toBase64(bytes);
  };
  switch (how) {
    case 'flip':
      if (proof[place] !== undefined) proof[place] = flip(proof[place]);
      return { ...claim, proof };
    case 'cut':
      return { ...claim, proof: proof.slice(0, place) };
    case 'swap':
      return { ...claim, proof: proof.reverse() };
    case 'move':
      return claim.leaf
        ? { ...claim, index: (claim.index ?? 0) ^ (1 << (at % 8)) }
        : { ...claim, older: (claim.older ?? 0) ^ (1 << (at % 8)) };
    case 'size':
      return { ...claim, size: claim.size + 1 + at };
    case 'root':
      return { ...claim, root: flip(claim.root) };
    default:
      return claim;
  }
}
