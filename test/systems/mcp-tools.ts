/**
 * The tools of a small MCP server, for what real servers do not do on demand. The log is a file, one JSON line a call, so that a test
 * knows what was carried out whoever died.
 *
 * Invariant: a call stands in the log before it is answered.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

export function serveTools(log: string): Server {
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: { listChanged: true } } });

  const plain = { type: 'object' as const, properties: { text: { type: 'string' } } };
  let changed = false;
  let turned = false;

  const entries = (): { tool: string; key: string; digest: string }[] =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as { tool: string; key: string; digest: string })
      : [];

  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      { name: 'note', inputSchema: changed ? { ...plain, required: ['text'] } : plain },
      { name: 'read', inputSchema: plain, annotations: { readOnlyHint: !turned } },
      { name: 'put', inputSchema: plain, annotations: { idempotentHint: true, readOnlyHint: false } },
      { name: 'burn', inputSchema: plain, annotations: { readOnlyHint: false, destructiveHint: true } },
      { name: 'slow', inputSchema: plain },
      { name: 'stall', description: 'Answers no first call.', inputSchema: plain },
      { name: 'die', inputSchema: plain },
      { name: 'fail', inputSchema: plain },
      { name: 'reject', inputSchema: plain },
      { name: 'garbage', inputSchema: plain },
      { name: 'long', inputSchema: plain },
      { name: 'change', inputSchema: plain },
      { name: 'turn', inputSchema: plain },
      { name: 'task', inputSchema: plain, execution: { taskSupport: 'required' as const } },
      { name: 'find', inputSchema: plain },
      { name: 'find_and_write', inputSchema: plain, annotations: { readOnlyHint: false } },
    ],
  }));

  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const { name, _meta: meta = {}, arguments: given = {} } = params;
    const key = String(meta['countersign/idempotency_key']);
    if (name.startsWith('find')) {
      const [found, ...others] = entries().filter((one) => one.tool !== 'fail' && one.key === String(given['text']));
      const { tool: called, key: under, digest } = found ?? { tool: '', key: '', digest: '' };
      return { content: [], structuredContent: { tool: called, key: under, digest, others: others.length } };
    }
    const digest = String(meta['countersign/operation_digest']);
    const before = entries().length;
    appendFileSync(log, `${JSON.stringify({ tool: name, key, digest, given, pid: process.pid })}\n`);
    const text = String(given['text']);
    switch (name) {
      case 'stall':
        if (before === 0) await delay(60_000);
        break;
      case 'slow':
        await delay(60_000);
        break;
      case 'die':
        process.kill(process.pid, 'SIGKILL');
        await delay(60_000);
        break;
      case 'fail':
        return { isError: true, content: [{ type: 'text', text }] };
      case 'reject':
        throw Object.assign(new Error(text), { code: -32602 });
      case 'garbage':
        return { content: text } as never;
      case 'long':
        return { content: [{ type: 'text', text: 'x'.repeat(2 * 1024 * 1024) }] };
      case 'turn':
        turned = true;
        await server.sendToolListChanged();
        break;
      case 'change':
        changed = true;
        await server.sendToolListChanged();
    }
    return { content: [{ type: 'text', text }] };
  });
  return server;
}
