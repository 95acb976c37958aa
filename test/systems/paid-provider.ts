/**
 * A provider of models that counts what it would charge for. Invariant: a request is counted, under the key it came with,
 * when it has arrived whole and before anything is answered; nothing of it is kept. It speaks as much of the chat completions
 * of OpenAI as their client library needs, and one plain route.
 */
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export type ProviderMode =
  | 'answers'
  /** Does the work, and breaks the connection before its answer. */
  | 'cuts'
  /** Never answers. */
  | 'hangs'
  /** Answers once it is released. */
  | 'holds'
  | { readonly status: number };

export interface PaidProvider {
  readonly url: string;
  mode: ProviderMode;
  /** Requests by key, in all. */
  requests(key?: string): number;
  /** Resolves when so many requests have come in, in all. */
  arrived(requests: number): Promise<void>;
  /** Answers every request that it holds. */
  release(): void;
  close(): Promise<void>;
}

/** A request is kept apart by its `x-job`, so that every job can be counted by itself. */
export async function startPaidProvider(): Promise<PaidProvider> {
  const counts = new Map<string, number>();
  const held: http.ServerResponse[] = [];
  const arrivals = new EventEmitter();
  arrivals.setMaxListeners(0);
  const total = (): number => [...counts.values()].reduce((sum, count) => sum + count, 0);
  const server = http.createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const key = String(request.headers['x-job'] ?? '');
      counts.set(key, (counts.get(key) ?? 0) + 1);
      arrivals.emit('request');
      const { mode } = provider;
      if (mode === 'hangs') return;
      if (mode === 'holds') return void held.push(response);
      if (mode === 'cuts') return void request.socket.destroy();
      if (mode !== 'answers') {
        const body = JSON.stringify({ error: { message: 'refused by the test', type: 'test', code: null } });
        return void response.writeHead(mode.status, { 'content-type': 'application/json' }).end(body);
      }
      complete(response);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const provider: PaidProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mode: 'answers',
    requests: (key) => (key === undefined ? total() : (counts.get(key) ?? 0)),
    async arrived(requests) {
      while (total() < requests) await once(arrivals, 'request');
    },
    release: () => held.splice(0).forEach(complete),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return provider;
}

function complete(response: http.ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion()));
}

function completion(): unknown {
  return {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'model-1' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'no findings' }, finish_reason: 'stop' }],
  };
}
