/**
 * Properties, with nothing to trust but the log's key:
 * - an undamaged journal and log agree, and what is not anchored yet is counted, not blamed
 * - a dropped tail, a dropped lineage, checkpoints in another order, a head that was sealed anew, a forged entry, a replaced log,
 *   two logs under one name and an old tree head are each named, and the exit code is that of what is not verified
 * - a run alone and a proof alone can be compared, too
 * - demanded witnesses are counted once each, and a witness co-signs only what continues what it has seen
 * - time stamps are shown as far as their authority upholds them
 */
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { LogReader, anchorJournal, witnessLog, type TimeStamper } from '../../src/anchor';
import { LogWriter } from '../../src/anchor/log-writer';
import { GrowingTree } from '../../src/rules/anchors/growing-tree';
import { leafHash } from '../../src/rules/anchors/merkle';
import { noteToText, signNote } from '../../src/rules/anchors/note';
import { signerToText, verifierToText, type SignerKey, type VerifierKey } from '../../src/rules/anchors/note-keys';
import { joinEntries, joinHashes } from '../../src/rules/anchors/tiles';
import { treeHeadToText } from '../../src/rules/anchors/tree-head';
import { RecoveryCheckpoint } from '../../src/rules/recovery';
import { storeView, verifyJournal, type GivenAnchor, type VerifyReport } from '../../src/verify';
import { answerOf, cli } from '../cli/support';
import { writeFiles } from '../verify/sample-journal';
import { GrowingJournal, LOG_KEY, MemoryStore, checkpointPath, keyOf } from './scene';

const WITNESSES = [1, 2, 3].map((byte) => keyOf(`w${byte}.example/witness`, 40 + byte, 'witness'));

/** Two runs, anchored at 0 to 2 and 0 to 1, one checkpoint a look. */
async function scene(
  growth: readonly number[] = [0, 1, 0],
): Promise<{ journal: GrowingJournal; log: MemoryStore; runs: readonly string[] }> {
  const [journal, log] = [await GrowingJournal.of(2), new MemoryStore()];
  await anchored(journal, log);
  for (const place of growth) {
    journal.grow(place);
    await anchored(journal, log);
  }
  return { journal, log, runs: journal.samples.map(({ run }) => run) };
}

function anchored(journal: GrowingJournal, log: MemoryStore, key: SignerKey = LOG_KEY): Promise<unknown> {
  return anchorJournal({ journal: journal.store, log, key, once: true });
}

interface Given {
  readonly key?: VerifierKey;
  readonly witnesses?: readonly VerifierKey[];
  readonly witnessesNeeded?: number;
  readonly timeStamper?: TimeStamper;
  readonly anchors?: readonly GivenAnchor[];
}

function verified(journal: MemoryStore, log: MemoryStore, given: Given = {}, folder = ''): Promise<VerifyReport> {
  const anchor = { anchors: [{ name: 'log', log }], key: LOG_KEY, ...given };
  return verifyJournal(storeView(journal, folder), { anchor });
}

function named(report: VerifyReport): readonly string[] {
  expect(report.ok).toBe(false);
  return [...new Set(report.findings.map(({ code }) => code).filter((code) => code.startsWith('anchor')))].sort();
}

async function keptHead(log: MemoryStore, size?: number): Promise<Uint8Array> {
  const { note } = await new LogReader(log, LOG_KEY).head(size);
  return new TextEncoder().encode(noteToText(note));
}

describe('an honest log', () => {
  it('agrees with its journal, and what is late is counted', async () => {
    const { journal, log } = await scene();
    const first = await verified(journal.store, log);
    expect(first).toMatchObject({ ok: true, anchored: true });
    expect(first.anchors).toMatchObject([
      { origin: LOG_KEY.name, size: 5, heads: 5, notAnchored: { lineages: 0, checkpoints: 0 } },
    ]);
    journal.grow(1);
    journal.grow(1);
    const late = await verified(journal.store, log);
    expect(late.ok).toBe(true);
    expect(late.anchors[0]?.notAnchored).toEqual({ lineages: 1, checkpoints: 2 });
  });

  it('is compared with one run alone, and so is a proof of one head', async () => {
    const { journal, log, runs } = await scene();
    const alone = await verified(journal.store, log, {}, runs[0]);
    expect(alone).toMatchObject({ ok: true, kind: 'run' });
    expect(alone.anchors[0]?.heads).toBe(3);
    const reader = new LogReader(log, LOG_KEY);
    const proof = new TextEncoder().encode(await reader.prove(4, await reader.head()));
    const given = { anchors: [{ name: 'proof', file: proof }] };
    expect((await verified(journal.store, log, given)).anchors[0]?.heads).toBe(1);
    journal.store.files.delete(checkpointPath(runs[0] as string, 2));
    expect(named(await verified(journal.store, log, given))).toEqual(['anchor_tail_dropped']);
    const changed = new TextEncoder().encode(new TextDecoder().decode(proof).replace('index 4', 'index 3'));
    const forged = { anchors: [{ name: 'proof', file: changed }] };
    expect(named(await verified(journal.store, log, forged))).toEqual(['anchor_forged_append']);
  });
});

describe('named by verify', () => {
  it('a dropped tail', async () => {
    const { journal, log, runs } = await scene();
    journal.store.files.delete(checkpointPath(runs[0] as string, 2));
    expect(named(await verified(journal.store, log))).toContain('anchor_tail_dropped');
  });

  it('a whole lineage dropped, and a whole run', async () => {
    const { journal, log, runs } = await scene();
    const lineage = journal.store.copy();
    for (const name of lineage.files.keys())
      if (name.startsWith(`${runs[1]}/lineage-0001/`)) lineage.files.delete(name);
    expect(named(await verified(lineage, log))).toContain('anchor_lineage_dropped');
    const run = journal.store.copy();
    for (const name of run.files.keys()) if (name.startsWith(`${runs[1]}/`)) run.files.delete(name);
    expect(named(await verified(run, log))).toEqual(['anchor_lineage_dropped']);
  });

  it('a head that was sealed anew', async () => {
    const { journal, log, runs } = await scene();
    const place = checkpointPath(runs[0] as string, 2);
    const honest = RecoveryCheckpoint.fromJson(journal.store.files.get(place) as Uint8Array);
    const { schemaVersion: _, checkpointDigest: __, ...rest } = honest;
    const sealed = RecoveryCheckpoint.create({ ...rest, phase: 'reconciling' });
    journal.store.files.set(place, new TextEncoder().encode(RecoveryCheckpoint.toJson(sealed)));
    expect(named(await verified(journal.store, log))).toContain('anchor_head_resealed');
  });

  it('checkpoints in another order', async () => {
    const { journal, log, runs } = await scene();
    const [one, other] = [1, 2].map((sequence) => checkpointPath(runs[0] as string, sequence)) as [string, string];
    const { files } = journal.store;
    const [first, second] = [files.get(one) as Uint8Array, files.get(other) as Uint8Array];
    files.set(one, second).set(other, first);
    expect(named(await verified(journal.store, log))).toContain('anchor_order_swapped');
  });

  it('entries that their own signer put in another order', async () => {
    const { journal, runs } = await scene();
    const log = new MemoryStore();
    const journalId = `jrn_${'0'.repeat(32)}`;
    const writer = await LogWriter.open({ log, key: LOG_KEY, journalId });
    const chain = journal.samples[0]?.chain ?? [];
    const head = (sequence: number) => ({
      runId: runs[0] as string,
      lineage: 1,
      sequence,
      digest: chain[sequence]?.checkpointDigest ?? '',
    });
    await writer.append([head(1), head(0)]);
    expect(named(await verified(journal.store, log))).toEqual(['anchor_order_swapped']);
  });

  it('a forged entry, in place or appended, and swapped entries', async () => {
    const { journal, log } = await scene();
    const bundle = 'tile/entries/000.p/5';
    const entries = [...(await new LogReader(log, LOG_KEY).tiles(5).entries(0))];
    const forged = new TextEncoder().encode(
      new TextDecoder().decode(entries[4]).replace('"sequence":2', '"sequence":3'),
    );
    for (const changed of [
      [...entries.slice(0, 4), forged],
      [...entries.slice(0, 3), entries[4] as Uint8Array, entries[3] as Uint8Array],
    ]) {
      const bad = log.copy();
      bad.files.set(bundle, joinEntries(changed));
      expect(named(await verified(journal.store, bad))).toEqual(['anchor_forged_append']);
    }
    const longer = log.copy();
    longer.files.set(bundle, joinEntries([...entries, forged]));
    expect(named(await verified(journal.store, longer))).toEqual(['anchor_unusable']);
    // Appended as the process would, with all that follows, but for the signature.
    const appended = log.copy();
    const tree = new GrowingTree();
    for (const entry of [...entries, forged]) tree.append(leafHash(entry));
    const [partial] = tree.partials();
    appended.files.set('tile/entries/000.p/6', joinEntries([...entries, forged]));
    appended.files.set('tile/0/000.p/6', joinHashes(partial?.hashes ?? []));
    const text = treeHeadToText({ origin: LOG_KEY.name, size: 6, root: tree.root() });
    const note = noteToText({ text, signatures: [signNote(text, keyOf(LOG_KEY.name, 66))] });
    appended.files.set('heads/000/000/000/006', new TextEncoder().encode(note));
    expect(named(await verified(journal.store, appended))).toEqual(['anchor_forged_append']);
  });

  it('an append that was signed by somebody else', async () => {
    const { journal, log } = await scene();
    journal.grow(0);
    const thief = new MemoryStore(new Map([...log.files].filter(([name]) => name !== 'log.json')));
    await expect(anchored(journal, thief, keyOf(LOG_KEY.name, 66))).rejects.toMatchObject({ code: 'anchor_damaged' });
    await expect(anchored(journal, log, keyOf(LOG_KEY.name, 66))).rejects.toMatchObject({ code: 'anchor_wrong_key' });
    const other = new MemoryStore();
    await anchored(journal, other, keyOf(LOG_KEY.name, 66));
    expect(named(await verified(journal.store, other))).toEqual(['anchor_log_replaced']);
  });

  it('a log of another journal, or of another name', async () => {
    const { journal } = await scene();
    const log = new MemoryStore();
    const writer = await LogWriter.open({ log, key: LOG_KEY, journalId: `jrn_${'f'.repeat(32)}` });
    await writer.append([
      { runId: `run_${'0'.repeat(32)}`, lineage: 1, sequence: 0, digest: `sha256:${'0'.repeat(64)}` },
    ]);
    expect(named(await verified(journal.store, log))).toEqual(['anchor_log_replaced']);
    log.files.delete('log.json'); // nobody signs this one
    expect(named(await verified(journal.store, log))).toEqual(['anchor_log_replaced']);
    await expect(anchored(journal, log)).rejects.toMatchObject({ code: expect.stringMatching(/^anchor_/) as string });
    const named2 = new MemoryStore();
    await anchored(journal, named2, keyOf('example.com/other'));
    expect(named(await verified(journal.store, named2))).toEqual(['anchor_log_replaced']);
  });

  it('two logs under one name, of one size and of two', async () => {
    const { journal, log } = await scene();
    const { log: other } = await scene([0, 0, 1]);
    const one = { name: 'one', log };
    const both = { anchors: [one, { name: 'other', log: other }] };
    expect(named(await verified(journal.store, log, both))).toEqual(['anchor_split_view']);
    for (const size of [4, 5]) {
      const kept = { name: 'kept', file: await keptHead(other, size) };
      expect(named(await verified(journal.store, log, { anchors: [one, kept] }))).toEqual(['anchor_split_view']);
    }
    const before = { name: 'kept', file: await keptHead(other, 3) };
    expect((await verified(journal.store, log, { anchors: [one, before] })).ok).toBe(true);
    journal.grow(0);
    await anchored(journal, log);
    const kept = { name: 'kept', file: await keptHead(other) };
    expect(named(await verified(journal.store, log, { anchors: [one, kept] }))).toEqual(['anchor_split_view']);
    expect(named(await verified(journal.store, log, both))).toEqual(['anchor_split_view']);
  });

  it('an old tree head, by a newer one that was kept', async () => {
    const { journal, log } = await scene();
    const old = log.copy();
    journal.grow(0);
    await anchored(journal, log);
    const kept = { name: 'kept', file: await keptHead(log) };
    const report = await verified(journal.store, old, { anchors: [{ name: 'log', log: old }, kept] });
    expect(named(report)).toEqual(['anchor_checkpoint_old']);
    const fine = { name: 'kept', file: await keptHead(old) };
    expect((await verified(journal.store, log, { anchors: [{ name: 'log', log }, fine] })).ok).toBe(true);
  });

  it('a log that is damaged or not there', async () => {
    const { journal, log } = await scene();
    for (const name of ['tile/entries/000.p/5', 'heads/000/000/000/005']) {
      const bad = log.copy();
      bad.files.set(name, new Uint8Array(3));
      expect(named(await verified(journal.store, bad))[0]).toMatch(/^anchor_(unusable|log_replaced)$/);
    }
    expect(named(await verified(journal.store, new MemoryStore()))).toEqual(['anchor_unusable']);
  });
});

describe('witnesses', () => {
  const cosign = (log: MemoryStore, key: SignerKey, memory: MemoryStore): ReturnType<typeof witnessLog> =>
    witnessLog({ log, logKey: LOG_KEY, key, memory, now: () => 1_700_000_000 });

  it('are counted once each, and only if they are given', async () => {
    const { journal, log } = await scene();
    const [one, two, three] = WITNESSES as [SignerKey, SignerKey, SignerKey];
    for (const witness of [one, two]) await cosign(log, witness, new MemoryStore());
    await cosign(log, one, new MemoryStore());
    const enough = await verified(journal.store, log, { witnesses: WITNESSES, witnessesNeeded: 2 });
    expect(enough.ok).toBe(true);
    expect(enough.anchors[0]?.witnesses).toEqual([one, two].map(({ name }) => ({ name, time: 1_700_000_000 })));
    expect(named(await verified(journal.store, log, { witnesses: WITNESSES }))).toEqual(['anchor_witnesses_missing']);
    expect(named(await verified(journal.store, log, { witnesses: [three] }))).toEqual(['anchor_witnesses_missing']);
  });

  it('of which a signature was moved from another tree count for nothing', async () => {
    const { journal, log } = await scene();
    const [witness] = WITNESSES as [SignerKey];
    await cosign(log, witness, new MemoryStore());
    journal.grow(0);
    await anchored(journal, log);
    for (const [name, bytes] of [...log.files]) {
      if (name.startsWith('cosignatures/')) log.files.set(name.replace('/005/', '/006/'), bytes);
    }
    expect(named(await verified(journal.store, log, { witnesses: [witness] }))).toEqual(['anchor_witnesses_missing']);
  });

  it('co-sign what continues what they have seen, and refuse a fork and an older tree', async () => {
    const { journal, log } = await scene();
    const [witness] = WITNESSES as [SignerKey];
    const memory = new MemoryStore();
    const old = log.copy();
    expect(await cosign(log, witness, memory)).toMatchObject({ before: null, head: { size: 5 } });
    journal.grow(0);
    await anchored(journal, log);
    expect(await cosign(log, witness, memory)).toMatchObject({ before: 5, head: { size: 6 } });
    await expect(cosign(old, witness, memory)).rejects.toMatchObject({ code: 'anchor_checkpoint_old' });
    const fork = old.copy();
    journal.grow(1);
    await anchored(journal, fork);
    await expect(cosign(fork, witness, memory)).rejects.toMatchObject({ code: 'anchor_split_view' });
    expect([...fork.files.keys()].some((name) => name.includes('cosignatures/000/000/000/007'))).toBe(false);
  });

  it('with one memory cannot be led two ways at once', async () => {
    const { journal, log } = await scene();
    const [witness] = WITNESSES as [SignerKey];
    const memory = new MemoryStore();
    await cosign(log, witness, memory);
    const [one, other] = [log.copy(), log.copy()];
    journal.grow(0);
    await anchored(journal, one);
    journal.grow(1);
    await anchored(journal, other);
    const ended = await Promise.allSettled([one, other].map((way) => cosign(way, witness, memory)));
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('time stamps', () => {
  /** An authority that needs no network: it vouches by a key that only it has. */
  const authority = (now: number): TimeStamper => {
    const tag = (digest: Uint8Array, time: number): string =>
      createHmac('sha256', 'authority').update(digest).update(String(time)).digest('hex');
    return {
      name: 'test-authority',
      stamp: async (digest) => Buffer.from(JSON.stringify({ time: now, tag: tag(digest, now) })),
      verify: async (digest, token) => {
        const said = JSON.parse(Buffer.from(token).toString()) as { time: number; tag: string };
        return said.tag === tag(digest, said.time) ? said.time : null;
      },
    };
  };

  it('say since when a tree has been there, if they are of this tree', async () => {
    const { journal, log } = await scene();
    const timeStamper = authority(1_700_000_000_000);
    journal.grow(0);
    await anchorJournal({ journal: journal.store, log, key: LOG_KEY, once: true, timeStamper });
    expect((await verified(journal.store, log, { timeStamper })).anchors[0]?.stamped).toBe(1_700_000_000_000);
    journal.grow(1);
    await anchored(journal, log);
    expect((await verified(journal.store, log, { timeStamper })).anchors[0]?.stamped).toBeNull();
    const stamp = log.files.get('stamps/000/000/000/006/test-authority') as Uint8Array;
    log.files.set('stamps/000/000/000/007/test-authority', stamp);
    expect((await verified(journal.store, log, { timeStamper })).anchors[0]?.stamped).toBeNull();
  });
});

describe('the command line', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'countersign-anchor-cli-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string): string => path.join(folder, name);

  it('runs, witnesses, proves and verifies; a dropped tail ends in exit code 3', async () => {
    const journal = await GrowingJournal.of(1);
    journal.grow(0);
    writeFiles(at('journal'), journal.store.files);
    const made = answerOf(await cli('anchor', 'key', 'example.com/cli', '--out', at('key'), '--json')).data ?? {};
    const of =
      answerOf(await cli('anchor', 'key', 'w.example/1', '--witness', '--out', at('wkey'), '--json')).data ?? {};
    const [vkey, wkey] = [String(made['verifier']), String(of['verifier'])];
    const once = [
      'anchor',
      '--journal',
      at('journal'),
      '--log',
      at('log'),
      '--key',
      at('key'),
      '--once',
      '--metrics',
      at('m'),
    ];
    expect((await cli(...once)).out).toContain('1 head appended');
    const log = ['--log', at('log'), '--anchor-key', vkey];
    expect((await cli('anchor', 'witness', ...log, '--key', at('wkey'), '--memory', at('memory'))).code).toBe(0);
    expect((await cli('anchor', 'checkpoint', ...log, '--out', at('kept'))).code).toBe(0);
    const run = journal.samples[0]?.run as string;
    expect((await cli('anchor', 'proof', ...log, '--run', run, '--out', at('proof'))).code).toBe(0);
    const verify = (...more: string[]): ReturnType<typeof cli> =>
      cli('verify', at('journal'), '--anchor-key', vkey, '--witness', wkey, ...more);
    for (const anchor of ['log', 'kept', 'proof']) expect((await verify('--anchor', at(anchor))).code).toBe(0);
    expect(
      (await cli('verify', path.join(at('journal'), run, 'lineage-0001'), '--anchor', at('log'), '--anchor-key', vkey))
        .code,
    ).toBe(2);
    rmSync(path.join(at('journal'), checkpointPath(run, 1)));
    const answer = await verify('--anchor', at('log'), '--json');
    expect(answer.code).toBe(3);
    expect(JSON.stringify(answerOf(answer).data)).toContain('anchor_tail_dropped');
    const seen = await verify('--anchor', at('proof'));
    expect(seen).toMatchObject({ code: 3 });
    expect(seen.out).toContain('FAULT anchor_tail_dropped');
  });

  it('refuses what is not a key, and a key that others can read', async () => {
    writeFileSync(at('open'), `${signerToText(LOG_KEY)}\n`, { mode: 0o644 });
    writeFiles(at('j2'), (await GrowingJournal.of(1)).store.files);
    const run = (key: string): ReturnType<typeof cli> =>
      cli('anchor', '--journal', at('j2'), '--log', at('l2'), '--key', key, '--once');
    expect((await run(at('open'))).err).toContain('input_unprotected');
    expect((await run(at('nowhere'))).code).toBe(2);
    const wrong = await cli(
      'verify',
      at('j2'),
      '--anchor',
      at('j2'),
      '--anchor-key',
      verifierToText(WITNESSES[0] as SignerKey),
    );
    expect(wrong).toMatchObject({ code: 2 });
    expect((await cli('verify', at('j2'), '--witnesses', '1')).code).toBe(2);
  });
});
