/**
 * An HTTP proxy between adapter and server that answers wrongly: error statuses, garbage, caches, filters that are ignored.
 *
 * Invariant: what it does not distort it passes on as it is, headers and bytes; a fault strikes one request, and every request
 * of a call is counted, so that one that is made after the fault is seen.
 */
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Passing {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Passed {
  readonly status: number;
  readonly headers: IncomingHttpHeaders | Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Answers in the server's place, or asks it first: as it was asked, or otherwise. */
export type Distortion = (request: Passing, server: (request: Passing) => Promise<Passed>) => Promise<Passed> | Passed;

export const isRead = ({ method }: Passing): boolean => method === 'GET' || method === 'HEAD';

export const answerOf = (status: number, headers: Readonly<Record<string, string>> = {}, body = ''): Passed => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(body),
});

export class HttpFaultProxy {
  readonly #server: Server;
  #distortion: Distortion | null = null;
  /** Requests of the call that is made now. */
  #requests: Passing[] = [];

  private constructor(readonly target: URL) {
    this.#server = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', () => undefined);
      incoming.on('end', () => {
        const request: Passing = {
          method: incoming.method ?? 'GET',
          path: incoming.url ?? '/',
          headers: incoming.headers,
          body: Buffer.concat(chunks),
        };
        this.#requests.push(request);
        const server = (asked: Passing): Promise<Passed> => this.#ask(asked);
        Promise.resolve((this.#distortion ?? ((_request, pass) => pass(request)))(request, server)).then(
          ({ status, headers, body }) => {
            if (outgoing.destroyed) return;
            const length = request.method === 'HEAD' ? headers['content-length'] : String(body.length);
            const told = {
              ...without(headers, HOP_BY_HOP),
              ...(length === undefined ? {} : { 'content-length': length }),
            };
            outgoing.writeHead(status, told).end(request.method === 'HEAD' ? undefined : body);
          },
          () => incoming.socket.destroy(),
        );
      });
    });
  }

  static async start(target: URL): Promise<HttpFaultProxy> {
    const proxy = new HttpFaultProxy(target);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get requests(): readonly Passing[] {
    return this.#requests;
  }

  begin(distortion: Distortion | null): void {
    this.#requests = [];
    this.#distortion = distortion;
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #ask({ method, path, headers, body }: Passing): Promise<Passed> {
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(
        {
          host: this.target.hostname,
          port: this.target.port || 80,
          method,
          path,
          // Signatures may cover the host as it was asked for, so it stays.
          headers: {
            ...without(headers, HOP_BY_HOP),
            ...(isRead({ method } as Passing) ? {} : { 'content-length': body.length }),
          },
          agent: false,
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () =>
            resolve({ status: incoming.statusCode ?? 502, headers: incoming.headers, body: Buffer.concat(chunks) }),
          );
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }
}

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect']);

function without(headers: Passed['headers'], names: ReadonlySet<string>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined || names.has(name) ? [] : [[name, value]])),
  );
}
