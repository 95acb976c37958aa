/**
 * Properties:
 * - a bench takes exactly the options, values and numbers that it knows, and what is not given is what it says itself
 * - everything else is refused in one sentence that names it, before anything is measured
 * - every bench refuses so, with exit code 2 and nothing on its output
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Misuse, readArguments } from '../../bench/arguments';

const ROOT = path.resolve(__dirname, '../..');
const KNOWN = {
  flags: ['json', 'quick'],
  choices: { only: ['normal', 'lifted'] },
  counts: { heads: 10, lineages: 5 },
  text: 'folder',
} as const;

test('takes what it knows, in any order', () => {
  const asked = readArguments(['7', '--only', 'lifted', '3', '--json', 'place'], KNOWN);
  expect(asked.has('json')).toBe(true);
  expect(asked.has('quick')).toBe(false);
  expect(asked.choices).toEqual({ only: 'lifted' });
  expect(asked.counts).toEqual({ heads: 7, lineages: 3 });
  expect(asked.text).toBe('place');
  expect(readArguments(['--only=normal'], KNOWN).choices).toEqual({ only: 'normal' });
  expect(readArguments([], KNOWN)).toMatchObject({ choices: {}, counts: KNOWN.counts, text: null });
});

test.each([
  [['--only', 'launches'], '--only is normal or lifted, and was given "launches".'],
  [['--only'], '--only is normal or lifted, and was given nothing.'],
  [['--only='], '--only is normal or lifted, and was given "".'],
  [['--memmory'], '--memmory is no option of this bench; it has --json, --quick, --only <value>.'],
  [['-j'], '-j is no option of this bench; it has --json, --quick, --only <value>.'],
  [['--no-json'], '--no-json is no option of this bench; it has --json, --quick, --only <value>.'],
  [['--json=yes'], '--json takes no value.'],
  [['ten'], '[heads] is a whole number from 1, and was given "ten".'],
  [['1', '0'], '[lineages] is a whole number from 1, and was given "0".'],
  [['1e3'], '[heads] is a whole number from 1, and was given "1e3".'],
  [['1', '2', 'x', 'y'], '"y" is one argument too many; this bench takes [heads] [lineages] [folder].'],
])('refuses %j', (args, message) => {
  expect(() => readArguments(args, KNOWN)).toThrow(new Misuse(message));
});

test.each(['main', 'queue', 'launches', 'anchors', 'rechecks', 'stores', 'recovery-rate'])(
  'bench/%s.ts refuses what it does not know',
  async (name) => {
    const [code, output, error] = await ran([`bench/${name}.ts`, '--no-such-option']);
    expect([code, output]).toEqual([2, '']);
    expect(error).toMatch(/^--no-such-option is no option of this bench; it has [^\n]+\.\n$/);
  },
  120_000,
);

function ran(args: readonly string[]): Promise<readonly [code: unknown, output: string, error: string]> {
  const tsx = require.resolve('tsx/cli');
  return new Promise((resolve) =>
    execFile(process.execPath, [tsx, ...args], { cwd: ROOT }, (fault, output, error) =>
      resolve([fault?.code ?? 0, output, error]),
    ),
  );
}
