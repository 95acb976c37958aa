/**
 * The command line about a person's own keys.
 *
 * Held here:
 * - `new` makes a key, `list` shows it, `export` prints what the workers' reviewers read, and what it signs is admitted;
 * - the commands of the page of receipts work as written;
 * - `sign` shows all of a statement, by the names that are signed, and signs just that; what is no statement is refused, and nothing is signed;
 * - no command ever prints a secret; a key is never replaced; wrong names, people and roles exit 2 and make nothing;
 * - a key that others could read is refused; an option wins over its variable.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeyFolder, reviewersFromFile } from '../../src/adapters/reviewers';
import { admitDecision } from '../../src/rules/receipts/admit';
import { jwksFromBytes } from '../../src/rules/receipts/jwks';
import { signReceipt } from '../../src/rules/receipts/jws';
import { statementToText } from '../../src/rules/receipts/statement';
import { APPROVER, AUDITOR, CONTEXT, approval, personOf } from '../rules/receipts/support';
import { answerOf, cli, type Ran } from './support';

let work = '';
beforeEach(() => (work = fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-keys-'))));
afterEach(() => fs.rmSync(work, { recursive: true, force: true }));
const folder = (): string => path.join(work, 'keys');
const keys = (command: string, ...args: readonly string[]): Promise<Ran> =>
  cli('keys', command, ...args, '--keys', folder());
const make = (name: string, ...roles: readonly string[]): Promise<Ran> =>
  keys('new', name, '--person', personOf(name), '--role', ...(roles.length === 0 ? [APPROVER] : roles));

it('makes, lists and exports a key that signs', async () => {
  expect((await make('own', APPROVER, AUDITOR)).code).toBe(0);
  expect((await make('other')).code).toBe(0);
  const { kid } = await new KeyFolder(folder()).read('own');

  const listed = await keys('list');
  expect(listed.out.split('\n').map((line) => line.split(/ {2,}/)[0])).toEqual(['other', 'own', '']);
  expect(listed.out).toContain(`${kid}  ${personOf('own')}`);
  expect(listed.out).toContain(`${APPROVER} ${AUDITOR}`);
  expect(answerOf(await keys('list', '--json')).data).toMatchObject({
    keys: [{ name: 'other' }, { name: 'own', kid }],
  });

  const file = path.join(work, 'reviewers.json');
  fs.writeFileSync(file, (await keys('export')).out);
  const reviewers = await reviewersFromFile(file).load();
  expect(reviewers.keys).toHaveLength(2);
  const token = signReceipt(approval(), await new KeyFolder(folder()).read('own'));
  expect(admitDecision(token, { ...CONTEXT, keys: reviewers })).toMatchObject({ ok: true });

  const one = answerOf(await keys('export', 'own', 'own', '--json')).data;
  expect(jwksFromBytes(JSON.stringify(one)).keys.map((key) => key.kid)).toEqual([kid]);
});

it('signs a statement, all of which it shows, and nothing else', async () => {
  await make('own');
  const file = path.join(work, 'statement.json');
  fs.writeFileSync(file, statementToText(approval()));
  const said = await keys('sign', 'own', file);
  const lines = said.out.trimEnd().split('\n');
  expect([said.code, lines[0], lines.at(-1)]).toEqual([
    0,
    'signing this approval:',
    signReceipt(approval(), await new KeyFolder(folder()).read('own')),
  ]);
  const signed = JSON.parse(Buffer.from(lines.at(-1)!.split('.')[1]!, 'base64url').toString()) as object;
  expect(Object.keys(signed)).toContain('plan_digest');
  for (const [name, value] of Object.entries(signed)) {
    expect(said.out).toMatch(new RegExp(`^ {2}${name} +${String(value)}$`, 'm'));
  }
  for (const text of ['', '{}', 'x'.repeat(9_000), statementToText(approval()).replace('approve', 'approved')]) {
    fs.writeFileSync(file, text);
    const refused = await keys('sign', 'own', file, '--json');
    expect(answerOf(refused).error?.code).toMatch(/^(invalid_record|invalid_argument|receipt_malformed)$/);
    expect(refused.out).not.toContain('eyJ');
  }
});

it('works as the page of receipts shows', async () => {
  const [, shown = ''] = /```sh\n([^]*?)```/.exec(fs.readFileSync('docs/receipts.md', 'utf8')) ?? [];
  const commands = shown.trimEnd().split('\n');
  expect(commands).toHaveLength(2);
  const said: Ran[] = [];
  for (const command of commands) {
    const [npx, program, ...args] = command.split(' ');
    expect([npx, program]).toEqual(['npx', 'countersign']);
    said.push(await cli(...args, '--keys', folder()));
  }
  expect(said.map(({ code }) => code)).toEqual([0, 0]);
  expect(jwksFromBytes(said[1]?.out ?? '').keys).toHaveLength(1);
});

it('never prints a secret', async () => {
  const said = [await make('own'), await make('own'), await keys('list'), await keys('export')];
  const secret = (JSON.parse(fs.readFileSync(path.join(folder(), 'own.jwk'), 'utf8')) as { d: string }).d;
  fs.chmodSync(path.join(folder(), 'own.jwk'), 0o644);
  said.push(await keys('export', 'own'), await keys('list', '--json'));
  for (const { out, err } of said) expect(out + err).not.toContain(secret.slice(0, 12));
});

describe('is refused', () => {
  const rows: readonly (readonly [string, number, string, readonly string[]])[] = [
    ['a person in words', 2, 'invalid_argument', ['new', 'x', '--person', 'me', '--role', APPROVER]],
    [
      'a person with a version',
      2,
      'invalid_argument',
      ['new', 'x', '--person', `${personOf('x')}@1.0.0`, '--role', APPROVER],
    ],
    ['a role in words', 2, 'invalid_argument', ['new', 'x', '--person', personOf('x'), '--role', 'boss']],
    ['no role', 2, 'invalid_argument', ['new', 'x', '--person', personOf('x')]],
    ['no person', 2, 'invalid_argument', ['new', 'x', '--role', APPROVER]],
    ['no name', 2, 'invalid_argument', ['new', '--person', personOf('x'), '--role', APPROVER]],
    ['a name that leads out', 2, 'key_name_invalid', ['new', '../x', '--person', personOf('x'), '--role', APPROVER]],
    ['an unknown key', 2, 'key_unknown', ['export', 'x']],
    ['an export of nothing', 2, 'invalid_argument', ['export']],
    ['no command', 2, 'invalid_argument', []],
  ];
  it.each(rows)('%s', async (_what, code, error, args) => {
    const ran = await cli('keys', ...args, ...(args.length === 0 ? [] : ['--keys', folder()]), '--json');
    expect([ran.code, answerOf(ran).error?.code]).toEqual([code, error]);
    expect(fs.existsSync(folder())).toBe(false);
  });

  it('a second key of one name, which leaves the first', async () => {
    await make('own');
    const before = await new KeyFolder(folder()).read('own');
    const ran = await keys('new', 'own', '--person', personOf('eve'), '--role', AUDITOR, '--json');
    expect([ran.code, answerOf(ran).error?.code]).toEqual([6, 'key_exists']);
    expect(await new KeyFolder(folder()).read('own')).toEqual(before);
  });

  it('a key that others can read', async () => {
    await make('own');
    fs.chmodSync(path.join(folder(), 'own.jwk'), 0o644);
    const ran = await keys('export', 'own');
    expect([ran.code, ran.out]).toEqual([2, '']);
    expect(ran.err).toMatch(/^countersign keys export: input_unprotected: [^\n]+\n$/);
  });
});

it('takes its folder from COUNTERSIGN_KEYS, unless an option names one', async () => {
  process.env['COUNTERSIGN_KEYS'] = path.join(work, 'elsewhere');
  try {
    await cli('keys', 'new', 'a', '--person', personOf('a'), '--role', APPROVER);
    await make('b');
    expect(fs.readdirSync(work).sort()).toEqual(['elsewhere', 'keys']);
    expect((await cli('keys', 'list')).out).toMatch(/^a /);
  } finally {
    delete process.env['COUNTERSIGN_KEYS'];
  }
});
