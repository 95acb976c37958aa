/**
 * Properties of the repository's files, as git would commit them:
 * - none holds the path of somebody's machine, or the host of a package registry;
 * - the lock file names no place that packages came from;
 * - no test is skipped, focused or postponed, but where a whole system is not on this machine; CI demands every system;
 * - every entry of the package is checked by its source, so that nothing needs a build before its types are known;
 * - no source file passes 350 lines, and each opens by saying what it is, as each test file does.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
});
const files = new Map<string, string>();
for (const name of new Set(listed.split('\0').filter((name) => name !== ''))) {
  try {
    files.set(name, readFileSync(name, 'utf8'));
  } catch {
    // Removed from the work tree, still in the index.
  }
}
const sources = [...files].filter(([name]) => name.startsWith('src/') && name.endsWith('.ts'));
const tests = [...files].filter(([name]) => name.startsWith('test/') && name.endsWith('.ts'));

/** The data of the contracts is its authors', and this file has to spell what it looks for. */
const isOurs = (name: string): boolean => !name.startsWith('test/vectors/') && name !== 'test/tooling/hygiene.test.ts';

function offenders(among: Iterable<[string, string]>, pattern: RegExp): string[] {
  return [...among].flatMap(([name, text]) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${name}:${index + 1}: ${line.trim()}`] : [])),
  );
}

test('no file holds a path of a machine', () => {
  const ours = [...files].filter(([name]) => isOurs(name));
  expect(offenders(ours, /(^|[^\w.)}])\/(work|root|home|Users)\/\w|[^\w]\/tmp\/\w|[A-Z]:\\Users/)).toEqual([]);
});

test('no file names a package registry', () => {
  const ours = [...files].filter(([name]) => isOurs(name));
  expect(
    offenders(ours, /registry\.(npmjs|yarnpkg)|files\.pythonhosted|pypi\.org|_authToken|npm\.pkg\.github/),
  ).toEqual([]);
});

test('the lock file holds no addresses', () => {
  expect(offenders([['package-lock.json', files.get('package-lock.json')!]], /"resolved"|https?:.*\.tgz/)).toEqual([]);
});

test('every entry of the package is known to the type check by its source, and to those who resolve types the old way', () => {
  const { exports, typesVersions } = JSON.parse(files.get('package.json')!) as {
    exports: Record<string, string>;
    typesVersions: { '*': Record<string, string[]> };
  };
  const { paths } = (JSON.parse(files.get('tsconfig.json')!) as { compilerOptions: { paths: object } }).compilerOptions;
  const entries = Object.entries(exports).filter(([, file]) => file.endsWith('.js'));
  const sourceOf = (file: string): string => file.replace('./lib/', './src/').replace(/js$/, 'ts');
  expect(paths).toEqual(
    Object.fromEntries(entries.map(([name, file]) => [`countersign${name.slice(1)}`, [sourceOf(file)]])),
  );
  const named = entries.filter(([name]) => name !== '.');
  const typed = named.map(([name, file]) => [name.slice(2), [file.replace(/js$/, 'd.ts')]]);
  expect(typesVersions['*']).toEqual(Object.fromEntries(typed));
});

test('no test is skipped, focused or postponed', () => {
  const found = offenders(
    tests.filter(([name]) => isOurs(name)),
    /\b(test|it|describe|suite)(\.\w+)*\.(skip|only|todo|skipIf|runIf|fails)\b|\bx(it|test|describe)\(/,
  );
  expect(found).toEqual([expect.stringMatching(/^test\/systems\/available\.ts:\d+: it\.skip\(missing, /)]);
  expect(files.get('.ci/run')).toMatch(/^export COUNTERSIGN_SYSTEMS=all$/m);
});

test('every source file is short and says what it is', () => {
  const wrong = sources.flatMap(([name, text]) => {
    const lines = text.trimEnd().split('\n').length;
    if (lines > 350) return [`${name} has ${lines} lines`];
    return /^(#!.*\n)?\/\*\*/.test(text) ? [] : [`${name} does not open with a comment`];
  });
  expect(wrong).toEqual([]);
});

test('every test file says which properties it holds', () => {
  const silent = tests.filter(([name, text]) => name.endsWith('.test.ts') && !text.startsWith('/**'));
  expect(silent.map(([name]) => name)).toEqual([]);
});
