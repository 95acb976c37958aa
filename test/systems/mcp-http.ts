/**
 * The small MCP server over Streamable HTTP, by the SDK's own transport: each session has a server of its own, all have one log.
 *
 * Invariant: it speaks as servers of the SDK do, with the session that a client must name, and answers as events or as JSON.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { type Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { serveTools } from './mcp-tools';
import { type Running } from './system';

export interface McpHttpServer extends Running {
  readonly url: string;
  /** As after a restart. */
  forgetSessions(): void;
}

export async function startMcpHttp(log: string, answers: 'events' | 'json'): Promise<McpHttpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: answers === 'json',
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    // The SDK's own type does not pass under `exactOptionalPropertyTypes`.
    await serveTools(log).connect(transport as Transport);
    return transport;
  };
  const server = createServer((request, response) => {
    request.on('error', () => undefined);
    void (async () => {
      const id = String(request.headers['mcp-session-id'] ?? '');
      const transport = sessions.get(id) ?? (id === '' ? await open() : null);
      if (transport === null) return void response.writeHead(404).end();
      await transport.handleRequest(request, response);
    })().catch(() => void response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    forgetSessions: () => sessions.clear(),
    async end() {
      const closed = once(server.close(), 'close');
      server.closeAllConnections();
      await closed;
    },
  };
}
