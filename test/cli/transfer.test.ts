/**
 * `export`, `journal init --from`, `journal copy`, and `verify` of what they make.
 *
 * Held here:
 * - an exported run is one new file that verifies; placed under a new folder it keeps its journal's id and its contents; placed
 *   again it changes nothing; contents are in it only when their store is named, whatever a variable says;
 * - a copy is brought up to date, and left alone where it is further on;
 * - whatever cannot be done changes nothing, and says so with its code, its exit code and one sentence without contents.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { journalToText } from '../../src/rules/journal-record';
import { files, json, useSampleFolder } from './sample-folder';
import { cli } from './support';

const here = useSampleFolder();
const { at } = here;
const JOURNAL_ID = `jrn_${'0'.repeat(32)}`;

describe('a run on the move', () => {
  it('goes into one file, verifies there, and is placed elsewhere', async () => {
    const [from, out] = [at('journal'), at('run.export')];
    process.env['COUNTERSIGN_CONTENTS'] = at('journal-contents');
    const made = await json('export', from, here.runId, '-o', out);
    expect(made).toMatchObject({
      ok: true,
      code: 0,
      data: { journal_id: JOURNAL_ID, run_id: here.runId, contents: false, head: { phase: 'completed' } },
    });
    expect(readFileSync(out, 'utf8')).not.toContain('operations/');
    const head = here.sample.sample.chain.at(-1)!.checkpointDigest;
    expect(await json('verify', out, '--strict', '--expect-head', head)).toMatchObject({
      code: 0,
      data: { kind: 'journal', anchored: true, justified: true, journal_id: JOURNAL_ID },
    });

    const whole = at('whole.export');
    const withContents = await json('export', from, here.runId, '--contents', at('journal-contents'), '--out', whole);
    expect(withContents).toMatchObject({ ok: true, data: { contents: true, missing_operations: 0 } });
    for (const state of ['placed', 'same']) {
      expect(await json('journal', 'init', at('new'), '--from', whole)).toMatchObject({
        code: 0,
        data: { journal_id: JOURNAL_ID, run_id: here.runId, state, contents: at('new-contents') },
      });
      expect(files(at('new'))).toEqual(files(from));
    }
    expect(Object.keys(files(at('new-contents'))).sort()).toEqual(
      Object.keys(files(at('journal-contents')))
        .filter((name) => name !== 'salts/of-another-run')
        .sort(),
    );
    expect(await json('journal', 'ls', at('new'))).toMatchObject({ data: { runs: [{ run_id: here.runId }] } });
  });

  it('is copied with its journal, and the copy brought up to date', async () => {
    const old = at('old');
    cpSync(at('journal'), old, { recursive: true });
    for (const name of Object.keys(files(old))) {
      if (/checkpoint-0+3\.json$/.test(name)) rmSync(path.join(old, name));
    }
    const copy = async (from: string, to: string): Promise<unknown> =>
      ((await json('journal', 'copy', from, to)).data?.['runs'] as { state: string }[]).map(({ state }) => state);
    expect(await copy(old, at('copy'))).toEqual(['placed']);
    expect(await copy(at('journal'), at('copy'))).toEqual(['advanced']);
    expect(await copy(old, at('copy'))).toEqual(['ahead']);
    expect(await copy(at('journal'), at('copy'))).toEqual(['same']);
    expect(files(at('copy'))).toEqual(files(at('journal')));
    const told = await cli('journal', 'copy', at('journal'), at('copy'));
    expect(told).toMatchObject({ code: 0, err: '' });
    expect(told.out).toBe(`journal ${JOURNAL_ID}, 1 run\n${here.runId}  there already, in the same state  0 entries\n`);
  });
});

interface Refusal {
  readonly args: () => readonly string[];
  readonly code: string;
  readonly exit: number;
}

const other = (): string => {
  mkdirSync(at('other'));
  writeFileSync(at('other', 'journal.json'), journalToText('1'.repeat(32)));
  return at('other');
};
const forked = (): string => {
  cpSync(at('journal'), at('forked'), { recursive: true });
  writeFileSync(at('forked', here.runId, 'epochs', '000002'), '{}');
  return at('forked');
};
const damagedJournal = (): string => {
  rmSync(at('journal', here.runId, 'lineage-0001', 'checkpoint-00000000000000000001.json'));
  return at('journal');
};
const stranger = (): string => {
  mkdirSync(at('stranger'));
  writeFileSync(at('stranger', 'notes.txt'), 'x');
  return at('stranger');
};
const cut = (): string => {
  writeFileSync(at('cut.export'), readFileSync(at('run.export')).subarray(0, -50));
  return at('cut.export');
};
const exportTo = (...more: readonly string[]): readonly string[] => ['export', at('journal'), here.runId, ...more];

const REFUSED: Readonly<Record<string, Refusal>> = {
  'an export over a file': { args: () => exportTo('-o', at('run.export')), code: 'output_exists', exit: 6 },
  'an export into no folder': { args: () => exportTo('-o', at('none', 'x')), code: 'invalid_argument', exit: 2 },
  'an export to nowhere': { args: () => exportTo(), code: 'invalid_argument', exit: 2 },
  'an export of no run': {
    args: () => ['export', at('journal'), `run_${'9'.repeat(32)}`, '-o', at('x')],
    code: 'unknown_run',
    exit: 2,
  },
  'an export of no journal': {
    args: () => ['export', stranger(), here.runId, '-o', at('x')],
    code: 'journal_missing',
    exit: 2,
  },
  'an export of a damaged journal': {
    args: () => ['export', damagedJournal(), here.runId, '-o', at('x')],
    code: 'not_verified',
    exit: 3,
  },
  'an export with contents from nowhere': {
    args: () => exportTo('-o', at('x'), '--contents', at('none')),
    code: 'invalid_argument',
    exit: 2,
  },
  'a cut-off file, verified': { args: () => ['verify', cut()], code: 'invalid_record', exit: 3 },
  'a cut-off file, placed': {
    args: () => ['journal', 'init', at('x'), '--from', cut()],
    code: 'invalid_record',
    exit: 3,
  },
  'a file of something else': {
    args: () => ['verify', at('journal', 'journal.json')],
    code: 'invalid_record',
    exit: 3,
  },
  'no file, placed': {
    args: () => ['journal', 'init', at('x'), '--from', at('none')],
    code: 'input_unreadable',
    exit: 2,
  },
  'a run placed into another journal': {
    args: () => ['journal', 'init', other(), '--from', at('run.export')],
    code: 'wrong_journal',
    exit: 6,
  },
  'a run placed where it went another way': {
    args: () => ['journal', 'init', forked(), '--from', at('run.export')],
    code: 'journal_conflict',
    exit: 6,
  },
  'a copy over another journal': {
    args: () => ['journal', 'copy', at('journal'), other()],
    code: 'wrong_journal',
    exit: 6,
  },
  'a copy over one that went another way': {
    args: () => ['journal', 'copy', at('journal'), forked()],
    code: 'journal_conflict',
    exit: 6,
  },
  'a copy into a folder of something else': {
    args: () => ['journal', 'copy', at('journal'), stranger()],
    code: 'journal_missing',
    exit: 2,
  },
  'a copy of a damaged journal': {
    args: () => ['journal', 'copy', damagedJournal(), at('x')],
    code: 'journal_invalid',
    exit: 3,
  },
  'a copy into itself': {
    args: () => ['journal', 'copy', at('journal'), at('journal', 'copy')],
    code: 'invalid_argument',
    exit: 2,
  },
  'a resumed run that is not there': {
    args: () => ['resume', at('journal'), `run_${'9'.repeat(32)}`],
    code: 'unknown_run',
    exit: 2,
  },
  'a resumed run that is not named': { args: () => ['resume', at('journal')], code: 'invalid_argument', exit: 2 },
  'a resumed file of another run': {
    args: () => ['resume', at('run.export'), `run_${'9'.repeat(32)}`, '--journal', at('journal')],
    code: 'unknown_run',
    exit: 2,
  },
  'a resumed file without a journal for it': {
    args: () => ['resume', at('run.export')],
    code: 'invalid_argument',
    exit: 2,
  },
  'a resumed run of a wrong head': {
    args: () => ['resume', at('journal'), here.runId, '--expect-head', 'sha256:1'],
    code: 'invalid_argument',
    exit: 2,
  },
};

describe('what is refused', () => {
  beforeEach(async () => void (await cli(...exportTo('-o', at('run.export')))));

  it.each(Object.keys(REFUSED))('%s', async (name) => {
    const { args, code, exit } = REFUSED[name]!;
    const given = args();
    const before = files(at());
    const answer = await json(...given);
    expect(answer).toMatchObject({ ok: false, code: exit, error: { code } });
    expect(answer.error?.message).toMatch(/^[^\n]{10,300}$/);
    expect(files(at())).toEqual(before);
  });
});
