/**
 * `keys new`, `keys list`, `keys export`, `keys sign`. Invariant: a secret is written into its file and never printed; nothing is signed
 * but a statement that was read, and shown, in full.
 */
import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { KeyFolder, defaultKeyFolder, type NamedKey } from '../../adapters/reviewers';
import { claimsToRecord, type SignedClaims } from '../../rules/receipts/claims';
import { receiptDigest, signReceipt } from '../../rules/receipts/jws';
import { isPerson, isRole } from '../../rules/receipts/names';
import { publicEntry } from '../../rules/receipts/signing-key';
import { MAX_STATEMENT_CHARACTERS, statementFromText } from '../../rules/receipts/statement';
import type { Context, Register } from '../command';
import { CliError } from '../failure';
import { table, type Answer } from '../output';
import { readBounded } from '../plan-file';

export interface KeySettings {
  readonly keys: string;
}

/** The folder of a person's own keys. */
export function withKeys(command: Command): Command {
  const option = new Option('--keys <dir>', 'the folder of your own keys').env('COUNTERSIGN_KEYS');
  return command.addOption(option.default(defaultKeyFolder(), '~/.countersign/keys'));
}

export const keysCommand: Register = (program, act) => {
  const keys = program.command('keys').description('the keys with which you sign decisions');
  const make = keys
    .command('new')
    .description('make a key in a file that only you can read; a name is never used twice')
    .argument('<name>', 'your own name for it')
    .requiredOption('--person <person>', 'who you are, as in person:example.org/reviewer-1')
    .requiredOption('--role <role...>', 'a role in which you may decide, as in role:example.org/approver; repeatable');
  withKeys(make).action(act('keys new', makeKey));
  withKeys(keys.command('list').description('list your keys')).action(act('keys list', listKeys));
  const print = keys
    .command('export')
    .description('print the public halves as a JWKS for the workers’ reviewers')
    .argument('[names...]', 'default: all');
  withKeys(print).action(act('keys export', exportKeys));
  const sign = keys
    .command('sign')
    .description('sign a statement that an inbox, or another page, has shown you; prints the receipt')
    .argument('<name>', 'the key of yours that signs')
    .argument('[file]', 'the file of the statement; default: standard input', '-');
  withKeys(sign).action(act('keys sign', signStatement));
};

interface NewKey extends KeySettings {
  readonly person: string;
  readonly role: readonly string[];
}

async function makeKey(_context: Context, name: string, { keys, person, role }: NewKey): Promise<Answer> {
  if (!isPerson(person)) throw wrong('person', 'a person is written as person:example.org/reviewer-1');
  if (!role.every(isRole))
    throw wrong('role', 'a role is written as role:example.org/approver, with @1.0.0 if it has one');
  const folder = new KeyFolder(keys);
  const row = shown({ name, key: await folder.make(name, person, role) });
  const next = `give the workers its public half: "countersign keys export ${name}"`;
  return { data: row, lines: [`key ${name} made in ${folder.folder}, id ${row.kid}`, next] };
}

async function listKeys(_context: Context, { keys }: KeySettings): Promise<Answer> {
  const rows = (await new KeyFolder(keys).list()).map(shown);
  const lines = table(rows.map(({ name, kid, person, roles }) => [name, kid, person, roles.join(' ')]));
  return { data: { keys: rows }, lines: rows.length === 0 ? [`no keys in ${keys}`] : lines };
}

async function exportKeys(_context: Context, names: readonly string[], { keys }: KeySettings): Promise<Answer> {
  const folder = new KeyFolder(keys);
  const wanted = [...new Set(names)];
  const found =
    wanted.length === 0
      ? await folder.list()
      : await Promise.all(wanted.map(async (name) => ({ name, key: await folder.read(name) })));
  if (found.length === 0) throw wrong('names', `there are no keys in ${keys}; make one with "countersign keys new"`);
  const jwks = { keys: found.map(({ key }) => publicEntry(key)) };
  return { data: jwks, lines: [JSON.stringify(jwks, null, 2)] };
}

async function signStatement({ output }: Context, name: string, file: string, { keys }: KeySettings): Promise<Answer> {
  const key = await new KeyFolder(keys).read(name);
  const bytes = file === '-' ? standardInput() : readBounded(file, MAX_STATEMENT_CHARACTERS);
  if (bytes.length > MAX_STATEMENT_CHARACTERS) throw wrong('statement', 'is longer than any statement');
  const claims = statementFromText(bytes);
  for (const line of saidLines(claims)) output.say(line);
  const receipt = signReceipt(claims, key);
  return { data: { receipt, digest: receiptDigest(receipt), kid: key.kid, claims }, lines: [receipt] };
}

function standardInput(): Uint8Array {
  try {
    return readFileSync(0);
  } catch {
    throw wrong('statement', 'give a statement on standard input, or name its file');
  }
}

/** All that is signed, a line each, by the names that are signed. */
function saidLines(claims: SignedClaims): readonly string[] {
  const { kind } = claims;
  const rows = Object.entries(claimsToRecord(claims)).map(([name, value]) => [
    `  ${name}`,
    Array.isArray(value) ? value.join(' ') : String(value),
  ]);
  return [`signing this ${kind === 'signin' ? 'sign-in' : kind}:`, ...table(rows)];
}

interface ShownKey {
  readonly name: string;
  readonly kid: string;
  readonly person: string;
  readonly roles: readonly string[];
}

function shown({ name, key: { kid, person, roles } }: NamedKey): ShownKey {
  return { name, kid, person, roles };
}

function wrong(field: string, reason: string): CliError {
  return new CliError('invalid_argument', reason, field);
}
