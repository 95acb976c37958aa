/**
 * The command sink, with real processes.
 *
 * - An operation reaches the command as JSON or inside its own argument; nothing of it is read by a shell or taken for an option.
 * - Every way to end has its one meaning; only declared exit codes are an outcome.
 * - The environment holds what is declared, and nothing else.
 * - A command that is given up is gone, with everything that it started, also when it ignores SIGTERM or the worker is killed.
 * - The ledger tool appends once a run, and its look-up finds it, also behind a torn line.
 * - No error tells what a command read or printed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { commandSink, type CommandSinkOptions } from '../../../src/adapters/sinks';
import type { EffectSink } from '../../../src/ports';
import { codeOf, makeItem, SECRET, sendAndTell, within } from './support';

const folder = mkdtempSync(path.join(tmpdir(), 'command-sink-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const freshFile = (): string => path.join(folder, `file-${++files}`);
const LEDGER = path.resolve(__dirname, '../../../examples/ledger-tool/ledger.mjs');

/** A sink whose command is Node running this text. */
const scripted = (script: string, over: Partial<CommandSinkOptions> = {}): EffectSink =>
  commandSink({ name: 'scripted', command: process.execPath, args: ['-e', script], killGraceMs: 200, ...over });
const ledger = (file: string, over: Partial<CommandSinkOptions> = {}): EffectSink =>
  commandSink({
    name: 'ledger',
    command: process.execPath,
    args: [LEDGER, 'append', file],
    lookup: { args: [LEDGER, 'lookup', file] },
    ...over,
  });

/** Resolves once the file exists and holds a line. */
async function lineIn(file: string): Promise<string> {
  const read = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  const watcher = watch(path.dirname(file));
  try {
    while (!read().includes('\n')) await once(watcher, 'change');
  } finally {
    watcher.close();
  }
  return read().trim();
}

/** Resolves once no process of this id is left; one that is never reaped counts as gone. */
async function gone(pid: number): Promise<void> {
  const alive = (): boolean => {
    try {
      process.kill(pid, 0);
      return !/^State:\s+Z/m.test(existsSync(`/proc/${pid}/status`) ? readFileSync(`/proc/${pid}/status`, 'utf8') : '');
    } catch {
      return false;
    }
  };
  while (alive()) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('what reaches the command', () => {
  test('the operation on standard input, key and digest in the environment', async () => {
    const file = freshFile();
    const script = `const fs=require('fs');fs.writeFileSync(${JSON.stringify(file)},JSON.stringify([JSON.parse(fs.readFileSync(0)),process.env.COUNTERSIGN_IDEMPOTENCY_KEY,process.env.COUNTERSIGN_OPERATION_DIGEST]))`;
    const item = makeItem({ note: SECRET });
    expect(await scripted(script).dispatch(item, within())).toEqual({ outcome: 'accepted', externalId: null });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual([
      { note: SECRET },
      item.idempotencyKey,
      item.operationDigest,
    ]);
  });

  test.each([
    '$(touch x)',
    '`id`',
    '; exit 9',
    "'quoted'",
    '"double"',
    'a b\tc\nd',
    '*',
    '{note}',
    '&& false',
    '\\',
    '日本',
    '',
  ])('the value %j arrives as one argument, as it is', async (note) => {
    const script = 'console.log(JSON.stringify({result: process.argv.slice(1)}))';
    const sink = scripted(script, { args: ['-e', script, '--', 'first', '--note={note}', 'x{deep.value}y'] });
    const outcome = await sink.dispatch(makeItem({ note, deep: { value: 7 } }), within());
    expect(outcome).toMatchObject({ result: ['first', `--note=${note}`, 'x7y'] });
  });

  test.each([
    ['a field that is missing', {}],
    ['a field that is no scalar', { note: { a: 1 } }],
    ['a value that would be an option', { note: '--delete' }],
    ['a value with a NUL', { note: 'a\0b' }],
    ['an inherited field', Object.create({ note: 'x' })],
  ])('%s is refused before anything runs', async (_, operation) => {
    const file = freshFile();
    const sink = scripted('', { args: ['-e', `require('fs').writeFileSync(${JSON.stringify(file)},'')`, '{note}'] });
    expect(await sendAndTell(sink, makeItem(operation))).toEqual({ outcome: 'refused', code: 'invalid_operation' });
    expect(existsSync(file)).toBe(false);
  });

  test('only the declared environment', async () => {
    process.env['COMMAND_SINK_SECRET'] = SECRET;
    const script = 'console.log(JSON.stringify({result: Object.keys(process.env).sort()}))';
    const outcome = await scripted(script, { env: { MINE: '1' } }).dispatch(makeItem({}), within());
    delete process.env['COMMAND_SINK_SECRET'];
    const names = (outcome as { result: string[] }).result.filter(
      (name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name),
    );
    expect(names).toEqual(['COUNTERSIGN_IDEMPOTENCY_KEY', 'COUNTERSIGN_OPERATION_DIGEST', 'MINE', 'PATH']);
  });
});

describe('how a command ends', () => {
  const declared = { refusals: { 3: 'out_of_stock' }, notSentExitCodes: [75], maxOutputBytes: 1000 };
  test.each<[string, string, unknown]>([
    ['0, silent', '', { outcome: 'accepted', externalId: null }],
    [
      '0, with a result',
      `console.log('{"external_id":"e-1","result":{"a":1}}')`,
      { outcome: 'accepted', externalId: 'e-1', result: { a: 1 } },
    ],
    ['0, no JSON', `console.log('${SECRET}')`, 'output_invalid'],
    ['0, another form', `console.log('{"external_id":{}}')`, 'output_invalid'],
    ['a declared refusal', 'process.exit(3)', { outcome: 'refused', code: 'out_of_stock' }],
    ['a declared not-sent', 'process.exit(75)', { outcome: 'not_sent' }],
    ['any other code', `console.log('${SECRET}');console.error('${SECRET}');process.exit(1)`, 'command_failed'],
    ['127 from the command itself', 'process.exit(127)', 'command_failed'],
    ['a signal', `process.kill(process.pid,'SIGKILL')`, 'command_killed'],
    ['too much output', `setInterval(()=>console.log('${SECRET}'.repeat(100)),1)`, 'output_too_large'],
  ])('%s', async (_, script, told) => {
    expect(await sendAndTell(scripted(script, declared), makeItem({ note: SECRET }))).toEqual(told);
  });

  test.each([
    ['no such name', 'no-such-command-4711'],
    ['no such path', '/no/such/path'],
    ['not executable', __filename],
  ])('%s: proven not sent', async (_, command) => {
    expect(await sendAndTell(scripted('', { command }), makeItem({}))).toEqual({ outcome: 'not_sent' });
  });

  test('no such folder, or given up before it started: proven not sent', async () => {
    expect(await sendAndTell(scripted('', { cwd: '/no/such/folder' }), makeItem({}))).toEqual({ outcome: 'not_sent' });
    expect(await sendAndTell(scripted(''), makeItem({}), AbortSignal.abort())).toEqual({ outcome: 'not_sent' });
  });

  test('a command that does not read its input is no failure', async () => {
    const big = makeItem({ note: 'x'.repeat(1_000_000) });
    expect(await sendAndTell(scripted(''), big)).toEqual({ outcome: 'accepted', externalId: null });
  });
});

/** Starts a grandchild that also ignores SIGTERM, and writes both process ids. */
const stubborn = (file: string): string => `
  process.on('SIGTERM', () => {});
  const { spawn } = require('child_process');
  const child = spawn(process.execPath, ['-e', "process.on('SIGTERM',()=>{});console.log(1);setInterval(()=>{},1000)"], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout.once('data', () => require('fs').writeFileSync(${JSON.stringify(file)}, process.pid + ' ' + child.pid + '\\n'));
  setInterval(() => {}, 1000);`;

describe('a command that is given up', () => {
  test('goes with its grandchild, though both ignore SIGTERM', async () => {
    const file = freshFile();
    const deadline = new AbortController();
    const sent = sendAndTell(scripted(stubborn(file)), makeItem({}), deadline.signal);
    const pids = (await lineIn(file)).split(' ').map(Number);
    deadline.abort();
    expect(await sent).toBe('deadline_passed');
    await Promise.all(pids.map(gone));
  });

  test('goes by itself when the worker was killed', async () => {
    const file = freshFile();
    const worker = path.join(folder, 'worker.ts');
    writeFileSync(
      worker,
      `import { commandSink } from ${JSON.stringify(path.resolve(__dirname, '../../../src/adapters/sinks'))};
       const sink = commandSink({ name: 's', command: process.execPath, args: ['-e', ${JSON.stringify(stubborn(file))}], deadlineMs: 500, killGraceMs: 200 });
       void sink.dispatch({ toolId: 't', actionId: 'a', idempotencyKey: 'k', operationDigest: 'd', operation: {} }, { signal: new AbortController().signal, deadlineMs: 500 });`,
    );
    const child = spawn(process.execPath, ['--import', 'tsx', worker], { stdio: 'ignore' });
    const pids = (await lineIn(file)).split(' ').map(Number);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await Promise.all(pids.map(gone));
  });

  test('what a command left behind goes with it, and does not hold up its answer', async () => {
    const file = freshFile();
    const script = `
      const child = require('child_process').spawn(process.execPath, ['-e', 'setInterval(()=>{},1000)'], { stdio: ['ignore', 'inherit', 'ignore'] });
      require('fs').writeFileSync(${JSON.stringify(file)}, child.pid + '\\n');
      process.exit(0);`;
    expect(await sendAndTell(scripted(script), makeItem({}))).toEqual({ outcome: 'accepted', externalId: null });
    await gone(Number(await lineIn(file)));
  });
});

describe('the ledger tool', () => {
  test('one line a run; the look-up finds the first, in the order asked', async () => {
    const file = freshFile();
    const sink = ledger(file);
    const items = [makeItem({ n: 1 }), makeItem({ n: 2 }), makeItem({ n: 3 })] as const;
    expect(await sink.observe(items, within())).toEqual([
      { state: 'absent' },
      { state: 'absent' },
      { state: 'absent' },
    ]);
    const sent = await sink.dispatch(items[1], within());
    expect(sent).toEqual({ outcome: 'accepted', externalId: 'line-1', result: { line: 1 } });
    const found = await sink.observe(items, within());
    expect(found).toEqual([
      { state: 'absent' },
      { state: 'committed', operationDigest: 'a'.repeat(64), externalId: 'line-1', result: { line: 1 } },
      { state: 'absent' },
    ]);
    await sink.dispatch(items[1], within());
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(3);
  });

  test('a line torn by a crash does not count, and does not spoil the next', async () => {
    const file = freshFile();
    const item = makeItem({});
    appendFileSync(file, `{"key":"${item.idempotencyKey}","dig`);
    const sink = ledger(file);
    expect(await sink.observe([item], within())).toEqual([{ state: 'absent' }]);
    expect(await sink.dispatch(item, within())).toMatchObject({ externalId: 'line-2' });
    expect(await sink.observe([item], within())).toMatchObject([{ state: 'committed', externalId: 'line-2' }]);
  });

  test('given up before the line: absent; after it: committed', async () => {
    for (const [wait, found] of [
      ['--before', 'absent'],
      ['--after', 'committed'],
    ] as const) {
      const file = freshFile();
      const sink = ledger(file, { args: [LEDGER, 'append', file, wait, '60000'], killGraceMs: 200 });
      const deadline = new AbortController();
      const item = makeItem({});
      const sent = sendAndTell(sink, item, deadline.signal);
      if (wait === '--after') await lineIn(file);
      deadline.abort();
      // Given up before the process was there, it is proven not sent.
      const told = await sent;
      expect(told).toEqual(typeof told === 'string' ? 'deadline_passed' : { outcome: 'not_sent' });
      expect((await ledger(file).observe([item], within()))[0]?.state).toBe(found);
    }
  });
});

describe('look-ups', () => {
  test.each<[string, string, string]>([
    ['a failing command', `console.log('${SECRET}');process.exit(1)`, 'command_failed'],
    ['no JSON', `console.log('${SECRET}')`, 'output_invalid'],
    ['too few answers', `console.log('{"answers":[]}')`, 'output_invalid'],
    ['an unknown state', `console.log('{"answers":[{"state":"perhaps"}]}')`, 'output_invalid'],
    ['committed without a digest', `console.log('{"answers":[{"state":"committed"}]}')`, 'output_invalid'],
  ])('%s is thrown, never taken for absent', async (_, script, code) => {
    const sink = scripted('', { lookup: { args: ['-e', script] } });
    await expect(sink.observe([makeItem({})], within()).catch(codeOf)).resolves.toBe(code);
  });

  test('without a look-up the sink knows nothing', async () => {
    const sink = scripted('');
    expect(sink.lookup).toBe('none');
    expect(await sink.observe([makeItem({})], within())).toEqual([{ state: 'unknown' }]);
  });
});
