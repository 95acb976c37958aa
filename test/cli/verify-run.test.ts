/**
 * `verify-run` on the command line, on a real server.
 *
 * Held here:
 * - a draft is run, waits for each receipt, and ends; each command says the same of it in its exit code, its lines and its one object;
 * - what a receipt would fix, and which check it is for, is shown before it is signed; one written with `--out` is handed over by another
 *   command, and what its job has become is shown; the run's own
 *   person alone can authorize; a request goes out for each receipt, and none for anything else;
 * - what was applied is owed, checked again by the same draft with a new capture, and then not owed any more; asked again it is the run
 *   already started; a part that cannot be found again needs an affirmation, which starts nothing;
 * - whatever is wrong with a draft, a name or an option is refused with its code and one sentence, which quotes nothing of the draft,
 *   before a store or a server is asked for anything.
 */
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reviewersFromFile } from '../../src/adapters/reviewers';
import { runCli } from '../../src/cli/program';
import { startPaidProvider, type PaidProvider } from '../systems/paid-provider';
import { APPROVER, personOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { temporalAddress } from '../support/temporal';
import { MODEL, PROVIDER, checks, paidLauncher, proposalId } from '../workflows/verification/support';
import { answerOf, cli, type JsonAnswer, type Ran } from './support';

const rig = useRig();
let provider: PaidProvider;
const at = (name: string): string => path.join(rig.folder, name);

beforeEach(async () => {
  process.env['TEMPORAL_ADDRESS'] = temporalAddress();
  process.env['COUNTERSIGN_KEYS'] = at('keys');
  for (const name of ['ann', 'bob']) {
    await cli('keys', 'new', name, '--person', personOf(name), '--role', APPROVER);
  }
  fs.writeFileSync(at('reviewers.json'), (await cli('keys', 'export')).out);
  provider = await startPaidProvider();
  fs.mkdirSync(at('contents'), { recursive: true });
  fs.writeFileSync(at('text.md'), 'planted text of a document');
});
afterEach(() => provider.close());
afterAll(() => void delete process.env['COUNTERSIGN_KEYS']);

async function worker(): Promise<void> {
  const reviewers = reviewersFromFile(at('reviewers.json'));
  await rig.worker({ plugin: { launchers: [paidLauncher(provider.url)], reviewers, checks } });
}

interface Answered extends Ran {
  readonly answer: JsonAnswer;
}
async function json(...args: readonly string[]): Promise<Answered> {
  const [command = ''] = args;
  const taken = STORES[command] ?? [];
  const ran = await cli(
    'verify-run',
    ...args,
    ...stores().filter((_one, index) => taken.includes(index >> 1)),
    '--json',
  );
  expect(ran.out + ran.err).not.toMatch(/planted/);
  return { ...ran, answer: answerOf(ran) };
}
const stores = (): string[] => [
  '--journal',
  at('journal'),
  '--contents',
  at('contents'),
  '--task-queue',
  rig.taskQueue,
];
/** Which of journal, contents and task queue a command takes. */
const STORES: Readonly<Record<string, readonly number[]>> = {
  ...{ start: [0, 1, 2], recheck: [0, 1, 2], affirm: [0, 1, 2], apply: [0, 2] },
  ...{ status: [2], inspect: [0], owed: [0] },
};

const captureId = (): string => `cap_${randomBytes(16).toString('hex')}`;
const DRAFT = {
  person: personOf('ann'),
  goal: 'planted goal',
  protected_intent: 'planted intent',
  capture: { source: 'documents/one', file: 'text.md', target: 'planted text', reference: 'section-2' },
  checks: [
    { criterion: 'length', check: 'words', binding: 'words', configuration: { most: 1 } },
    { criterion: 'style', check: 'style', binding: 'style', configuration: { rule: 1 } },
  ],
  executors: [
    { mode: 'launched', binding: 'style', provider: PROVIDER, model: MODEL, cost_ceiling: 5 },
    { mode: 'in_process', binding: 'words' },
  ],
  coordinator: { mode: 'launched', binding: 'coordinate', provider: PROVIDER, model: MODEL, cost_ceiling: 5 },
};
/** A draft's file, of a capture of its own. */
function draft(capture: object = {}, more: object = {}): string {
  const file = at(`draft-${randomBytes(4).toString('hex')}.json`);
  const whole = { ...DRAFT, capture: { ...DRAFT.capture, capture_id: captureId(), ...capture }, ...more };
  fs.writeFileSync(file, JSON.stringify(whole));
  return file;
}

/** Authorizes whatever is asked, until the run is closed; the last answer. */
async function carried(file: string, command: readonly string[] = ['start']): Promise<Answered> {
  const [name = '', ...more] = command;
  for (;;) {
    const ran = await json(name, file, ...more);
    if (ran.answer.error?.code !== 'receipt_wanted') return ran;
    expect(ran.code).toBe(4);
    const signed = await json('authorize', String(ran.answer.data?.['run_id']), '--key', 'ann');
    expect(signed).toMatchObject({ code: 0, answer: { ok: true } });
  }
}

describe('a run', () => {
  it('is started, authorized twice, told and shown', async () => {
    await worker();
    const file = draft();
    const started = await json('start', file);
    expect(started).toMatchObject({ code: 4, answer: { ok: false, error: { code: 'receipt_wanted' } } });
    const {
      run_id: runId,
      results,
      wants,
    } = started.answer.data as { run_id: string; results: object[]; wants: object };
    expect(results).toMatchObject([{ criterion: 'length', outcome: 'departs' }]);
    expect(wants).toMatchObject({
      claims: { provider: PROVIDER, cost_ceiling: 5, retry_limit: 0, authorizer: 'human' },
    });
    expect(await json('status', `countersign/verify/${runId}`)).toMatchObject({ code: 4, answer: { data: { wants } } });

    // Only the person who started it; and nothing is handed over that another command shall hand over.
    expect(await json('authorize', runId, '--key', 'bob')).toMatchObject({
      code: 6,
      answer: { error: { code: 'receipt_wrong_launch' } },
    });
    const out = at('receipt');
    const shown = await cli('verify-run', 'authorize', runId, '--key', 'ann', '--out', out);
    expect(shown).toMatchObject({ code: 0, err: '' });
    expect(shown.out).toMatch(
      /one launch, of job [0-9a-f]{32}.*\n {2}it is for the check style of criterion style\n {2}provider +\S+\n {2}model +\S+\n {2}cost ceiling +5\n/,
    );
    expect(fs.statSync(out).mode & 0o777).toBe(0o600);
    expect(provider.requests()).toBe(0);
    provider.mode = 'holds';
    const handed = await cli('verify-run', 'authorize', runId, '--receipt', out);
    const [said = '', become] = handed.out.split(/^receipt sha256:[0-9a-f]{64} handed over\n/m);
    expect({ ...handed, said, become }).toMatchObject({
      code: 0,
      said: expect.stringContaining('a person is to authorize') as string,
      become: expect.stringMatching(/: launched\n[^]*specialist for style +handed off/) as string,
    });
    expect(become).not.toMatch(/to authorize/);
    await provider.arrived(1);
    // Again: it is the run's already.
    expect(await json('authorize', runId, '--receipt', out)).toMatchObject({
      code: 6,
      answer: { error: { code: 'receipt_not_wanted' } },
    });
    provider.mode = 'answers';
    provider.release();

    const ended = await carried(file);
    expect(ended).toMatchObject({ code: 0, answer: { ok: true, data: { outcome: 'completed' } } });
    expect(provider.requests()).toBe(2);
    const told = await cli('verify-run', 'start', file, ...stores());
    expect(told.out).toMatch(/^run run_[0-9a-f]{32}\n[^]*completed[^]*proposal prop_/);
    expect(await json('authorize', runId, '--key', 'ann')).toMatchObject({
      code: 6,
      answer: { error: { code: 'receipt_not_wanted' } },
    });

    const inspected = await json('inspect', runId);
    expect(inspected).toMatchObject({
      code: 0,
      answer: {
        data: {
          outcome: 'completed',
          kind: 'verify',
          jobs: [{ state: 'completed' }, { state: 'completed' }],
          owed: [],
        },
      },
    });
    const people = await cli('verify-run', 'inspect', runId, '--journal', at('journal'));
    expect(people.out).toMatch(/completed, \d+ records\nhead \d+ sha256:/);
    expect(provider.requests()).toBe(2);
  });

  it('that the provider refuses ends incomplete, and asks for a person', async () => {
    provider.mode = { status: 429 };
    await worker();
    expect(await carried(draft())).toMatchObject({ code: 4, answer: { error: { code: 'run_incomplete' } } });
    expect(provider.requests()).toBe(1);
  });

  it('waits for a worker, and is left by Ctrl-C', async () => {
    const file = draft();
    const aborting = new AbortController();
    let out = '';
    const streams = { out: (text: string) => void (out += text), err: () => undefined };

    const running = runCli(['verify-run', 'start', file, ...stores()], streams, aborting.signal);
    await expect.poll(() => out, { timeout: 30_000 }).toContain('no worker answers yet');
    aborting.abort();
    expect(await running).toBe(130);
  });
});

describe('histories', () => {
  const files = (root: string): Record<string, string> => {
    const names = fs.readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = names.map((entry) => path.join(entry.parentPath, entry.name));
    return Object.fromEntries(paths.map((name) => [path.relative(root, name), fs.readFileSync(name, 'latin1')]));
  };
  const take = (...args: readonly string[]): Promise<Ran> => cli('verify-run', ...args, '--json');

  it('leave without contents, and come to another journal, all or none', async () => {
    await worker();
    const runId = String((await carried(draft())).answer.data?.['run_id']);
    const open = String((await json('start', draft())).answer.data?.['run_id']);
    const out = at('histories');
    const exported = answerOf(await take('export', '-o', out, '--journal', at('journal')));
    expect(exported).toMatchObject({ ok: true, data: { runs: 1, open: [open] } });
    expect(fs.readFileSync(out, 'utf8')).not.toMatch(/planted/);
    const over = await take('export', '-o', out, '--journal', at('journal'));
    expect([over.code, answerOf(over).error?.code]).toEqual([6, 'output_exists']);

    const placed = await take('import', out, '--journal', at('new'), '--reviewers', at('reviewers.json'));
    expect([placed.code, answerOf(placed).data]).toMatchObject([0, { runs: 1, journal_id: rig.journalId }]);
    expect(answerOf(await take('inspect', runId, '--journal', at('new')))).toMatchObject({
      data: { outcome: 'completed' },
    });
    await take('export', '-o', at('again'), '--journal', at('new'));
    expect(fs.readFileSync(at('again'))).toEqual(fs.readFileSync(out));
    const before = files(at('new'));
    expect(answerOf(await take('import', out, '--journal', at('new'))).data).toMatchObject({ placed: 0 });

    const changed = fs.readFileSync(out, 'utf8').replace('"outcome":"departs"', '"outcome":"conforms"');
    fs.writeFileSync(at('changed'), changed);
    const refused = await take('import', at('changed'), '--journal', at('new'));
    expect(refused.code).toBe(3);
    expect(answerOf(refused).error).toMatchObject({ code: 'invalid_record' });
    fs.writeFileSync(at('nobody.json'), '{"keys":[]}');
    expect((await take('import', out, '--journal', at('new'), '--reviewers', at('nobody.json'))).code).not.toBe(0);
    expect(files(at('new'))).toEqual(before);
    expect((await take('import', at('nowhere'), '--journal', at('new'))).code).toBe(2);
    expect(provider.requests()).toBe(2);
  });
});

describe('what a person applied', () => {
  const sitting = `sit_${'1'.repeat(32)}`;
  const apply = (runId: string): Promise<Answered> =>
    json('apply', runId, '--person', personOf('ann'), '--proposal', proposalId(0), proposalId(1), '--sitting', sitting);

  it('is owed, checked again, and then not owed any more', async () => {
    await worker();
    const runId = String((await carried(draft())).answer.data?.['run_id']);
    expect((await json('owed')).answer.data).toEqual({ owed: [] });
    expect(await apply(runId)).toMatchObject({ code: 0, answer: { data: { owed: [{ state: 'pending_capture' }] } } });
    const [owed] = (await json('owed', runId)).answer.data?.['owed'] as { intent_id: string }[];
    const intent = ['--intent', String(owed?.intent_id)];
    const file = draft({ target: 'short' });
    const before = provider.requests();
    expect(await json('recheck', file, ...intent)).toMatchObject({ code: 4, answer: { data: { replayed: false } } });
    const again = await carried(file, ['recheck', ...intent]);
    expect(again).toMatchObject({ code: 0, answer: { data: { outcome: 'completed' } } });
    const all = await json('owed', runId);
    expect(all.answer.data).toMatchObject({ owed: [{ state: 'fulfilled', pending: [] }] });
    expect((await cli('verify-run', 'owed', runId, '--journal', at('journal'))).out).toMatch(
      /^1 recheck, 0 of them still owed\nfulfilled /,
    );

    const made = provider.requests();
    expect(made - before).toBe(2);
    const replayed = await json('recheck', file, ...intent);
    expect(replayed.answer).toMatchObject({
      ok: true,
      data: { run_id: again.answer.data?.['run_id'], replayed: true },
    });
    const other = draft({ target: 'short' }, { goal: 'another' });
    expect(await json('recheck', other, ...intent)).toMatchObject({
      code: 3,
      answer: { error: { code: 'recheck_refused' } },
    });
    expect(provider.requests()).toBe(made);
  });

  it('needs an affirmation where it cannot be found again', async () => {
    await worker();
    const runId = String((await carried(draft({ reference: undefined }))).answer.data?.['run_id']);
    expect(await apply(runId)).toMatchObject({ answer: { data: { owed: [{ state: 'user_action_required' }] } } });
    const [owed] = (await json('owed')).answer.data?.['owed'] as { intent_id: string }[];
    const intent = ['--intent', String(owed?.intent_id)];
    const target = { target: 'short', reference: 'section-9' };
    expect(await json('recheck', draft(target), ...intent)).toMatchObject({
      code: 3,
      answer: { error: { code: 'recheck_refused' } },
    });
    const before = provider.requests();
    const affirmed = await json('affirm', draft(target), ...intent);
    expect(affirmed).toMatchObject({
      code: 0,
      answer: { data: { affirmation: expect.stringMatching(/^sha256:/) as string } },
    });
    expect(provider.requests()).toBe(before);
    const affirmation = ['--affirmation', String(affirmed.answer.data?.['affirmation'])];
    expect(await carried(draft(target), ['recheck', ...intent, ...affirmation])).toMatchObject({
      code: 0,
      answer: { data: { outcome: 'completed' } },
    });
    expect((await json('owed', runId)).answer.data).toMatchObject({ owed: [{ state: 'fulfilled' }] });
  });
});

describe('refused before anything', () => {
  const NO_RUN = `run_${'0'.repeat(32)}`;
  const DIGEST = `sha256:${'0'.repeat(64)}`;
  const check = DRAFT.checks[0];
  const executor = DRAFT.executors[0];
  const bad =
    (more: object): (() => string) =>
    () =>
      draft({}, more);
  it.each<[string, (() => string) | string, string, string?]>([
    ['no draft', 'nowhere.json', 'input_unreadable'],
    ['no JSON', () => (fs.writeFileSync(at('x'), '{'), at('x')), 'invalid_plan', 'document'],
    ['a list', () => (fs.writeFileSync(at('x'), '[]'), at('x')), 'invalid_arguments', 'document'],
    ['nothing', () => (fs.writeFileSync(at('x'), '{}'), at('x')), 'invalid_arguments', 'person'],
    ['a stranger field', bad({ planted: 1 }), 'invalid_arguments'],
    ['no person', bad({ person: 'ann' }), 'invalid_arguments', 'person'],
    ['no goal', bad({ goal: undefined }), 'invalid_arguments', 'goal'],
    ['no checks', bad({ checks: [] }), 'invalid_arguments', 'checks'],
    [
      'a check without a criterion',
      bad({ checks: [{ ...check, criterion: '' }] }),
      'invalid_arguments',
      'checks[0].criterion',
    ],
    ['a check that nobody serves', bad({ checks: [{ ...check, binding: 'nobody' }] }), 'invalid_record'],
    ['a check twice', bad({ checks: [check, check] }), 'invalid_record'],
    ['an executor of no kind', bad({ executors: [{ mode: 'planted' }] }), 'invalid_arguments', 'executors[0].mode'],
    [
      'a price that is none',
      bad({ executors: [{ ...executor, cost_ceiling: -1 }] }),
      'invalid_arguments',
      'executors[0].cost_ceiling',
    ],
    [
      'a specialist that sees all',
      bad({ executors: [{ ...executor, content_boundary: 'whole_context' }, DRAFT.executors[1]] }),
      'invalid_record',
    ],
    ['no coordinator', bad({ coordinator: null }), 'invalid_record'],
    [
      'a rounded number in the goal',
      () => (fs.writeFileSync(at('x'), '{"goal":{"planted":12345678901234567890}}'), at('x')),
      'invalid_plan',
      'goal.*',
    ],
    ['no capture', bad({ capture: {} }), 'invalid_arguments', 'capture.content'],
    ['two captures', bad({ capture: { ...DRAFT.capture, content: 'x' } }), 'invalid_arguments', 'capture.content'],
    ['a capture without a source', bad({ capture: { content: 'x' } }), 'invalid_arguments', 'capture.source'],
    ['a capture of no file', bad({ capture: { ...DRAFT.capture, file: 'planted.md' } }), 'input_unreadable'],
    [
      'a capture of a wrong id',
      bad({ capture: { ...DRAFT.capture, capture_id: 'planted' } }),
      'invalid_arguments',
      'capture.capture_id',
    ],
  ])('%s', async (_name, file, code, field) => {
    for (const [command, ...more] of [
      ['start'],
      ['recheck', '--intent', DIGEST],
      ['affirm', '--intent', DIGEST],
    ] as const) {
      const ran = await cli('verify-run', command, typeof file === 'string' ? file : file(), ...more, '--json');
      const { error, ok } = answerOf(ran);
      expect({ ok, code: error?.code }).toEqual({ ok: false, code });
      expect(error?.message).toMatch(/^\S[^\n]*$/);
      if (code !== 'input_unreadable') expect(error?.message).not.toMatch(/planted (?:goal|text|intent)/);
      if (field !== undefined) expect(error?.field).toBe(field);
      expect([2, 3]).toContain(ran.code);
    }
  });

  it.each<[readonly string[], string, number]>([
    [[], 'invalid_argument', 2],
    [['bogus'], 'invalid_argument', 2],
    [['start'], 'invalid_argument', 2],
    [['recheck', 'x.json'], 'invalid_argument', 2],
    [['recheck', 'x.json', '--intent', 'planted'], 'invalid_argument', 2],
    [['recheck', 'x.json', '--intent', DIGEST, '--affirmation', 'x'], 'invalid_argument', 2],
    [['affirm', 'x.json', '--intent', 'x'], 'invalid_argument', 2],
    [['status', 'x'], 'invalid_argument', 2],
    [['inspect', 'x'], 'invalid_argument', 2],
    [['inspect', NO_RUN], 'invalid_argument', 2],
    [['owed'], 'invalid_argument', 2],
    [['authorize', NO_RUN], 'invalid_argument', 2],
    [['authorize', NO_RUN, '--key', 'ann', '--receipt', 'x'], 'invalid_argument', 2],
    [['authorize', NO_RUN, '--key', 'nobody'], 'key_unknown', 2],
    [['authorize', NO_RUN, '--key', 'ann'], 'unknown_run', 2],
    [['authorize', NO_RUN, '--receipt', 'nowhere'], 'input_unreadable', 2],
    [['status', NO_RUN], 'unknown_run', 2],
    [['apply', NO_RUN, '--person', 'x'], 'invalid_argument', 2],
    [['apply', NO_RUN, '--person', 'x', '--proposal', 'x'], 'invalid_argument', 2],
  ])('%j', async (args, code, exit) => {
    const ran = await cli('verify-run', ...args, '--json');
    expect([ran.code, answerOf(ran).error?.code]).toEqual([exit, code]);
    const people = await cli('verify-run', ...args);
    expect([people.code, people.err.includes(`${code}: `)]).toEqual([exit, true]);
  });

  it('a run that the journal does not hold', async () => {
    expect(await json('inspect', NO_RUN)).toMatchObject({ code: 2, answer: { error: { code: 'unknown_run' } } });
    expect(await json('recheck', draft(), '--intent', DIGEST)).toMatchObject({
      code: 3,
      answer: { error: { code: 'recheck_refused' } },
    });
  });
});
