/**
 * The shell that every test server shares: an HTTP server on 127.0.0.1 with programmed faults, counts by key, and an admin API.
 *
 * Invariant: a write is carried out once for each request that arrived, also when the client that sent it is dead by then,
 * as a real server would; nothing of its content is logged or told by the admin API.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { answerAdmin } from './admin-api';
import { Arrivals, type Counts } from './arrivals';
import { type Fault, FaultEngine, type FaultKind } from './faults';

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
}

/** What became of one write, for the counts. */
export interface WriteDone {
  readonly event: 'committed' | 'replayed' | 'refused';
  readonly answer: HttpAnswer;
}

/** Faults of the content of a look-up, by key. Those of its transport never reach the handler. */
export type Distortions = ReadonlyMap<string, Fault>;

export interface SinkRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Answers at once, past every fault. */
  answer(answer: HttpAnswer): void;
  /** Carries out one write under the fault that is programmed for its key. */
  write(collection: string, key: string, commit: () => WriteDone | Promise<WriteDone>): Promise<void>;
  /** Answers one look-up under the faults that are programmed for its keys. */
  lookup(
    collection: string,
    keys: readonly string[],
    find: (distortions: Distortions) => HttpAnswer | Promise<HttpAnswer>,
  ): Promise<void>;
}

/** A test server of sinks: its address, what it counted, and its end. */
export interface SinkServer {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  readonly faults: FaultEngine;
  readonly arrivals: Arrivals;
  counts(key?: string): Counts;
  close(): Promise<void>;
}

/** Where it listens. */
export interface SinkServerOptions {
  /** @default 0, a free one */
  readonly port?: number;
}

/** A request below its fault: `commit` has its effect, `end` and `drop` finish the connection. */
interface Steps {
  readonly fault: Fault;
  commit(): Promise<HttpAnswer>;
  hold(): Promise<'continue' | 'drop'>;
  end(answer: HttpAnswer): void;
  drop(how?: 'close' | 'reset'): void;
}

const straight = async (steps: Steps): Promise<void> => steps.end(await steps.commit());
const status = ({ fault }: Steps): HttpAnswer => ({
  status: fault.status ?? 500,
  ...(fault.retryAfterMs === undefined
    ? {}
    : { headers: { 'retry-after': String(Math.ceil(fault.retryAfterMs / 1000)) } }),
});

const CARRY_OUT: Record<FaultKind, (steps: Steps) => Promise<void> | void> = {
  drop_request: (steps) => steps.drop(),
  reset: (steps) => steps.drop('reset'),
  drop_reply: async (steps) => {
    await steps.commit();
    steps.drop();
  },
  late_commit: async (steps) => {
    await delay(steps.fault.delayMs);
    await steps.commit();
    steps.drop();
  },
  delay_before: async (steps) => {
    await delay(steps.fault.delayMs);
    steps.end(await steps.commit());
  },
  delay_after: async (steps) => {
    const answer = await steps.commit();
    await delay(steps.fault.delayMs);
    steps.end(answer);
  },
  hold_before: async (steps) => {
    if ((await steps.hold()) === 'drop') steps.drop();
    else steps.end(await steps.commit());
  },
  hold_after: async (steps) => {
    const answer = await steps.commit();
    if ((await steps.hold()) === 'drop') steps.drop();
    else steps.end(answer);
  },
  status: (steps) => steps.end(status(steps)),
  status_after_commit: async (steps) => {
    await steps.commit();
    steps.end(status(steps));
  },
  stale_lookup: straight,
  wrong_digest: straight,
  in_flight: straight,
  drop_filter: straight,
};

const MAX_BODY = 16 * 1024 * 1024;

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Error('body too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, answer: HttpAnswer, done?: () => void): void {
  if (response.destroyed || response.headersSent) return;
  const text =
    answer.body === undefined ? '' : typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  response.writeHead(answer.status, {
    'content-type': 'application/json',
    ...answer.headers,
    'content-length': Buffer.byteLength(text),
  });
  response.end(text, done);
}

/** Starts a server on 127.0.0.1 whose requests, apart from `/admin/…`, go to `handle`. */
export async function startSinkServer(
  handle: (request: SinkRequest) => Promise<void> | void,
  options: SinkServerOptions = {},
): Promise<SinkServer> {
  const faults = new FaultEngine();
  const arrivals = new Arrivals();

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
    const body = await readBody(incoming);
    const method = incoming.method ?? 'GET';
    const answer = (given: HttpAnswer): void => send(response, given);
    const drop = (how?: 'close' | 'reset'): void => {
      if (how === 'reset') incoming.socket.resetAndDestroy();
      else incoming.socket.destroy();
    };
    if (url.pathname.startsWith('/admin/')) {
      answer(await answerAdmin({ method, url, body }, faults, arrivals));
      return;
    }
    const pid = Number(incoming.headers['x-worker-pid']) || null;
    await handle({
      method,
      url,
      headers: incoming.headers,
      body,
      answer,
      write: async (collection, key, commit) => {
        const note = (event: 'received' | 'held' | 'answered' | WriteDone['event']): void =>
          arrivals.note(event, collection, key, pid);
        note('received');
        const carryOut = async (): Promise<HttpAnswer> => {
          const done = await commit();
          note(done.event);
          return done.answer;
        };
        const end = (given: HttpAnswer): void => send(response, given, () => note('answered'));
        const fault = faults.take('write', key);
        if (!fault) return end(await carryOut());
        const hold = (): Promise<'continue' | 'drop'> => {
          const held = faults.hold(key);
          note('held');
          return held;
        };
        await CARRY_OUT[fault.fault]({ fault, commit: carryOut, hold, end, drop });
      },
      lookup: async (collection, keys, find) => {
        const distortions = new Map<string, Fault>();
        for (const key of keys) {
          arrivals.note('looked_up', collection, key, pid);
          const fault = faults.take('lookup', key);
          if (fault) distortions.set(key, fault);
        }
        const commit = async (): Promise<HttpAnswer> => find(distortions);
        const transport = [...distortions].find(([, { fault }]) => CARRY_OUT[fault] !== straight);
        if (!transport) return answer(await commit());
        const [key, fault] = transport;
        await CARRY_OUT[fault.fault]({ fault, commit, hold: () => faults.hold(key), end: answer, drop });
      },
    });
  };

  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    serve(incoming, response).catch(() => send(response, { status: 500, body: { code: 'test_server_failed' } }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    faults,
    arrivals,
    counts: (key) => arrivals.counts(key),
    close: () =>
      new Promise((resolve) => {
        faults.release('*', 'drop');
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What a server process prints on its first line, once it listens. */
export function announce(name: string, server: SinkServer, more: Readonly<Record<string, string>> = {}): void {
  process.stdout.write(`${JSON.stringify({ server: name, url: server.url, pid: process.pid, ...more })}\n`);
  const stop = (): void => void server.close().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

/** The port that a server process was told to take by `--port N`. */
export function portArgument(argv: readonly string[]): number {
  const at = argv.indexOf('--port');
  return at < 0 ? 0 : Number(argv[at + 1]);
}
