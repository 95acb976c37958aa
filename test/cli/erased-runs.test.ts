/**
 * `contents erase` of a verification run.
 *
 * Held here:
 * - what its workers were shown and said goes, with its salt, and no entry of the journal, which verifies as before;
 * - what another run of the same document was asked, too, stays readable until that one is erased, and the salt of the document with it;
 * - one that is not over is refused unless it is forced, and ends then; erased twice it is erased.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PreparedRun } from '../../src/client';
import { Contents } from '../../src/activities/contents';
import { fileStore } from '../../src/adapters/stores';
import { RunBench } from '../activities/run-bench';
import { draft } from '../workflows/verification/drafts';
import { writeFiles } from '../verify/sample-journal';
import { answerOf, cli, type JsonAnswer } from './support';
import { files } from './sample-folder';

let folder: string;
const at = (...names: readonly string[]): string => path.join(folder, ...names);
beforeEach(() => void (folder = mkdtempSync(path.join(os.tmpdir(), 'cli-erased-runs-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function json(...args: readonly string[]): Promise<JsonAnswer & { code: number | null }> {
  const ran = await cli(...args, '--json');
  return { ...answerOf(ran), code: ran.code };
}
const erase = (runId: string, ...more: string[]): ReturnType<typeof json> =>
  json('contents', 'erase', runId, '--journal', at('journal'), ...more);
const kept = (): string => Object.values(files(at('journal-contents'))).join();
const names = (): readonly string[] => Object.keys(files(at('journal-contents')));

/** Two runs of one document, that ask for different things of different passages; the second one is not carried further. */
async function two(carried = true): Promise<readonly [PreparedRun, PreparedRun]> {
  const bench = new RunBench();
  bench.brings = ({ role }) =>
    role === 'specialist' ? { outcome: 'conforms', content: 'planted-words' } : { proposals: [] };
  bench.checks = () => Promise.resolve({ outcome: 'conforms', content: 'planted-answer' });
  const first = await bench.prepare(draft(1, 1, { goal: 'planted-goal' }));
  const capture = { ...draft(1, 1).capture, target: 'planted-passage' };
  const second = await bench.prepare(draft(1, 1, { goal: 'other-goal', capture }));
  await bench.carry(first);
  if (carried) await bench.carry(second);
  else await bench.advance(second);
  await bench.verified();
  writeFiles(at('journal'), bench.journal.entries);
  writeFiles(at('journal-contents'), bench.kept.entries);
  return [first, second];
}

it('takes what the run alone was about', async () => {
  const [first, second] = await two();
  const before = files(at('journal'));
  expect(await erase(first.runId)).toMatchObject({ code: 0 });
  expect(files(at('journal'))).toEqual(before);
  expect(await json('verify', at('journal'), '--strict')).toMatchObject({ code: 0 });
  expect(kept()).not.toMatch(/planted-goal|planted text/);
  const contents = new Contents(fileStore(at('journal-contents')));
  const { snapshot, input } = second.run;
  expect(await contents.content(snapshot.targetDigest)).toBe('planted-passage');
  expect(await contents.content(snapshot.contentDigest)).toBe('All of a text.');
  expect(await contents.content(input.goalDigest)).toBe('other-goal');
  expect(kept()).toMatch(/planted-words/);

  expect(await erase(first.runId)).toMatchObject({ code: 0 });
  expect(await erase(second.runId)).toMatchObject({ code: 0 });
  expect(names().filter((name) => !name.startsWith('configurations'))).toEqual([]);
  expect(kept()).not.toMatch(/planted|All of a text|other-goal/);
  expect(await json('verify', at('journal'), '--strict')).toMatchObject({ code: 0 });
  expect(await json('verify-run', 'inspect', second.runId, '--journal', at('journal'))).toMatchObject({ code: 0 });
});

it('refuses a run that is not over', async () => {
  const [, open] = await two(false);
  const before = files(at('journal-contents'));
  expect(await erase(open.runId)).toMatchObject({ code: 6, error: { code: 'run_open' } });
  expect(files(at('journal-contents'))).toEqual(before);
  expect(await erase(open.runId, '--force')).toMatchObject({ code: 0 });
  expect(kept()).not.toMatch(/planted-passage|other-goal/);
});
