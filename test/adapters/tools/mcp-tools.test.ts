/**
 * The tools of MCP servers as tools of sessions, before real server processes, killed ones among them:
 * - one handler a tool that can be called, under names and versions that sessions can have; what cannot be is said before any call;
 * - a server's hints make a tool safer only where the author trusts them, and less safe always;
 * - what others read of a tool is what its server wrote, so another schema, description or class is another descriptor;
 * - arguments that do not fit the server's schema never reach it; a tool that has changed since is not called;
 * - an error of the tool is a failure without its text; a death, a broken answer and a deadline are unknown; what was not written failed;
 * - a look-up is a tool of the server that only reads.
 */
import { copyFileSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, describe, expect, test } from 'vitest';
import {
  descriptorHash,
  inputJsonSchema,
  mcpTools,
  type McpToolOptions,
  type McpToolsOptions,
} from '../../../src/adapters/tools';
import { handlerSink } from '../../../src/adapters/tools/handler-sink';
import { mcpInputSchema } from '../../../src/adapters/tools/mcp-input-schema';
import type { McpProgram } from '../../../src/adapters/sinks';
import type { DispatchOutcome, SinkItem } from '../../../src/ports';

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'countersign-mcp-tools-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const root = path.resolve(__dirname, '../../..');
const built = path.join(folder, 'server.js');
buildSync({
  entryPoints: [path.join(root, 'test/systems/mcp-server.ts')],
  ...{ outfile: built, bundle: true, platform: 'node', logLevel: 'error' },
});
const packaged = (name: string, ...args: string[]): McpProgram => ({
  command: process.execPath,
  args: [path.join(root, 'node_modules/@modelcontextprotocol', name, 'dist/index.js'), ...args],
});

const SECRET = 'a-secret-text';
const item = (operation: unknown): SinkItem => ({
  ...{ toolId: 'tool:tools.countersign.local/x', actionId: 'act', idempotencyKey: 'idem_1' },
  ...{ operationDigest: 'sha256:00', operation, callId: 's:v1:1:1:0' },
});
const within = (signal = new AbortController().signal): { signal: AbortSignal; deadlineMs: number } => ({
  ...{ signal, deadlineMs: 30_000 },
});

let servers = 0;
/** The tools of a server of its own, and what that server was called for. */
async function made(more: Partial<McpToolsOptions> = {}): Promise<{
  readonly call: (tool: string, operation?: unknown, signal?: AbortSignal) => Promise<DispatchOutcome | string>;
  readonly look: (tool: string) => Promise<unknown>;
  readonly classes: Record<string, string | undefined>;
  readonly handlers: Awaited<ReturnType<typeof mcpTools>>;
  readonly calls: () => { tool: string; key: string; given: unknown }[];
}> {
  const log = path.join(folder, `log-${(servers += 1)}`);
  const handlers = await mcpTools({ name: 'x', server: { command: process.execPath, args: [built, log] }, ...more });
  const sinkOf = (tool: string): ReturnType<typeof handlerSink> => {
    const handler = handlers.find((one) => one.tool === `x-${tool}`);
    if (handler === undefined) throw new Error(`no ${tool}`);
    return handlerSink(handler);
  };
  return {
    handlers,
    call: (tool, operation = { text: SECRET }, signal) =>
      sinkOf(tool)
        .dispatch(item(operation), within(signal))
        .catch((fault: Error) => fault.name),
    look: async (tool) => (await sinkOf(tool).observe([item({ text: SECRET })], within()))[0],
    classes: Object.fromEntries(handlers.map(({ tool, sideEffect }) => [tool.slice(2), sideEffect])),
    calls: () =>
      existsSync(log)
        ? readFileSync(log, 'utf8')
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as { tool: string; key: string; given: unknown })
        : [],
  };
}

describe('which tools there are', () => {
  test('all that can be called, with the version of the server', async () => {
    const tools = await mcpTools({ name: 'files', server: packaged('server-filesystem', folder) });
    expect(tools.map(({ tool }) => tool)).toEqual(expect.arrayContaining(['files-write-file', 'files-read-text-file']));
    expect(new Set(tools.map(({ version }) => version)).size).toBe(1);
    expect(tools[0]?.version).toMatch(/^\d+\.\d+\.\d+$/);
    const { handlers } = await made();
    expect(handlers.map(({ tool }) => tool)).not.toContain('x-task');
    expect(
      handlers.every((handler) => !('version' in handler)),
      'version 1 is none that sessions have',
    ).toBe(true);
  });

  test('those that the author names, as the author names them', async () => {
    const note = { tool: 'remark', version: null, maxConcurrency: 1, deadlineMs: 7 } as const;
    const { handlers } = await made({ only: ['note', 'find_and_write'], version: '2.0.0', tools: { note } });
    expect(handlers).toMatchObject([
      { tool: 'remark', maxConcurrency: 1, deadlineMs: 7 },
      { tool: 'x-find-and-write', version: '2.0.0', deadlineMs: 30_000 },
    ]);
    expect(handlers[0]).not.toHaveProperty('version');
  });

  const lookup = { arguments: () => ({}), answer: () => null, strength: 'hint' } as const;
  test.each<[string, Partial<McpToolsOptions>, string]>([
    ['is not there', { only: ['gone'] }, 'unknown_tool'],
    ['is spoken of and not there', { tools: { gone: {} } }, 'unknown_tool'],
    ['runs as a task', { only: ['task'] }, 'tool_needs_task'],
    ['is to look up and writes', { tools: { note: { lookup: { tool: 'put', ...lookup } } } }, 'only reads'],
    ['has the name of another', { tools: { note: { tool: 'x-read' } } }, 'name one by "tool"'],
    ['has a name that no session takes', { name: '1' }, 'give it one by "tool"'],
    ['is of a server that is not there', { server: { command: '/nowhere/server' } }, 'not_reachable'],
  ])('one that %s', async (_what, more, told) => {
    await expect(made(more)).rejects.toThrow(told);
  });
});

describe('the class', () => {
  test('is that of a write that nobody may repeat, whatever the server says', async () => {
    const { classes } = await made();
    expect(new Set(Object.values(classes))).toEqual(new Set(['non_idempotent_write']));
  });

  test('is what the server states where its author trusts it', async () => {
    const { classes } = await made({ trustHints: true, tools: { read: { sideEffect: 'irreversible_action' } } });
    expect(classes).toMatchObject({
      ...{ note: 'non_idempotent_write', read: 'irreversible_action' },
      ...{ put: 'idempotent_write', burn: 'non_idempotent_write' },
    });
  });

  test('is what the author says, and raised by the server', async () => {
    const harmless = { sideEffect: 'read_only' } as const;
    const { classes } = await made({ tools: { note: harmless, read: harmless, put: harmless, burn: harmless } });
    expect(classes).toMatchObject({
      ...{ note: 'read_only', read: 'read_only', put: 'idempotent_write', burn: 'non_idempotent_write' },
    });
  });
});

test('a schema is read as the server wrote it, and each change of it is another descriptor', () => {
  const inputSchema = {
    type: 'object',
    properties: { to: { $ref: '#/$defs/name' }, count: { type: 'integer', minimum: 1 } },
    required: ['to'],
    additionalProperties: false,
    $defs: { name: { type: 'string', pattern: '^[a-z]+$' } },
  };
  const name = { name: 'send', description: 'Sends.', inputSchema };
  const schema = mcpInputSchema({
    ...name,
    inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'urn:x', ...inputSchema },
  });
  expect(inputJsonSchema(schema)).toEqual({ ...inputSchema, description: 'Sends.' });
  expect(schema.description).toBe('Sends.');
  const fits = (value: unknown): boolean => schema.safeParse(value).success;
  expect([{ to: 'a' }, { to: 'a', count: 1 }].map(fits)).toEqual([true, true]);
  const wrong = [{}, { to: 'A' }, { to: 'a', count: 0 }, { to: 'a', more: 1 }, [], null, 'a'];
  expect(wrong.map(fits)).toEqual(wrong.map(() => false));

  const hashOf = (over: object, sideEffect?: 'read_only'): string =>
    descriptorHash({
      tool: 'x-send',
      inputSchema: mcpInputSchema({ ...name, ...over }),
      ...(sideEffect && { sideEffect }),
    });
  const hashes = [
    hashOf({}),
    hashOf({ description: 'Sends twice.' }),
    hashOf({ inputSchema: { ...inputSchema, required: [] } }),
    hashOf({}, 'read_only'),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
  expect(hashOf({})).toBe(hashes[0]);
  expect(() => mcpInputSchema({ ...name, inputSchema: { type: 'object', $ref: '#/nowhere' } })).toThrow('"only"');
});

describe('a call', () => {
  test.each<[string, DispatchOutcome | string, number]>([
    ['note', { outcome: 'accepted', externalId: null, result: { content: [{ type: 'text', text: SECRET }] } }, 1],
    ['fail', { outcome: 'refused', code: 'tool_error' }, 1],
    ['reject', 'ToolOutcomeUnknown', 1],
    ['garbage', 'ToolOutcomeUnknown', 1],
    ['long', 'ToolOutcomeUnknown', 1],
    ['die', 'ToolOutcomeUnknown', 1],
  ])('%s', async (tool, told, written) => {
    const { call, calls } = await made();
    expect(await call(tool)).toEqual(told);
    expect(calls()).toHaveLength(written);
    expect(calls()[0]).toMatchObject({ tool, key: 'idem_1', given: { text: SECRET } });
    // Whatever it was, the next call finds a server.
    expect(await call('note')).toMatchObject({ outcome: 'accepted' });
  });

  test('that may be made again is unknown just so', async () => {
    const { call } = await made({ tools: { die: { sideEffect: 'read_only' } } });
    expect(await call('die')).toBe('ToolOutcomeUnknown');
  });

  test('past its deadline is unknown, and was carried out', async () => {
    const { call, calls } = await made();
    const deadline = new AbortController();
    const called = call('slow', {}, deadline.signal);
    await expect.poll(() => calls().length, { timeout: 20_000 }).toBe(1);
    deadline.abort();
    expect(await called).toBe('ToolOutcomeUnknown');
  });

  test.each([[{ text: 1 }], [[]], [null], ['x']])('with %j never reaches the server', async (operation) => {
    const { call, calls } = await made();
    expect(await call('note', operation)).toEqual({ outcome: 'refused', code: 'invalid_arguments' });
    expect(calls()).toEqual([]);
  });

  test('to a server that is gone and does not come back was not made', async () => {
    const copy = path.join(folder, 'gone.js');
    copyFileSync(built, copy);
    const server = { command: process.execPath, args: [copy, path.join(folder, 'log-gone')] };
    const { call } = await made({ server });
    rmSync(copy);
    expect(await call('die')).toBe('ToolOutcomeUnknown');
    expect(await call('note')).toEqual({ outcome: 'refused', code: 'not_reachable' });
  });

  test('is unknown after an error that proves nothing, where the author says so', async () => {
    const { call } = await made({ tools: { fail: { toolErrors: 'unknown' } } });
    expect(await call('fail')).toBe('ToolOutcomeUnknown');
  });

  test('of a tool that has changed since is not made', async () => {
    const { call, calls } = await made({ trustHints: true });
    await call('turn');
    const told = { outcome: 'refused', code: 'tool_changed' };
    await expect.poll(() => call('read'), { timeout: 20_000 }).toEqual(told);
    await call('change');
    await expect.poll(() => call('note'), { timeout: 20_000 }).toEqual(told);
    expect(calls().filter(({ tool }) => tool === 'read' || tool === 'note').length).toBeLessThan(3);
  });
});

test('a look-up finds what was done, also when the server died of it', async () => {
  const lookup: NonNullable<McpToolOptions['lookup']> = {
    ...{ tool: 'find', strength: 'authoritative' },
    arguments: (_args, { idempotencyKey }) => ({ text: idempotencyKey }),
    answer: ({ structuredContent: { key, tool } = {} }) =>
      key === '' ? { state: 'absent' } : { state: 'committed', result: tool },
  };
  const { call, look, handlers } = await made({ tools: { die: { lookup } } });
  expect(handlers.find(({ tool }) => tool === 'x-die')?.lookupStrength).toBe('authoritative');
  expect(await look('die')).toEqual({ state: 'absent' });
  expect(await call('die')).toBe('ToolOutcomeUnknown');
  expect(await look('die')).toEqual({
    ...{ state: 'committed', operationDigest: 'sha256:00', externalId: null, result: 'die' },
  });
});
