/**
 * The command line without a server.
 *
 * Held here:
 * - a wrong command, argument or option exits 2 with one sentence, or with `--json` exactly one object and nothing else;
 * - help and version exit 0; no failure shows a stack;
 * - `journal init` makes a journal once, in no folder of something else; `ls`, `inspect --offline` and `verify` read it back;
 * - an option wins over its variable, and no folder is made by a mistyped name;
 * - every code that a fault can have has an exit code, and faults of every class keep to their tables.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADVICE } from '../../src/cli/advice';
import { CLI_CODES, CLI_EXITS, EXIT, PARKED_EXITS, REFUSED_EXITS, STORE_EXITS } from '../../src/cli/exit-codes';
import { CliError, exitCode, failureOf } from '../../src/cli/failure';
import { StoreError, type StoreErrorCode } from '../../src/ports';
import { RecoveryError } from '../../src/rules/recovery';
import { REFUSAL_CODES, Refusal } from '../../src/rules/refusal';
import { answerOf, cli } from './support';

let folder = '';
beforeEach(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'countersign-cli-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => path.join(folder, name);

describe('arguments', () => {
  it.each([
    [['invocations', 'resolve'], 'invocations resolve'],
    [['--bogus', 'verify-run', 'import', '--json'], 'verify-run import'],
    [['contents', 'keys', 'list', '--bogus'], 'contents keys list'],
    [['journal', 'bogus'], 'journal'],
    [['bogus', 'run'], 'bogus'],
    [[], 'countersign'],
  ] as const)('%j is refused by the name of its command', async (args, name) => {
    expect(answerOf(await cli(...args, '--json')).command).toBe(name);
  });

  const NO_RUN = `run_${'0'.repeat(32)}`;
  it.each([
    [[], 'invalid_argument'],
    [['bogus'], 'invalid_argument'],
    [['journal'], 'invalid_argument'],
    [['journal', 'bogus'], 'invalid_argument'],
    [['run'], 'invalid_argument'],
    [['run', 'a', 'b'], 'invalid_argument'],
    [['run', 'nowhere.json', '--bogus'], 'invalid_argument'],
    [['run', 'nowhere.json'], 'input_unreadable'],
    [['plan'], 'invalid_argument'],
    [['preview'], 'invalid_argument'],
    [['inspect'], 'invalid_argument'],
    [['inspect', 'nowhere'], 'input_unreadable'],
    [['inspect', NO_RUN, '--offline'], 'invalid_argument'],
    [['inspect', NO_RUN, '--offline', '--journal', 'nowhere'], 'invalid_argument'],
    [['verify'], 'invalid_argument'],
    [['verify', 'nowhere'], 'input_unreadable'],
    [['verify', '.', '--expect-head', 'sha256:1'], 'invalid_argument'],
    [['journal', 'ls'], 'invalid_argument'],
    [['journal', 'ls', 'nowhere'], 'journal_missing'],
    [['journal', 'init'], 'invalid_argument'],
  ] as const)('%j is refused as %s', async (args, code) => {
    const ran = await cli(...args, '--json');
    const { ok, error } = answerOf(ran);
    expect({ ok, code: ran.code, err: ran.err, error: error?.code }).toEqual({
      ok: false,
      code: 2,
      err: '',
      error: code,
    });
    expect(error?.message).toMatch(/^\S[^\n]*$/);
    const people = await cli(...args);
    expect(people.code).toBe(2);
    expect(people.err).toContain(`${code}: `);
    expect(people.err).not.toMatch(/\n {4}at /);
  });

  it('is said of the program by its name, and of a run by its id', async () => {
    expect((await cli()).err).toMatch(/countersign: invalid_argument: [^\n]*\n$/);
    expect((await cli()).err).not.toContain('countersign countersign');
    await cli('journal', 'init', at('j'));
    const { err } = await cli('inspect', NO_RUN, '--offline', '--journal', at('j'));
    expect(err).toBe(
      `countersign inspect: unknown_run: ${NO_RUN} was not found: ` +
        'the journal does not hold it, and of an execution: not asked\n',
    );
  });

  it.each([['--help'], ['--version'], ['run', '--help'], ['journal', 'init', '--help']])(
    '%j is answered',
    async (...args) => {
      expect((await cli(...args)).code).toBe(0);
    },
  );
});

describe('journal', () => {
  it('is made once, and read back', async () => {
    const made = answerOf(await cli('journal', 'init', at('j'), '--json')).data;
    const again = answerOf(await cli('journal', 'init', `${at('j')}/`, '--json')).data;
    expect(made).toMatchObject({ created: true, contents: at('j-contents') });
    expect(again).toEqual({ ...made, created: false });
    expect(existsSync(at('j-contents'))).toBe(true);
    expect(answerOf(await cli('journal', 'ls', at('j'), '--json')).data).toEqual({
      journal_id: made?.['journal_id'],
      runs: [],
    });
    expect((await cli('verify', at('j'), '--strict')).out).toContain('verified');
    const run = `run_${'0'.repeat(32)}`;
    const unknown = answerOf(await cli('inspect', run, '--offline', '--journal', at('j'), '--json'));
    expect(unknown.error).toMatchObject({ code: 'unknown_run', field: run });
  });

  it('is not made among other things', async () => {
    mkdirSync(at('busy'));
    writeFileSync(at('busy/notes.txt'), 'x');
    expect(answerOf(await cli('journal', 'init', at('busy'), '--json')).error?.field).toBe('dir');
    writeFileSync(at('file'), 'x');
    expect((await cli('journal', 'init', at('file'))).code).toBe(2);
    mkdirSync(at('empty'));
    for (const other of ['busy', 'empty']) {
      const told = `${at(other)} holds no journal, no run and no lineage`;
      expect(answerOf(await cli('verify', at(other), '--json')).error).toEqual({
        code: 'invalid_argument',
        message: told,
      });
    }
    mkdirSync(at('damaged'));
    writeFileSync(at('damaged/checkpoint-00000000000000000000.json'), '{}');
    const damaged = await cli('verify', at('damaged'));
    expect(damaged.code).toBe(3);
    expect(damaged.out).not.toContain('found nothing');
  });
});

describe('exit codes', () => {
  const failed = (cause: Error): WorkflowFailedError => new WorkflowFailedError('x', cause, 0 as never);
  const application = (type: string): ApplicationFailure =>
    ApplicationFailure.create({ type, message: `${type}: because` });

  it.each([...REFUSAL_CODES])('of the refusal %s is the same here and from a workflow', (code) => {
    const expected = { code, exit: REFUSED_EXITS[code] };
    expect(failureOf(new Refusal(code, 'because', 'a.field'))).toMatchObject({ ...expected, field: 'a.field' });
    expect(failureOf(failed(application(code)))).toMatchObject({ ...expected, message: 'because' });
  });

  it.each([...CLI_CODES])('of %s is in its table', (code) => {
    expect(exitCode(failureOf(new CliError(code, 'because')))).toBe(EXIT[CLI_EXITS[code]]);
  });

  it.each(Object.keys(STORE_EXITS) as StoreErrorCode[])('of %s is in its table', (code) => {
    expect(failureOf(new StoreError(code, 'because'))).toMatchObject({
      code,
      exit: STORE_EXITS[code],
      message: 'because',
    });
  });

  it.each([
    [failed(application('EffectRejected')), 'effect_rejected', 3],
    [failed(application('ApprovalRejected')), 'approval_rejected', 3],
    [failed(application('preview_failed')), 'preview_failed', 1],
    [failed(application('SomebodyElses')), 'service_failed', 1],
    [failed(new CancelledFailure('x')), 'plan_cancelled', 5],
    [failed(new TerminatedFailure('x')), 'workflow_terminated', 1],
    [failed(new TimeoutFailure('x', undefined, 'START_TO_CLOSE')), 'workflow_timed_out', 1],
    [new RecoveryError('invalid_json', 'checkpoint'), 'invalid_json', 3],
    [Object.assign(new Error('x'), { code: 'EIO' }), 'service_failed', 1],
    ['thrown', 'service_failed', 1],
  ])('of %s', (fault, code, exit) => {
    const failure = failureOf(fault);
    expect({ code: failure.code, exit: exitCode(failure) }).toEqual({ code, exit });
  });

  it('say where runs are listed when what was named is none', async () => {
    const { code, err } = await cli('inspect', 'order-1');
    expect(code).toBe(2);
    expect(err).toContain('order-1 is no run id and no file of a plan; "countersign ls"');
  });

  it('never repeat the text of an unknown error', () => {
    expect(failureOf(new Error('planted-6cf2')).message).not.toContain('planted-6cf2');
    expect(failureOf(failed(ApplicationFailure.create({ type: 'X', message: 'planted-6cf2' }))).message).not.toContain(
      'planted',
    );
  });

  it('of parked plans come with advice', () => {
    expect(Object.keys(ADVICE).sort()).toEqual(Object.keys(PARKED_EXITS).sort());
    for (const [reason, exit] of Object.entries(PARKED_EXITS)) {
      expect(EXIT[exit], reason).toBe(reason === 'no_adapter' ? 7 : 4);
    }
  });
});
