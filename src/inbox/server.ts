/**
 * An inbox that listens. Invariant: it listens where it was told and nowhere else; when it is closed, every open page is let go and the
 * port is free.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { Service } from '../cli/service';
import type { Reviewers, Store } from '../ports';
import { inboxApp } from './app';
import { builtAssets, type Assets } from './assets';
import { itemSources } from './items';
import type { IdentityProvider } from './oidc';

export interface InboxOptions {
  readonly service: Service;
  readonly journal?: Store;
  readonly contents?: Store;
  readonly reviewers?: Reviewers;
  readonly provider?: IdentityProvider;
  /** @default 127.0.0.1 */
  readonly host?: string;
  /** @default any that is free */
  readonly port?: number;
  /** Under which browsers reach it, when that is not where it listens: `https://inbox.example.org`. */
  readonly origin?: string;
  /** @default 1,000 */
  readonly limit?: number;
  readonly assets?: Assets;
}

export interface Inbox {
  readonly origin: string;
  /** Where it listens. */
  readonly port: number;
  close(): Promise<void>;
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

export function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host);
}

export async function startInbox(options: InboxOptions): Promise<Inbox> {
  const { host = '127.0.0.1', port = 0, service } = options;
  const server = createServer();
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  await listening(server, port, host);
  const bound = (server.address() as AddressInfo).port;
  const origins = originsOf(options.origin, host, bound);
  const app = inboxApp({
    service,
    journal: options.journal ?? null,
    contents: options.contents ?? null,
    reviewers: options.reviewers ?? null,
    provider: options.provider ?? null,
    sources: itemSources(service, options.journal ?? null),
    assets: options.assets ?? builtAssets(),
    origins,
    open: options.origin === undefined && isLoopback(host),
    limit: options.limit ?? 1_000,
  });
  server.on('request', getRequestListener(app.fetch));
  return {
    origin: origins[0],
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** On this machine it is reached by each of its names; elsewhere by the one that it was told. */
function originsOf(origin: string | undefined, host: string, port: number): [string, ...string[]] {
  if (origin !== undefined) return [origin];
  const own = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return isLoopback(host) ? [own, `http://localhost:${port}`] : [own];
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}
