/**
 * Properties:
 * - notes, keys and co-signatures are those of the published examples, byte for byte
 * - a note counts by the signatures of given keys only; a bad one of a given key refuses it; strangers are passed over
 * - tile names, tiles and bundles are those of the published examples, and nothing but the exact bytes is read back
 * - of a tree head, a lineage head, a batch and a proof there is one text, and any other is refused
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromBase64, toBase64 } from '../../../src/rules/anchors/base64';
import { batchFromBytes, batchToText, sizePath } from '../../../src/rules/anchors/batch';
import { lineageHeadFromBytes, lineageHeadToText } from '../../../src/rules/anchors/lineage-head';
import { leafHash } from '../../../src/rules/anchors/merkle';
import { noteFromText, noteToText, signNote, signersOf } from '../../../src/rules/anchors/note';
import {
  signerFromSeed,
  signerFromText,
  signerToText,
  verifierFromText,
  verifierToText,
} from '../../../src/rules/anchors/note-keys';
import { proofFromText, proofToText } from '../../../src/rules/anchors/proof-text';
import {
  entriesPath,
  entryIn,
  joinEntries,
  partialTile,
  splitEntries,
  tileAt,
  tilePath,
} from '../../../src/rules/anchors/tiles';
import { treeHeadFromText, treeHeadToText } from '../../../src/rules/anchors/tree-head';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** From the documentation of golang.org/x/mod/sumdb/note. */
const PETER = {
  signer: 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz',
  verifier: 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  text: 'If you think cryptography is the answer to your problem,\n' + "then you don't know what your problem is.\n",
  line: '\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
};

describe('keys and notes', () => {
  it('are those of the published example', () => {
    const signer = signerFromText(PETER.signer)!;
    expect(verifierToText(signer)).toBe(PETER.verifier);
    expect(signerToText(signer)).toBe(PETER.signer);
    const note = { text: PETER.text, signatures: [signNote(PETER.text, signer)] };
    expect(noteToText(note)).toBe(`${PETER.text}\n${PETER.line}`);
    const read = noteFromText(noteToText(note))!;
    expect(signersOf(read, [verifierFromText(PETER.verifier)!])).toHaveLength(1);
  });

  const seed = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
  const log = signerFromSeed('log', 'example.com/log', seed(1));
  const witness = signerFromSeed('witness', 'witness.example/w1', seed(2));
  const text = treeHeadToText({ origin: 'example.com/log', size: 1, root: seed(9) });
  const note = { text, signatures: [signNote(text, log), signNote(text, witness, 1_679_315_147)] };

  it('of a witness say when, and hold for that time only', () => {
    expect(signersOf(note, [witness])).toEqual([{ key: witness, time: 1_679_315_147 }]);
    const other = { ...note.signatures[1]!, bytes: note.signatures[1]!.bytes.map((b, at) => (at === 7 ? b ^ 1 : b)) };
    expect(signersOf({ text, signatures: [other] }, [witness])).toBeNull();
  });

  it('are refused for any other text, and for a bad signature of a given key', () => {
    expect(signersOf({ ...note, text: text.replace('1', '2') }, [log])).toBeNull();
    const stranger = signerFromSeed('log', 'example.com/log', seed(3));
    expect(signersOf(note, [stranger])).toEqual([]);
    // The same name and id over another key's signature.
    const posing = { ...signNote(text, stranger), id: log.id };
    expect(signersOf({ text, signatures: [posing] }, [log])).toBeNull();
  });

  it('never take a log’s signature for a witness’s, whatever keys are shared', () => {
    const both = signerFromSeed('witness', 'example.com/log', seed(1));
    expect(both.id).not.toBe(log.id);
    expect(signersOf({ text, signatures: [signNote(text, log)] }, [both])).toEqual([]);
  });

  it('are read back as they were, and not at all when they are cut or hold what a note may not', () => {
    const whole = noteToText(note);
    expect(noteFromText(whole)).toEqual(note);
    for (const bad of [
      '',
      text,
      `${text}\n`,
      whole.slice(0, -1),
      whole.replace('\u2014', '-'),
      `${whole}\r\n`,
      `a\t${whole}`,
    ]) {
      expect(noteFromText(bad)).toBeNull();
    }
    expect(noteFromText(`${whole}\u2014 тест.example AAAAAAAA\n`)?.signatures).toHaveLength(3);
  });

  it('refuse a key whose id, kind or length is another', () => {
    const key = verifierToText(log);
    expect(verifierFromText(key)).toEqual({ kind: 'log', name: log.name, id: log.id, publicKey: log.publicKey });
    for (const bad of [
      key.replace('log+', 'lag+'),
      key.slice(0, -4),
      `${key}AAAA`,
      key.replace('+', ' +'),
      'a+b',
      '',
    ]) {
      expect(verifierFromText(bad)).toBeNull();
    }
    expect(signerFromText(verifierToText(log))).toBeNull();
  });
});

describe('tiles', () => {
  it('are named as published', () => {
    expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067');
    expect(tilePath({ level: 1, index: 0, width: 17 })).toBe('tile/1/000.p/17');
    expect(entriesPath({ index: 273, width: 112 })).toBe('tile/entries/273.p/112');
    expect(tilePath({ level: 2, index: 1_000, width: 256 })).toBe('tile/2/x001/000');
  });

  it('of a tree of 70,000 are the published ones', () => {
    expect(partialTile(0, 70_000)).toEqual({ level: 0, index: 273, width: 112 });
    expect(partialTile(1, 70_000)).toEqual({ level: 1, index: 1, width: 17 });
    expect(partialTile(2, 70_000)).toEqual({ level: 2, index: 0, width: 1 });
    expect(partialTile(0, 256)).toBeNull();
    expect(tileAt(0, 272, 70_000)?.width).toBe(256);
    expect(tileAt(0, 274, 70_000)).toBeNull();
  });

  it('and bundles are read back exactly, or not at all', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 20 }),
        fc.nat(),
        (entries, cut) => {
          const bundle = joinEntries(entries);
          expect(splitEntries(bundle, entries.length)?.map((one) => [...one])).toEqual(entries.map((one) => [...one]));
          expect(splitEntries(bundle, entries.length + 1)).toBeNull();
          expect(splitEntries(bundle.subarray(0, cut % bundle.length), entries.length)).toBeNull();
          entries.forEach((one, place) => expect([...(entryIn(bundle, place) ?? [])]).toEqual([...one]));
          expect(entryIn(bundle, entries.length)).toBeNull();
          expect(entryIn(bundle.subarray(0, -1), entries.length - 1)).toBeNull();
        },
      ),
    );
    expect(() => joinEntries([new Uint8Array(65_536)])).toThrow(RangeError);
  });
});

describe('texts', () => {
  const head = {
    origin: 'example.com/behind-the-sofa',
    size: 20_852_163,
    root: fromBase64('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=')!,
  };

  it('of a tree head are the published one', () => {
    const text = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
    expect(treeHeadToText(head)).toBe(text);
    expect(treeHeadFromText(text)).toEqual(head);
    for (const bad of [
      text.slice(0, -1),
      text.replace('2085', '02085'),
      text.replace('2085', '-2085'),
      text.replace('2085', '99999999992085'),
      text.replace('I=\n', 'J=\n'),
      text.replace('example.com/behind-the-sofa', ''),
      `${text}\n`,
      'a\n1\n',
    ]) {
      expect(treeHeadFromText(bad)).toBeNull();
    }
  });

  const record = {
    journalId: `jrn_${'0'.repeat(32)}`,
    runId: `run_${'a'.repeat(32)}`,
    lineage: 1,
    sequence: 3,
    digest: `sha256:${'b'.repeat(64)}`,
  };

  it('of a lineage head are one, whatever a reader would take besides', () => {
    const text = lineageHeadToText(record);
    expect(text).toBe(
      `{"digest":"sha256:${'b'.repeat(64)}","journal_id":"jrn_${'0'.repeat(32)}","lineage":1,"run_id":"run_${'a'.repeat(32)}",` +
        '"schema_version":"countersign.lineage_head.v1","sequence":3}',
    );
    expect(lineageHeadFromBytes(bytes(text))).toEqual(record);
    for (const bad of [
      `${text}\n`,
      text.replace(',', ', '),
      text.replace('"lineage":1', '"lineage":0'),
      text.replace('v1', 'v2'),
    ]) {
      expect(() => lineageHeadFromBytes(bytes(bad))).toThrow();
    }
  });

  it('of a batch name what it extends', () => {
    const { journalId: _, ...short } = record;
    const batch = { owner: `own_${'c'.repeat(32)}`, size: 7, heads: [short] };
    expect(batchFromBytes(bytes(batchToText(batch)))).toEqual(batch);
    expect(() => batchFromBytes(bytes(batchToText({ ...batch, heads: [] })))).toThrow();
    expect(sizePath(70_000)).toBe('000/000/070/000');
    expect(() => sizePath(10 ** 12)).toThrow(RangeError);
  });

  it('of a proof carry the entry, the path and the head', () => {
    const proof = {
      entry: bytes('x'),
      index: 5,
      hashes: [leafHash(bytes('a')), leafHash(bytes('b'))],
      note: 'a\n1\n\nb\n',
    };
    expect(proofFromText(proofToText(proof))).toEqual(proof);
    const bare = { ...proof, entry: null, index: 0, hashes: [] };
    expect(proofFromText(proofToText(bare))).toEqual(bare);
    for (const bad of [
      '',
      'c2sp.org/tlog-proof@v1\n',
      proofToText(proof).replace('index 5', 'index 05'),
      proofToText(proof).replace('@v1', '@v2'),
    ]) {
      expect(proofFromText(bad)).toBeNull();
    }
  });

  it('in base64 are read only as they are written', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (given) => {
        const text = toBase64(given);
        expect(text).toBe(Buffer.from(given).toString('base64'));
        expect([...fromBase64(text)!]).toEqual([...given]);
      }),
    );
    for (const bad of ['A', 'AB', 'AB=', 'AB==A', 'AR==', 'A-==', '====', 'AAAA=']) expect(fromBase64(bad)).toBeNull();
  });
});
