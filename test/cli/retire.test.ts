/**
 * `journal retire`.
 *
 * Held here:
 * - without a confirmation nothing changes; with it, exactly what was shown is retired: a changed journal, another age, another
 *   plan or a made-up token is refused
 * - only a run that verifies, is completed and old enough is retired; each other one is told apart; the age has a floor
 * - a retired run verifies strictly, is listed, inspected, exported, copied and placed like before; its slots stay
 * - a journal in a database or a bucket is refused before anything of it is asked for, by a sentence that says what to do instead
 * - a retirement that is killed anywhere leaves a run that verifies and reads alike, and the next one finishes it
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { runChild } from '../adapters/stores/run-child';
import { verify } from '../../src/verify';
import { sampleRun } from '../transfer/support';
import { writeFiles } from '../verify/sample-journal';
import { files, json, useSampleFolder } from './sample-folder';

const here = useSampleFolder();
const { at } = here;
beforeEach(() => age(here.runId, 40));
const lineage = (runId: string): string => at('journal', runId, 'lineage-0001');

const retire = (...args: readonly string[]) => json('journal', 'retire', '--journal', at('journal'), ...args);

function age(runId: string, days: number): void {
  const then = Date.now() / 1_000 - days * 86_400;
  for (const name of readdirSync(lineage(runId))) utimesSync(path.join(lineage(runId), name), then, then);
}

const head = () => here.sample.sample.chain.at(-1)!.checkpointDigest;

describe('journal retire', () => {
  it('shows first, and then retires what was confirmed', async () => {
    const before = files(at('journal'));
    const shown = await retire(here.runId, '--minimum-age', '30d');
    expect(shown).toMatchObject({
      code: 0,
      data: {
        dry_run: true,
        counts: { retirable: 1 },
        runs: [{ run_id: here.runId, plan: { dry_run: true, record: { final_checkpoint_digest: head() } } }],
      },
    });
    expect(files(at('journal'))).toEqual(before);
    const token = shown.data?.['confirm'] as string;
    expect(token).toMatch(/^[0-9]+\/confirm:sha256:[0-9a-f]{64}$/);

    for (const wrong of [
      token.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      token.slice(token.indexOf('/') + 1),
      'yes',
    ]) {
      const refused = await retire(here.runId, '--minimum-age', '30d', '--confirm', wrong);
      expect(refused).toMatchObject({ code: 2, error: { code: 'invalid_argument', field: 'confirm' } });
    }
    expect(await retire(here.runId, '--minimum-age', '31d', '--confirm', token)).toMatchObject({ code: 2 });
    expect(files(at('journal'))).toEqual(before);

    expect(await retire(here.runId, '--minimum-age', '30d', '--confirm', token)).toMatchObject({ code: 0 });
    const after = files(at('journal'));
    const gone = Object.keys(before).filter((name) => !(name in after));
    expect(gone).toHaveLength(4);
    for (const name of gone) expect(name).toMatch(/lineage-0001\/checkpoint-/);
    expect(Object.keys(after).filter((name) => !(name in before))).toEqual([`${here.runId}/lineage-0001/retired.json`]);
    for (const name of Object.keys(after)) if (name in before) expect(after[name]).toBe(before[name]);
    const again = await retire(here.runId, '--minimum-age', '30d');
    expect(again).toMatchObject({ code: 0, data: { counts: { retired: 1 }, confirm: null } });
  });

  it('leaves a run that everything reads as before', async () => {
    cpSync(at('journal'), at('older'), { recursive: true });
    const { confirm } = (await retire('--minimum-age', '30d')).data as { confirm: string };
    expect(await retire('--minimum-age', '30d', '--confirm', confirm)).toMatchObject({ code: 0 });
    expect(await json('verify', at('journal'), '--strict', '--expect-head', head())).toMatchObject({
      code: 0,
      data: { valid: true, justified: true, anchored: true, checkpoints: 4, findings: [] },
    });
    expect(await json('journal', 'ls', at('journal'))).toMatchObject({
      data: { runs: [{ phase: 'completed, retired', checkpoints: 4, committed: 2 }] },
    });
    expect(await json('inspect', here.runId, '--offline', '--journal', at('journal'))).toMatchObject({
      code: 0,
      data: { journal: { phase: 'completed', head: { digest: head() }, checkpoints: 4 } },
    });
    expect(await json('export', at('journal'), here.runId, '-o', at('run.export'))).toMatchObject({
      code: 0,
      data: { head: { digest: head() } },
    });
    expect(await json('verify', at('run.export'), '--strict')).toMatchObject({ code: 0 });
    expect(await json('journal', 'init', at('placed'), '--from', at('run.export'))).toMatchObject({ code: 0 });
    expect(await verify(at('placed'), { strict: true })).toMatchObject({ ok: true, justified: true });
    expect(await json('journal', 'copy', at('journal'), at('copied'))).toMatchObject({ code: 0 });
    expect(await verify(at('copied'), { strict: true })).toMatchObject({ ok: true, justified: true });
    // A copy that still has the checkpoints has gone its own way: retire it there, too.
    expect(await json('journal', 'copy', at('journal'), at('older'))).toMatchObject({
      code: 6,
      error: { code: 'journal_conflict' },
    });
  });

  it('notices a forged record, and one whose run lost a slot', async () => {
    const { confirm } = (await retire('--minimum-age', '30d')).data as { confirm: string };
    await retire('--minimum-age', '30d', '--confirm', confirm);
    const file = path.join(lineage(here.runId), 'retired.json');
    const record = readFileSync(file, 'utf8');
    writeFileSync(file, record.replace('"effect_count":2', '"effect_count":3'));
    expect(await verify(at('journal'))).toMatchObject({ ok: false, findings: [{ code: 'lineage_invalid' }] });
    writeFileSync(file, record);
    rmSync(at('journal', here.runId, 'sends', here.sample.sample.keys[0], '0001'));
    expect(await verify(at('journal'))).toMatchObject({ ok: false });
  });

  it('tells every other run apart, and leaves it', async () => {
    const other = async (name: string, change: (runId: string) => void): Promise<void> => {
      const one = await sampleRun(name);
      const entries = [...one.sample.files].filter(([file]) => file !== 'journal.json');
      writeFiles(at('journal'), new Map(entries));
      age(one.runId, 40);
      change(one.runId);
    };
    const last = (runId: string): string => path.join(lineage(runId), `checkpoint-${'3'.padStart(20, '0')}.json`);
    await other('open', (runId) => {
      const digest = (JSON.parse(readFileSync(last(runId), 'utf8')) as { checkpoint_digest: string }).checkpoint_digest;
      rmSync(last(runId));
      rmSync(at('journal', runId, 'witnesses', digest.slice(7)), { recursive: true });
    });
    await other('young', (runId) => age(runId, 3));
    await other('damaged', (runId) => writeFileSync(last(runId), '{}'));
    await other('unjustified', (runId) => rmSync(at('journal', runId, 'witnesses'), { recursive: true }));
    await other('no plan', (runId) => rmSync(at('journal', runId, 'plan.json')));
    const before = files(at('journal'));
    const shown = await retire('--minimum-age', '30d');
    expect(shown.data?.['counts']).toEqual({
      retirable: 1,
      leftover: 0,
      retired: 0,
      young: 1,
      open: 1,
      aborted: 0,
      invalid: 3,
      without_chain: 0,
    });
    const { confirm } = shown.data as { confirm: string };
    expect(await retire('--minimum-age', '30d', '--confirm', confirm)).toMatchObject({ code: 0 });
    const after = files(at('journal'));
    for (const [name, content] of Object.entries(before)) {
      if (!name.startsWith(here.runId)) expect(after[name]).toBe(content);
    }
    for (const wrong of ['23h', '1', '', '-3d', '1w', '2.5d']) {
      expect(await retire('--minimum-age', wrong)).toMatchObject({ code: 2, error: { code: 'invalid_argument' } });
    }
    expect(await retire(`run_${'9'.repeat(32)}`, '--minimum-age', '30d')).toMatchObject({
      error: { code: 'unknown_run' },
    });
  });

  it.each(['postgres://owner@127.0.0.1:1/app', 's3://journals/ours'])('refuses %s', async (address) => {
    const refused = await json('journal', 'retire', '--journal', address, '--minimum-age', '30d');
    expect(refused).toMatchObject({ code: 2, error: { code: 'invalid_argument', field: 'journal' } });
    expect(refused.error?.message).toBe(
      'only a journal in a folder is retired, for in a database or bucket nobody may delete; ' +
        '"journal copy" it into a folder, and retire that copy',
    );
  });

  it('is bounded, and a confirmation is for what was shown', async () => {
    for (const name of ['one', 'two', 'three']) {
      const one = await sampleRun(name);
      writeFiles(at('journal'), new Map([...one.sample.files].filter(([file]) => file !== 'journal.json')));
      age(one.runId, 40);
    }
    const two = await retire('--minimum-age', '30d', '--limit', '2');
    const confirm = two.data?.['confirm'] as string;
    expect(two.data?.['runs']).toHaveLength(2);
    expect(await retire('--minimum-age', '30d', '--confirm', confirm)).toMatchObject({ code: 2 });
    expect(await retire('--minimum-age', '30d', '--limit', '2', '--confirm', confirm)).toMatchObject({ code: 0 });
    const rest = await retire('--minimum-age', '30d');
    expect(rest.data).toMatchObject({ counts: { retirable: 2, retired: 2 } });
  });

  it('is finished after it was killed at any step', { timeout: 120_000 }, async () => {
    cpSync(at('journal'), at('whole'), { recursive: true, preserveTimestamps: true });
    for (const kill of ['linked', 'cleaned:1', 'cleaned:3', 'cleaned:4']) {
      rmSync(at('journal'), { recursive: true });
      cpSync(at('whole'), at('journal'), { recursive: true, preserveTimestamps: true });
      expect(await runChild('../../cli/retire-child.ts', [lineage(here.runId), kill])).toBe('killed');
      expect(existsSync(path.join(lineage(here.runId), 'retired.json'))).toBe(true);
      expect(await verify(at('journal'))).toMatchObject({ ok: true, justified: true, checkpoints: 4 });
      const shown = await retire('--minimum-age', '30d');
      const left = readdirSync(lineage(here.runId)).filter((name) => name.startsWith('checkpoint-')).length;
      expect(shown.data?.['counts']).toMatchObject(left === 0 ? { retired: 1 } : { leftover: 1 });
      if (left > 0) {
        const { confirm } = shown.data as { confirm: string };
        expect(await retire('--minimum-age', '30d', '--confirm', confirm)).toMatchObject({ code: 0 });
      }
      expect(readdirSync(lineage(here.runId)).filter((name) => !name.startsWith('.'))).toEqual(['retired.json']);
      expect(await verify(at('journal'), { expectHead: head() })).toMatchObject({ ok: true, anchored: true });
    }
  });
});
