/**
 * A run in one file.
 *
 * Held here:
 * - exported, read and placed elsewhere, a run has the same bytes, entry by entry, and the journal's own id; the file verifies
 *   strictly by itself, with and without contents; contents of other runs, and claims of other runs, are not in it;
 * - the file is plain ASCII lines as documented: header, entries in order, a closing line whose digest anyone can compute;
 * - exported at any moment of drivers that go on meanwhile, crash and take over, it verifies strictly;
 * - it is private, never written over another file, and not left behind when it could not be finished;
 * - no line is read that no entry needs: an endless one is refused at its limit.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_EXPORT_LINE_BYTES } from '../../src/rules/export-record';
import { claimToText } from '../../src/rules/receipts/nonce-claim';
import { sha256Digest } from '../../src/rules/recovery';
import { exportRun, importRun, openExport, readExport } from '../../src/transfer';
import { storeView, verifyJournal } from '../../src/verify';
import { schedules } from '../activities/simulation/schedules';
import { World } from '../activities/simulation/world';
import { WholeStore, exported, opened, sampleRun } from './support';

let folder = '';
beforeEach(() => void (folder = mkdtempSync(path.join(os.tmpdir(), 'export-test-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('an exported run', () => {
  it.each([false, true])('is the run, entry by entry (contents: %s)', async (withContents) => {
    const { journal, contents, runId, sample } = await sampleRun();
    const run = await opened(await exported(journal, withContents ? contents : null, runId));
    expect(run).toMatchObject({ runId, journalId: `jrn_${'0'.repeat(32)}`, contents: withContents });
    const [into, beside] = [new WholeStore(), new WholeStore()];
    expect(await importRun(run, into, beside)).toEqual({ runId, state: 'placed', written: sample.files.size - 1 });
    const bytes = (store: WholeStore): unknown =>
      [...store.entries].map(([name, entry]) => [name, Buffer.from(entry).toString()]).sort();
    expect(bytes(into)).toEqual(bytes(journal));
    const salts = [...beside.entries.keys()].filter((name) => name.startsWith('salts/'));
    expect(salts).toEqual(withContents ? [`salts/${runId}`] : []);
    expect(beside.entries.size).toBe(withContents ? 3 : 0);
  });

  it('has the claims of its own run only', async () => {
    const { journal, runId } = await sampleRun();
    const claim = (run: string): Buffer => {
      const nonce = `nonce_${'1'.repeat(32)}`;
      return Buffer.from(claimToText({ nonce, runId: run, lineage: 1, actionDigest: sha256Digest('a') }));
    };
    journal.put(`claims/${'a'.repeat(64)}.json`, claim(runId));
    journal.put(`claims/${'b'.repeat(64)}.json`, claim(`run_${'9'.repeat(32)}`));
    const run = await opened(await exported(journal, null, runId));
    expect(await run.journal.list('claims')).toEqual([`${'a'.repeat(64)}.json`]);
  });

  it('verifies by itself, strictly', async () => {
    const { journal, contents, runId, sample } = await sampleRun();
    const run = await opened(await exported(journal, contents, runId));
    const report = await verifyJournal(storeView(run.journal), {
      strict: true,
      expectHead: sample.chain.at(-1)!.checkpointDigest,
    });
    expect(report).toMatchObject({ kind: 'journal', ok: true, justified: true, anchored: true, runs: [{ runId }] });
  });

  it('is lines of ASCII that anyone can check', async () => {
    const { journal, contents, runId } = await sampleRun();
    const bytes = await exported(journal, contents, runId);
    const text = bytes.toString('latin1');
    expect(text).toMatch(/^[\x0a\x20-\x7e]*\n$/);
    const lines = text.slice(0, -1).split('\n');
    const last = lines.pop()!;
    const digest = createHash('sha256')
      .update(lines.map((line) => `${line}\n`).join(''))
      .digest('hex');
    expect(JSON.parse(last)).toEqual({ entries: lines.length - 1, digest: `sha256:${digest}` });
    const [header, ...entries] = lines.map((line) => JSON.parse(line) as Record<string, string>);
    const journalId = `jrn_${'0'.repeat(32)}`;
    expect(header).toEqual({
      schema_version: 'countersign.export.v1',
      journal_id: journalId,
      run_id: runId,
      contents: true,
    });
    const places = entries.map(({ store, path: name }) => [store === 'journal' ? 0 : 1, name] as const);
    expect(places).toEqual([...places].sort(([a, b], [c, d]) => a - c || (b! < d! ? -1 : 1)));
    for (const { store, path: name, text: content } of entries) {
      expect(content).toBe(Buffer.from((store === 'journal' ? journal : contents).entries.get(name!)!).toString());
    }
  });

  it('is private, new, and whole or not there', async () => {
    const { journal, runId } = await sampleRun();
    const file = path.join(folder, 'run.export');
    const written = await exportRun(journal, null, runId, file);
    expect(statSync(file)).toMatchObject({ size: written.bytes });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expect(exportRun(journal, null, runId, file)).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await openExport(file, async ({ digest }) => digest)).toBe(written.digest);
    const before = readFileSync(file);
    const other = path.join(folder, 'other.export');
    const failing = new WholeStore(journal.entries);
    failing.read = (name) => (name.includes('witnesses') ? Promise.resolve(null) : journal.read(name));
    await expect(exportRun(failing, null, runId, other)).rejects.toMatchObject({ code: 'journal_invalid' });
    expect(existsSync(other)).toBe(false);
    expect(readFileSync(file)).toEqual(before);
    writeFileSync(other, before.subarray(0, before.length - 40));
    await expect(openExport(other, async () => undefined)).rejects.toMatchObject({ code: 'invalid_record' });
    await expect(openExport(folder, async () => undefined)).rejects.toThrow();
  });

  it('is not read beyond the longest line', async () => {
    let most = 0;
    const endless = {
      read: (offset: number, length: number): Promise<Uint8Array> => {
        most = Math.max(most, offset + length);
        return Promise.resolve(new Uint8Array(length).fill(0x20));
      },
    };
    await expect(readExport(endless)).rejects.toMatchObject({ field: 'export line 1' });
    expect(most).toBeLessThan(MAX_EXPORT_LINE_BYTES + 2 ** 20);
  });
});

/** A store in which drivers go on: with each look, more of what they wrote is there. */
class MovingStore extends WholeStore {
  private at: number;
  constructor(
    private readonly all: readonly (readonly [string, Uint8Array])[],
    from: number,
    private readonly pace: number,
  ) {
    super(all.slice(0, from));
    this.at = from;
  }

  override list(prefix: string, after?: string): Promise<readonly string[]> {
    const answer = super.list(prefix, after);
    for (const [name, bytes] of this.all.slice(this.at, this.at + this.pace)) this.put(name, bytes);
    this.at += this.pace;
    return answer;
  }
}

describe('a run that is driven meanwhile', () => {
  it('is exported as it was at one moment', { timeout: 600_000 }, async () => {
    let [cut, whole] = [0, 0];
    await fc.assert(
      fc.asyncProperty(schedules, fc.nat(1_000), fc.nat(12), async (schedule, pick, pace) => {
        const world = await new World(schedule).run();
        const entries = [...world.store.entries];
        const planned = entries.findIndex(([name]) => name.endsWith('/plan.json'));
        if (planned < 0) return;
        const from = planned + 1 + (pick % (entries.length - planned));
        const moving = new MovingStore(entries, from, pace);
        const run = await opened(await exported(moving, null, world.plan.runId));
        const report = await verifyJournal(storeView(run.journal), { strict: true });
        expect(report.findings).toEqual([]);
        if (run.entries < moving.entries.size) cut += 1;
        else whole += 1;
      }),
      { numRuns: 300, seed: 20_261_130 },
    );
    expect(cut).toBeGreaterThan(20);
    expect(whole).toBeGreaterThan(20);
  });
});
