/**
 * `sink-check` as the built program, in a process of its own, without Temporal.
 *
 * - A sound sink: exit 0, a line for each case, and what did not run is told as not applicable.
 * - A broken sink: exit 3, and the fault and the promise by name; every other case still runs.
 * - No module, a module that throws, one that holds no sink, a fixture that fails: exit 2, by one sentence without contents.
 * - With `--json`, one object with the same.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerOf, builtProgram, startProgram, type Ran } from './support';

let program: string;
let folder: string;
beforeAll(() => {
  program = builtProgram();
  folder = mkdtempSync(path.join(tmpdir(), 'sink-check-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SERVICE = JSON.stringify(pathToFileURL(path.join(__dirname, 'sink-modules/shelf-service.mjs')).href);
const SINKS = path.resolve(__dirname, '../../lib/adapters/sinks/index.js');
let modules = 0;

function written(text: string, suffix = '.cjs'): string {
  const file = path.join(folder, `module-${++modules}${suffix}`);
  writeFileSync(file, text);
  return file;
}

/** A CommonJS module. */
const shelf = (careless: boolean): string => `
  const sinks = require(${JSON.stringify(SINKS)});
  const service = import(${SERVICE});
  exports.makeSink = async ({ url }) => (await service).sinkAt(sinks, url);
  exports.fixture = async () => (await (await service).startService(${careless})).fixture;
`;

/** No server is there that could be asked. */
const check = (...args: readonly string[]): Promise<Ran> =>
  startProgram(program, ['sink-check', ...args], { TEMPORAL_ADDRESS: '127.0.0.1:1' }).ended;

test('a sound sink', async () => {
  const { code, out, err } = await check(written(shelf(false)));
  expect(err).toBe('');
  expect(code).toBe(0);
  expect(out).toMatch(/^ 1\/\d+ {2}kept {12}none: declares/);
  expect(out).toContain('kept            lost_reply: the write is never denied');
  expect(out).toContain('not applicable  duplicate_rows: no second write can be made under one key');
  expect(out).toMatch(/\n\d+ cases kept, 0 broken, 0 failed, [1-9]\d* not applicable\n$/);
});

test('a broken sink, and every promise that it breaks', async () => {
  const { code, out, err } = await check(written(shelf(true)));
  expect(code).toBe(3);
  expect(out).toContain(
    'BROKEN          two_senders: the sink holds more than one write although it is declared to enforce keys',
  );
  expect(out).toContain('BROKEN          late_original: the sink holds more than one write');
  expect(out).toContain('kept            lost_reply: the write is never denied');
  expect(err).toMatch(/^countersign sink-check: sink_broken: \d+ promises of the sink are broken: repeat: /);
  expect(out + err).not.toContain('planted-');
});

test('as JSON, under a name, from an ES module', async () => {
  const file = written(
    `import sinks from ${JSON.stringify(pathToFileURL(SINKS).href)};
     import { sinkAt, startService } from ${SERVICE};
     export const careless = {
       makeSink: ({ url }) => sinkAt(sinks, url),
       fixture: () => startService(true).then(({ fixture }) => fixture),
     };`,
    '.mjs',
  );
  const ran = await check(file, '--export', 'careless', '--json');
  expect(ran.code).toBe(3);
  const { ok, command, data, error } = answerOf(ran);
  expect({ ok, command, code: error?.code }).toEqual({ ok: false, command: 'sink-check', code: 'sink_broken' });
  const cases = data?.['cases'] as { case: string; result: string; reason: string | null }[];
  expect(cases.filter(({ result }) => result === 'broken')).toHaveLength(Number(data?.['broken']));
  expect(cases.find(({ case: name }) => name.startsWith('two_senders: '))).toMatchObject({ result: 'broken' });
  expect(Number(data?.['kept']) + Number(data?.['broken']) + Number(data?.['not_applicable'])).toBe(cases.length);
});

test.each<[string, () => readonly string[], RegExp]>([
  [
    'no file',
    () => [path.join(folder, 'none.cjs')],
    /input_unreadable: the module cannot be loaded: it, or what it imports, was not found/,
  ],
  [
    'one that throws',
    () => [written("throw new Error('planted-secret')")],
    /input_unreadable: .* it throws when it is loaded/,
  ],
  [
    'one that is no program',
    () => [written('{"planted-secret": ')],
    /input_unreadable: .* it throws when it is loaded/,
  ],
  [
    'one that holds nothing',
    () => [written('exports.other = 1')],
    /invalid_argument: the module must hold makeSink and fixture; see docs/,
  ],
  [
    'a fixture that is none',
    () => [written('exports.makeSink = () => null; exports.fixture = { operation: 1 }')],
    /invalid_argument: the module must hold/,
  ],
  [
    'no such export',
    () => [written(shelf(false)), '--export', 'other'],
    /invalid_argument: its export "other" must hold/,
  ],
  [
    'a fixture that fails',
    () => [
      written("exports.makeSink = () => null; exports.fixture = async () => { throw new Error('planted-secret') }"),
    ],
    /invalid_argument: \d+ cases could not be run: none: the fixture or makeSink threw \(Error\)/,
  ],
])('%s is refused by one sentence', async (_what, args, sentence) => {
  const { code, out, err } = await check(...args());
  expect(code).toBe(2);
  expect(err).toMatch(sentence);
  expect(out + err).not.toContain('planted-secret');
});
