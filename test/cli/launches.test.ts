/**
 * Runs that only launch, on the command line without a server.
 *
 * Held here:
 * - a journal lists them by their kind, and shows each job with its state, reason, provider and the end of its authorization; `verify` has
 *   a line for each run;
 * - one leaves in a file that verifies, with its contents or without, and comes to another journal byte for byte; damaged, it is refused and nothing is placed;
 * - erasing takes the context, the submission and their salts, and no entry of the journal, which verifies as before; one that is open is refused;
 * - they have no checkpoints, so they are never retired, and are said to have none.
 */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LaunchBench } from '../activities/launch-bench';
import { MemoryStore } from '../activities/simulation/store';
import { writeFiles } from '../verify/sample-journal';
import { answerOf, cli, type JsonAnswer } from './support';

let folder: string;
let done: LaunchBench;
let open: LaunchBench;
const at = (...names: readonly string[]): string => path.join(folder, ...names);
const runOf = (bench: LaunchBench): string => String(bench.record['run_id']);

beforeEach(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'cli-launches-'));
  const store = new MemoryStore();
  done = await LaunchBench.make('done', store);
  open = await LaunchBench.make('open', store);
  await done.launch();
  await done.launched[0]!.door.submit({ answer: 'planted-output' });
  await open.launch();
  writeFiles(at('journal'), store.entries);
  for (const bench of [done, open]) writeFiles(at('journal-contents'), bench.kept.entries);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function json(...args: readonly string[]): Promise<JsonAnswer & { code: number | null }> {
  const ran = await cli(...args, '--json');
  expect(ran.out + ran.err).not.toMatch(/planted|wrk_|person:/);
  return { ...answerOf(ran), code: ran.code };
}

function files(root: string): Record<string, string> {
  if (!existsSync(root)) return {};
  const names = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    names.map((entry) => {
      const file = path.join(entry.parentPath, entry.name);
      return [path.relative(root, file), readFileSync(file, 'latin1')];
    }),
  );
}
const under = (root: string, runId: string): Record<string, string> =>
  Object.fromEntries(Object.entries(files(root)).filter(([name]) => name.startsWith(runId)));

describe('launches', () => {
  it('are listed by their kind, and shown with their jobs', async () => {
    const jobOf = (state: string) => ({ state, provider: 'p', model: 'm', expires_at: '2023-11-14T22:14:20.000Z' });
    const { data } = await json('journal', 'ls', at('journal'));
    const rows = data?.['runs'] as { run_id: string }[];
    expect(rows.find(({ run_id: runId }) => runId === runOf(done))).toMatchObject({
      kind: 'launch',
      jobs: [jobOf('submitted')],
    });
    expect(rows.find(({ run_id: runId }) => runId === runOf(open))).toMatchObject({
      kind: 'launch',
      jobs: [jobOf('running')],
    });
    expect((await cli('journal', 'ls', at('journal'))).out).toMatch(/submitted +1\/1 +1 launch +launch p m\n/);
    for (const more of [[], ['--offline']]) {
      const shown = await json('inspect', runOf(done), '--journal', at('journal'), ...more);
      expect(shown).toMatchObject({
        code: 0,
        data: { kind: 'launch', jobs: [{ ...jobOf('submitted'), launched: 'yes' }] },
      });
    }
    expect((await cli('inspect', runOf(open), '--journal', at('journal'))).out).toMatch(
      /running +launched: yes +p m +authorized until 2023/,
    );
    expect(await json('verify', at('journal'), '--strict')).toMatchObject({
      code: 0,
      data: { runs: [{ jobs: 1 }, { jobs: 1 }] },
    });
    expect((await cli('verify', at('journal'))).out).toMatch(new RegExp(`^${runOf(done)} +valid +1 launch$`, 'm'));
  });

  it('leave in a file, and come to another journal as they were', async () => {
    const out = at('run.export');
    expect(await json('export', at('journal'), runOf(done), '-o', out)).toMatchObject({
      code: 0,
      data: { jobs: 1, head: null },
    });
    expect(await json('verify', out, '--strict')).toMatchObject({ code: 0, data: { runs: [{ jobs: 1 }] } });
    for (const state of ['placed', 'same']) {
      expect(await json('journal', 'init', at('new'), '--from', out)).toMatchObject({ code: 0, data: { state } });
    }
    expect(under(at('new'), runOf(done))).toEqual(under(at('journal'), runOf(done)));
    expect(await json('journal', 'copy', at('journal'), at('copy'))).toMatchObject({ code: 0 });
    expect(files(at('copy'))).toEqual(files(at('journal')));

    const lines = readFileSync(out, 'utf8').split('\n');
    for (const [index, line] of lines.entries()) {
      if (!line.includes('/jobs/')) continue;
      writeFileSync(at('cut'), lines.filter((_one, other) => other !== index).join('\n'));
      const cut = await json('journal', 'init', at('elsewhere'), '--from', at('cut'));
      expect(cut.ok).toBe(false);
      expect(files(at('elsewhere'))).toEqual({});
    }
    expect(await json('resume', out, '--journal', at('new'))).toMatchObject({
      ok: false,
      error: { code: 'unknown_run' },
    });
    expect(await json('export', at('journal'), `run_${'0'.repeat(32)}`, '-o', at('x'))).toMatchObject({
      code: 2,
      error: { code: 'unknown_run' },
    });
  });

  it('leave with what they were shown and said where that is wanted', async () => {
    const out = at('run.export');
    const contents = ['--contents', at('journal-contents')];
    expect(await json('export', at('journal'), runOf(done), '-o', out, ...contents)).toMatchObject({ code: 0 });
    expect(readFileSync(out, 'utf8')).toContain('planted-output');
    const placed = ['--journal', at('new'), '--contents', at('new-contents')];
    expect(await json('journal', 'init', at('new'), '--from', out, '--contents', at('new-contents'))).toMatchObject({
      code: 0,
    });
    expect(Object.values(files(at('new-contents'))).join()).toContain('planted-output');
    expect(await json('contents', 'erase', runOf(done), ...placed)).toMatchObject({ code: 0 });
    expect(Object.values(files(at('new-contents'))).join()).not.toContain('planted-output');
  });

  it('are erased, and verify as before', async () => {
    const before = files(at('journal'));
    const erase = (bench: LaunchBench, ...more: string[]) =>
      json('contents', 'erase', runOf(bench), '--journal', at('journal'), ...more);
    expect(await erase(open)).toMatchObject({ code: 6, error: { code: 'run_open' } });
    const erased = await erase(done);
    expect(erased).toMatchObject({ code: 0 });
    expect((erased.data?.['paths'] as string[]).map((name) => name.split('/')[0])).toEqual([
      'results',
      'results',
      'salts',
      'salts',
    ]);
    expect(Object.values(files(at('journal-contents'))).join()).not.toContain('planted-output');
    expect(files(at('journal'))).toEqual(before);
    expect(await json('verify', at('journal'), '--strict')).toMatchObject({ code: 0 });
    expect(await erase(done)).toMatchObject({ code: 0 });
    expect(await erase(open, '--force')).toMatchObject({ code: 0 });
    expect(Object.keys(files(at('journal-contents'))).filter((name) => !name.startsWith('launches'))).toEqual([]);
  });

  it('have nothing to retire', async () => {
    expect(await json('journal', 'retire', '--journal', at('journal'), '--minimum-age', '1d')).toMatchObject({
      code: 0,
      data: { counts: { without_chain: 2 }, confirm: null },
    });
  });
});
