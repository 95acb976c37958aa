/**
 * One HTTP request and its answer.
 *
 * Invariant: a request leaves at most once. Nothing is retried, no redirect is followed, and `not_connected` is said only
 * when no connection existed, so that no byte of the request can have left.
 */
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { jsonObjectIn } from '../json-object';
import { judgedLookup, type Resolve, systemResolve } from './public-address';
import { SinkError, type SinkErrorContext } from './sink-error';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface HttpExchangeOptions {
  /** Most connections at once. @default 16 */
  readonly maxSockets?: number;
  /** Largest answer that is read. @default 1 MiB */
  readonly maxAnswerBytes?: number;
  /** Which addresses may be connected to, judged after a name is resolved. @default all */
  readonly allowsAddress?: (address: string) => boolean;
  /** @default the system's */
  readonly resolve?: Resolve;
}

/** An idle connection is closed before a server is likely to: a send on one that is just being closed ends as unknown. */
const MAX_IDLE_MS = 4000;

export class HttpExchange {
  readonly #agents: { readonly 'http:': http.Agent; readonly 'https:': https.Agent };
  readonly #maxAnswerBytes: number;
  readonly #allows: (address: string) => boolean;

  constructor(options: HttpExchangeOptions = {}) {
    const { maxSockets = 16, maxAnswerBytes = 1024 * 1024, allowsAddress, resolve = systemResolve } = options;
    this.#allows = allowsAddress ?? (() => true);
    const judged = allowsAddress || options.resolve ? { lookup: judgedLookup(resolve, this.#allows) } : {};
    const pool = { keepAlive: true, maxSockets, timeout: MAX_IDLE_MS, ...judged };
    this.#agents = { 'http:': new http.Agent(pool), 'https:': new https.Agent(pool) };
    this.#maxAnswerBytes = maxAnswerBytes;
  }

  /** Sends once. Resolves with the answer or `not_connected`; every other fault is thrown as a `SinkError`. */
  send(request: HttpRequest, signal: AbortSignal, context: SinkErrorContext): Promise<HttpReply | 'not_connected'> {
    const secure = request.url.protocol === 'https:';
    // An address that is written out is never resolved, so it is judged here.
    const literal = request.url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(literal) !== 0 && !this.#allows(literal)) return Promise.resolve('not_connected');
    return new Promise((resolve, reject) => {
      let connected = false;
      const fail = (code: 'connection_lost' | 'answer_too_large', detail?: string): void => {
        if (!connected) resolve('not_connected');
        else reject(new SinkError(signal.aborted ? 'deadline_passed' : code, context, detail ? { detail } : {}));
      };
      let outgoing: http.ClientRequest;
      try {
        outgoing = (secure ? https : http).request(request.url, {
          method: request.method,
          headers: { ...request.headers, 'content-length': Buffer.byteLength(request.body ?? '') },
          agent: secure ? this.#agents['https:'] : this.#agents['http:'],
          signal,
        });
      } catch {
        return resolve('not_connected'); // A header that cannot be written. The error itself could quote it.
      }
      outgoing.once('socket', (socket) => {
        if (!socket.connecting) connected = true;
        else socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true));
      });
      outgoing.once('error', (error: NodeJS.ErrnoException) => fail('connection_lost', error.code));
      outgoing.once('response', (incoming) => {
        const chunks: Buffer[] = [];
        let size = 0;
        incoming.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size <= this.#maxAnswerBytes) return void chunks.push(chunk);
          fail('answer_too_large');
          incoming.destroy();
        });
        incoming.once('error', (error: NodeJS.ErrnoException) => fail('connection_lost', error.code));
        incoming.once('end', () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(chunks) }),
        );
      });
      outgoing.end(request.body);
    });
  }
}

/** `Retry-After` in milliseconds, from its seconds or date form. */
export function retryAfterMs({ headers }: Pick<HttpReply, 'headers'>, now: number = Date.now()): number | undefined {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The body as a JSON object, or `null`. */
export const jsonObject = ({ body }: HttpReply): Record<string, unknown> | null => jsonObjectIn(body.toString('utf8'));
