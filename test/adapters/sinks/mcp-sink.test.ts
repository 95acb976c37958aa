/**
 * The MCP sink against the reference servers for files and for everything, and a server of our own, over stdio and HTTP.
 *
 * - Only listed tools are called, once a send; unknown ones, changed ones and those that run as tasks are refused before anything.
 * - What a server says of a tool raises its class and never lowers it.
 * - A tool's error is refused without its text; a time-out, a death and an answer that is none are unknown; what was not written is not sent.
 * - A server that died is started again; a server ends with the process that started it.
 * - A look-up is a tool that changes nothing, and what it says is read as the operator wrote.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { mcpSink, type McpProgram, type McpSinkOptions } from '../../../src/adapters/sinks';
import { highest, statedClass } from '../../../src/adapters/sinks/mcp-class';
import { McpConnection } from '../../../src/adapters/sinks/mcp-connection';
import { startMcpHttp } from '../../systems/mcp-http';
import { codeOf, makeItem, SECRET, sendAndTell, within } from './support';

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'countersign-mcp-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const root = path.resolve(__dirname, '../../..');
const at = (name: string): string => path.join(folder, name);
const packaged = (name: string, ...args: string[]): McpProgram => ({
  command: process.execPath,
  args: [path.join(root, 'node_modules/@modelcontextprotocol', name, 'dist/index.js'), ...args],
});
let logs = 0;
const built = at('server.js');
buildSync({
  entryPoints: [path.join(root, 'test/systems/mcp-server.ts')],
  ...{ outfile: built, bundle: true, platform: 'node', logLevel: 'error' },
});
const ours = (log: string): McpProgram => ({ command: process.execPath, args: [built, log] });
const TOOLS = [
  'note',
  'read',
  'put',
  'burn',
  'slow',
  'die',
  'fail',
  'reject',
  'garbage',
  'long',
  'change',
  'task',
  'gone',
];
const made = (
  over: Partial<McpSinkOptions> = {},
): { sink: ReturnType<typeof mcpSink>; calls: () => string[]; log: string } => {
  const log = at(`log-${(logs += 1)}`);
  const tools = Object.fromEntries(TOOLS.map((name) => [name, {}]));
  const sink = mcpSink({ name: 'tools', server: ours(log), tools, ...over });
  const calls = (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  return { sink, calls, log };
};
const call = (tool: string, over: Record<string, unknown> = {}): ReturnType<typeof makeItem> =>
  makeItem({ tool, arguments: { text: SECRET, ...over } });
const LATER = { outcome: 'not_sent', retryAfterMs: 1000 };

describe('the server for files', () => {
  const options: McpSinkOptions = {
    name: 'files',
    server: packaged('server-filesystem', folder),
    tools: { write_file: {}, move_file: {}, create_directory: { sideEffect: 'read_only' } },
  };
  const sink = mcpSink(options);

  test('a file is written; an error is a refusal without its text', async () => {
    expect(sink.sideEffect).toBe('non_idempotent_write');
    const write = makeItem({ tool: 'write_file', arguments: { path: at('a.txt'), content: SECRET } });
    expect(await sendAndTell(sink, write)).toMatchObject({ outcome: 'accepted', externalId: null });
    expect(readFileSync(at('a.txt'), 'utf8')).toBe(SECRET);
    const move = makeItem({ tool: 'move_file', arguments: { source: at('a.txt'), destination: at('b.txt') } });
    expect(await sendAndTell(sink, move)).toMatchObject({ outcome: 'accepted' });
    expect(await sendAndTell(sink, move)).toEqual({ outcome: 'refused', code: 'tool_error' });
    const outside = makeItem({ tool: 'write_file', arguments: { path: '/etc/planted', content: SECRET } });
    expect(await sendAndTell(sink, outside)).toEqual({ outcome: 'refused', code: 'tool_error' });
    await sink.probe?.();
  });

  test('a tool that is not listed is not called, whatever the server offers', async () => {
    const edit = makeItem({ tool: 'edit_file', arguments: { path: at('b.txt'), edits: [] } });
    expect(await sendAndTell(sink, edit)).toEqual({ outcome: 'refused', code: 'tool_not_listed' });
  });

  test('killed between two calls, it is started again', async () => {
    const connection = new McpConnection(options.server, 1024 * 1024);
    const context = { sink: 'files', key: 'k' };
    const { signal } = new AbortController();
    await connection.tools(signal, context);
    const first = await connection.pid();
    process.kill(first ?? 0, 'SIGKILL');
    await expect.poll(() => connection.pid(), { timeout: 20_000 }).toBeNull();
    expect((await connection.tools(signal, context)).length).toBeGreaterThan(5);
    expect(await connection.pid()).not.toBe(first);
  });
});

test('the server for everything: an answer with structure, and its tool for tasks', async () => {
  const tools = { echo: {}, 'get-sum': {} };
  const sink = mcpSink({ name: 'everything', server: packaged('server-everything', 'stdio'), tools });
  const echo = makeItem({ tool: 'echo', arguments: { message: 'hello' } });
  expect(await sendAndTell(sink, echo)).toMatchObject({
    outcome: 'accepted',
    result: { content: [{ type: 'text', text: 'Echo: hello' }] },
  });
  const wrong = makeItem({ tool: 'get-sum', arguments: { a: SECRET } });
  expect(await sendAndTell(sink, wrong)).toEqual({ outcome: 'refused', code: 'tool_error' });
});

describe('what a call says', () => {
  test.each<[string, unknown, number]>([
    ['note', { outcome: 'accepted', externalId: null, result: { content: [{ type: 'text', text: SECRET }] } }, 1],
    ['fail', { outcome: 'refused', code: 'tool_error' }, 1],
    ['reject', 'unexpected_status', 1],
    ['garbage', 'unexpected_status', 1],
    ['long', 'connection_lost', 1],
    ['die', 'connection_lost', 1],
    ['task', { outcome: 'refused', code: 'tool_needs_task' }, 0],
    ['gone', { outcome: 'refused', code: 'unknown_tool' }, 0],
    ['other', { outcome: 'refused', code: 'tool_not_listed' }, 0],
  ])('%s', async (tool, told, written) => {
    const { sink, calls } = made();
    expect(await sendAndTell(sink, call(tool))).toEqual(told);
    expect(calls().length).toBe(written);
    // Whatever it was, the next call finds a server.
    expect(await sendAndTell(sink, call('note'))).toMatchObject({ outcome: 'accepted' });
  });

  test('past its deadline a call is unknown, and was carried out', async () => {
    const { sink, calls } = made();
    const deadline = new AbortController();
    await sink.dispatch(call('note'), within());
    const sent = sendAndTell(sink, call('slow'), deadline.signal);
    await expect.poll(() => calls().length, { timeout: 20_000 }).toBe(2);
    deadline.abort();
    expect(await sent).toBe('deadline_passed');
  });

  test.each<[string, unknown]>([
    ['no operation', 'note'],
    ['arguments that are none', { tool: 'note', arguments: SECRET }],
    ['another field', { tool: 'note', arguments: {}, _meta: {} }],
    ['a key of its own', { tool: 'note', arguments: { key: 'x' } }],
  ])('%s is refused', async (_what, operation) => {
    const { sink, calls } = made({ keyArgument: 'key' });
    expect(await sendAndTell(sink, makeItem(operation))).toEqual({ outcome: 'refused', code: 'invalid_operation' });
    expect(calls()).toEqual([]);
  });

  test('the key goes along, in `_meta` and as the argument that was named', async () => {
    const { sink, calls } = made({ keyArgument: 'key', externalId: ({ content }) => `${content?.length}` });
    const item = call('note');
    expect(await sendAndTell(sink, item)).toMatchObject({ externalId: '1' });
    const { idempotencyKey: key, operationDigest: digest } = item;
    expect(JSON.parse(calls()[0] ?? '')).toMatchObject({ key, digest, given: { key } });
  });

  test('errors that prove nothing are unknown where the operator says so', async () => {
    expect(await sendAndTell(made({ toolErrors: 'unknown' }).sink, call('fail'))).toBe('command_failed');
  });

  test('a server that cannot be started: not sent', async () => {
    const { sink } = made({ server: { command: '/nowhere/server' } });
    expect(await sendAndTell(sink, call('note'))).toEqual(LATER);
    await expect(sink.probe?.()).rejects.toMatchObject({ code: 'not_reachable' });
  });

  test('a tool whose schema has changed since is refused', async () => {
    const { sink, calls } = made();
    await sink.dispatch(call('change'), within());
    await expect
      .poll(() => sendAndTell(sink, call('note')), { timeout: 20_000 })
      .toEqual({ outcome: 'refused', code: 'tool_changed' });
    expect(calls().filter((line) => line.includes('"note"')).length).toBeLessThan(2);
  });
});

describe('the class', () => {
  test.each([
    [undefined, null],
    [{}, null],
    [{ readOnlyHint: true }, 'read_only'],
    [{ idempotentHint: true, readOnlyHint: false }, 'idempotent_write'],
    [{ readOnlyHint: false }, 'non_idempotent_write'],
    [{ destructiveHint: true }, 'non_idempotent_write'],
    [{ destructiveHint: false }, null],
  ])('%j states %j', (annotations, stated) => expect(statedClass(annotations)).toBe(stated));

  test.each<[string, string | undefined, string]>([
    ['read', undefined, 'non_idempotent_write'],
    ['read', 'read_only', 'read_only'],
    ['note', 'read_only', 'read_only'],
    ['put', 'read_only', 'idempotent_write'],
    ['burn', 'read_only', 'non_idempotent_write'],
    ['burn', 'irreversible_action', 'irreversible_action'],
  ])('%s, which the operator calls %s: %s', async (tool, sideEffect, wanted) => {
    const listed = (sideEffect === undefined ? {} : { sideEffect }) as McpSinkOptions['tools'][string];
    const { sink } = made({ tools: { [tool]: listed } });
    expect(['non_idempotent_write', 'irreversible_action'], 'before the server was asked').toContain(sink.sideEffect);
    await sink.probe?.();
    expect(sink.sideEffect).toBe(wanted);
  });

  test('a copy is never less careful than the sink', async () => {
    const listed: McpSinkOptions['tools'] = { read: { sideEffect: 'read_only' }, turn: { sideEffect: 'read_only' } };
    const { sink, calls } = made({ tools: listed });
    const early = { ...sink };
    await sink.probe?.();
    const late = { ...sink };
    expect([early.sideEffect, late.sideEffect]).toEqual(['non_idempotent_write', 'read_only']);
    expect(await sendAndTell(late, call('read'))).toMatchObject({ outcome: 'accepted' });
    // From now on the server says that this tool writes: a copy that took it for harmless calls it no more.
    await sink.dispatch(call('turn'), within());
    const before = calls().length;
    for (const one of [late, early, sink]) {
      expect(await sendAndTell(one, call('read'))).toEqual({ outcome: 'refused', code: 'tool_changed' });
    }
    expect(calls().length).toBe(before);
  });

  test('of several, the most dangerous', () =>
    expect(highest(['read_only', 'irreversible_action'])).toBe('irreversible_action'));
});

describe('a look-up', () => {
  const lookup = (tool: string): NonNullable<McpSinkOptions['lookup']> => ({
    tool,
    strength: 'authoritative',
    arguments: ({ idempotencyKey }) => ({ text: idempotencyKey }),
    answer: ({ structuredContent = {} }) => {
      const { key, digest } = structuredContent;
      return key === ''
        ? { state: 'absent' }
        : { state: 'committed', operationDigest: String(digest), externalId: null };
    },
  });
  const look = async (over: Partial<McpSinkOptions>, tool = 'note'): Promise<unknown> => {
    const { sink } = made(over);
    const item = call(tool);
    try {
      const before = (await sink.observe([item], within()))[0]?.state;
      await sendAndTell(sink, item);
      return [before, (await sink.observe([item], within()))[0]?.state];
    } catch (fault) {
      return codeOf(fault);
    }
  };

  test('finds what was done, also when the server died of it', async () => {
    expect(await look({ lookup: lookup('find') })).toEqual(['absent', 'committed']);
    expect(await look({ lookup: lookup('find') }, 'die')).toEqual(['absent', 'committed']);
  });

  test.each<[string, McpSinkOptions['lookup'], string]>([
    ['a tool that the server calls no reader', lookup('find_and_write'), 'answer_invalid'],
    ['a tool that is not there', lookup('gone'), 'answer_invalid'],
    ['an answer that cannot be read', { ...lookup('find'), answer: () => null }, 'answer_invalid'],
    [
      'a reader that throws',
      {
        ...lookup('find'),
        answer: () => {
          throw new Error(SECRET);
        },
      },
      'answer_invalid',
    ],
  ])('%s', async (_what, by, told) => {
    expect(await look({ lookup: by as NonNullable<McpSinkOptions['lookup']> })).toBe(told);
  });

  test('without one, nothing is known', async () => {
    const { sink } = made();
    expect(sink.lookup).toBe('none');
    expect(await sink.observe([call('note')], within())).toEqual([{ state: 'unknown' }]);
  });
});

describe('over HTTP', () => {
  /** Answers `tools/call` as told; everything else as a small server does. */
  async function serve(
    onCall: number | 'drop' | 'ok' | { readonly code: number },
  ): Promise<{ url: string; calls: () => number; end(): void }> {
    let calls = 0;
    const tools = [{ name: 'note', inputSchema: { type: 'object' } }];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { id, method } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as { id?: number; method?: string };
        const say = (told: object): void =>
          void response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ jsonrpc: '2.0', id, ...told }));
        const answer = (result: unknown): void => say({ result });
        if (request.headers.authorization !== `Bearer ${SECRET}`) return void response.writeHead(401).end(SECRET);
        const info = {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'x', version: '1' },
        };
        if (method === 'initialize') return answer(info);
        if (method === 'tools/list') return answer({ tools });
        if (method !== 'tools/call') return void response.writeHead(202).end();
        calls += 1;
        if (onCall === 'drop') return void request.socket.destroy();
        if (onCall === 'ok') return answer({ content: [] });
        if (typeof onCall === 'object') return say({ error: { ...onCall, message: SECRET } });
        return void response.writeHead(onCall, { location: '/elsewhere' }).end(SECRET);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    return { url, calls: () => calls, end: () => void server.close().closeAllConnections() };
  }

  test.each<[number | 'drop' | 'ok' | { readonly code: number }, unknown]>([
    ['ok', { outcome: 'accepted', externalId: null, result: { content: [] } }],
    ['drop', 'connection_lost'],
    [500, 'unexpected_status'],
    [307, 'unexpected_status'],
    [401, LATER],
    [404, LATER],
    [429, LATER],
    // The server's own: what a tool has thrown after it has done something, for instance.
    [{ code: 404 }, 'unexpected_status'],
    [{ code: 429 }, 'unexpected_status'],
    [{ code: -32601 }, 'unexpected_status'],
  ])('%j: one request', async (onCall, told) => {
    const server = await serve(onCall);
    const credentials = (): Record<string, string> => ({ authorization: `Bearer ${SECRET}` });
    const { sink } = made({ server: { url: server.url, credentials } });
    expect(await sendAndTell(sink, call('note'))).toEqual(told);
    expect(server.calls()).toBe(1);
    server.end();
  });

  test('without credentials, and where nothing listens: not sent', async () => {
    const server = await serve('ok');
    expect(await sendAndTell(made({ server: { url: server.url } }).sink, call('note'))).toEqual(LATER);
    server.end();
    expect(await sendAndTell(made({ server: { url: server.url } }).sink, call('note'))).toEqual(LATER);
    expect(server.calls()).toBe(0);
  });
});

test('a server over HTTP that has forgotten its session, and one that asks to wait', async () => {
  const log = at('log-sessions');
  const server = await startMcpHttp(log, 'json');
  const { sink } = made({ server: { url: server.url } });
  expect(await sendAndTell(sink, call('note'))).toMatchObject({ outcome: 'accepted' });
  server.forgetSessions();
  expect(await sendAndTell(sink, call('note'))).toEqual(LATER);
  expect(await sendAndTell(sink, call('note'))).toMatchObject({ outcome: 'accepted' });
  server.forgetSessions();
  // The list of tools has become old, so that it is the list that meets a server which knows no such session.
  const now = performance.now.bind(performance);
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
  expect(await sendAndTell(sink, call('note'))).toEqual(LATER);
  expect(await sendAndTell(sink, call('note'))).toMatchObject({ outcome: 'accepted' });
  clock.mockRestore();
  await server.end();

  const busy = createServer((_request, response) => void response.writeHead(429, { 'retry-after': '7' }).end());
  await once(busy.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(busy.address() as AddressInfo).port}/mcp`;
  const waits = await sendAndTell(made({ server: { url } }).sink, call('note'));
  expect(waits).toEqual({ outcome: 'not_sent', retryAfterMs: 7_000 });
  busy.close().closeAllConnections();
});

test('a server ends with its process, which it does not keep from ending', async () => {
  const script = at('child.ts');
  const pidFile = at('pid');
  const [connection, program] = [path.join(root, 'src/adapters/sinks/mcp-connection.ts'), ours(at('log-child'))];
  writeFileSync(
    script,
    `const { McpConnection } = require(${JSON.stringify(connection)});
     const c = new McpConnection(${JSON.stringify(program)}, 1048576);
     c.tools(AbortSignal.timeout(30000), { sink: 's', key: 'k' })
       .then(() => c.pid())
       .then((pid) => require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(pid)))
       .then(() => process.argv[2] === 'stay' && setInterval(() => undefined, 1000));`,
  );
  for (const how of ['stay', 'leave']) {
    rmSync(pidFile, { force: true });
    const child = fork(script, [how], { execArgv: ['--require', 'tsx/cjs'], cwd: root });
    child.disconnect();
    const ended = once(child, 'exit');
    await expect
      .poll(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '', { timeout: 30_000 })
      .toBe(true);
    const pid = Number(readFileSync(pidFile, 'utf8'));
    if (how === 'stay') child.kill('SIGKILL');
    expect(await ended).toEqual(how === 'stay' ? [null, 'SIGKILL'] : [0, null]);
    await expect
      .poll(() => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '', {
        timeout: 20_000,
      })
      .toBe(false);
  }
});
