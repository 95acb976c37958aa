/**
 * The MCP sink against the kit: over standard input and output, and over HTTP with answers as events and as JSON.
 *
 * - It keeps every promise under every fault of the line, and over HTTP under every fault of meaning too.
 * - What is not applicable is so for the reason that is written here.
 */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe } from 'vitest';
import { mcpSink, type McpAddress, type McpProgram } from '../../../src/adapters/sinks';
import type { EffectSink, SinkItem } from '../../../src/ports';
import { sinkConformance, type SinkFixture } from '../../../src/testing';
import { conforms, OF_KEYS, OF_MEANING, type Expected } from '../../support/conformance';
import { startMcpHttp, type McpHttpServer } from '../../systems/mcp-http';

const folder = mkdtempSync(path.join(tmpdir(), 'countersign-mcp-kit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TOKEN = 'Bearer a-token-of-the-server';
const sinkAt = (server: McpProgram | McpAddress, deadlineMs: number): EffectSink =>
  mcpSink({
    name: 'tools',
    server,
    tools: { note: {}, fail: {} },
    lookup: {
      tool: 'find',
      strength: 'authoritative',
      arguments: ({ idempotencyKey }) => ({ text: idempotencyKey }),
      answer: ({ structuredContent = {} }) => {
        const { key, digest, others } = structuredContent;
        if (others !== 0) return { state: 'unknown' };
        return key === ''
          ? { state: 'absent' }
          : { state: 'committed', operationDigest: String(digest), externalId: null };
      },
    },
    ...{ deadlineMs, settleMs: 1_500 },
  });

/** Counts what the log holds of a key; `fail` logs, too, but does nothing. */
const fixtureOf = (log: string): Omit<SinkFixture, 'target'> => ({
  patienceMs: 1_000,
  operation: (text) => ({ tool: 'note', arguments: { text } }),
  refused: (text) => ({ tool: 'fail', arguments: { text } }),
  writes: ({ idempotencyKey }) =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          .filter((line) => line.includes('"tool":"note"') && line.includes(idempotencyKey)).length
      : 0,
  duplicate: async ({ idempotencyKey: key, operationDigest: digest }: SinkItem) =>
    appendFileSync(log, `${JSON.stringify({ tool: 'note', key, digest })}\n`),
});
const NOT_APPLICABLE: Expected = { ...OF_KEYS, expired_key: /cannot be aged/ };

describe('over standard input and output', () => {
  const log = path.join(folder, 'stdio');
  const built = path.join(folder, 'server.js');
  const entryPoints = [path.join(__dirname, '../../systems/mcp-server.ts')];
  buildSync({ entryPoints, outfile: built, bundle: true, platform: 'node', logLevel: 'error' });
  const target = { command: process.execPath, args: [built, log] };
  conforms(
    sinkConformance(({ stdio }) => sinkAt(stdio, 5_000), { target, ...fixtureOf(log) }),
    { ...NOT_APPLICABLE, ...OF_MEANING },
  );
});

describe.each(['events', 'json'] as const)('over HTTP, answers as %s', (answers) => {
  const log = path.join(folder, answers);
  let server: McpHttpServer;
  beforeAll(async () => {
    server = await startMcpHttp(log, answers);
  });
  afterAll(() => server.end());
  conforms(
    sinkConformance(
      ({ url }) =>
        // An answer over HTTP that answers nothing is waited for until the deadline.
        sinkAt({ url, credentials: () => ({ authorization: TOKEN }) }, 2_500),
      () => ({ target: { url: server.url }, secrets: [TOKEN], ...fixtureOf(log) }),
    ),
    { ...NOT_APPLICABLE, ignored_filter: /filters by nothing/, stale_read: /no read that a cache/ },
  );
});
