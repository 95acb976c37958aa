/**
 * The admin API of a test server, and the client that harnesses use to programme it.
 *
 * Invariant: it tells and takes keys, counts, moments and faults only, never what a write contained.
 *
 *   GET    /admin/counts[?key=K]       POST /admin/faults   one fault or a list        DELETE /admin/faults
 *   GET    /admin/log[?after=SEQ]      POST /admin/release  {key, how}                 GET    /admin/held
 *   GET    /admin/wait?event=E[&key=K][&count=N][&timeout_ms=T]   200 the arrival, 408 when time ran out
 */
import { type Arrival, ARRIVAL_EVENTS, type ArrivalEvent, type Arrivals, type Counts } from './arrivals';
import { type Fault, type FaultEngine, FaultError, faultToWire, parseFault, type Release } from './faults';

interface AdminRequest {
  readonly method: string;
  readonly url: URL;
  readonly body: Buffer;
}
interface AdminAnswer {
  readonly status: number;
  readonly body: unknown;
}

const MAX_WAIT_MS = 120_000;

const toWire = ({ atMs, ...same }: Arrival): Record<string, unknown> => ({ ...same, at_ms: atMs });
const fromWire = ({ at_ms, ...same }: Record<string, unknown>): Arrival => ({ ...same, atMs: at_ms }) as Arrival;
const invalid = (field: string): AdminAnswer => ({ status: 400, body: { code: 'invalid', field } });

const ROUTES: Record<
  string,
  (request: AdminRequest, faults: FaultEngine, arrivals: Arrivals) => AdminAnswer | Promise<AdminAnswer>
> = {
  'GET /admin/counts': ({ url }, _, arrivals) => ({
    status: 200,
    body: arrivals.counts(url.searchParams.get('key') ?? undefined),
  }),
  'GET /admin/log': ({ url }, _, arrivals) => ({
    status: 200,
    body: { arrivals: arrivals.log(Number(url.searchParams.get('after') ?? 0)).map(toWire) },
  }),
  'POST /admin/faults': ({ body }, faults) => {
    const wire = JSON.parse(body.toString('utf8')) as unknown;
    const parsed = (Array.isArray(wire) ? wire : [wire]).map(parseFault);
    faults.programme(parsed);
    return { status: 200, body: { programmed: parsed.length } };
  },
  'DELETE /admin/faults': (_, faults) => {
    faults.clear();
    return { status: 200, body: {} };
  },
  'GET /admin/held': (_, faults) => ({ status: 200, body: { keys: faults.held } }),
  'POST /admin/release': ({ body }, faults) => {
    const { key = '*', how = 'continue' } = JSON.parse(body.toString('utf8')) as { key?: string; how?: Release };
    if (how !== 'continue' && how !== 'drop') return invalid('how');
    return { status: 200, body: { released: faults.release(key, how) } };
  },
  'GET /admin/wait': async ({ url }, _, arrivals) => {
    const event = url.searchParams.get('event') as ArrivalEvent;
    if (!ARRIVAL_EVENTS.includes(event)) return invalid('event');
    const count = Number(url.searchParams.get('count') ?? 1);
    const timeoutMs = Math.min(Number(url.searchParams.get('timeout_ms') ?? 30_000), MAX_WAIT_MS);
    if (!(count >= 1) || !(timeoutMs >= 0)) return invalid('count');
    const arrival = await arrivals.wait(event, url.searchParams.get('key') ?? '*', count, timeoutMs);
    return arrival ? { status: 200, body: toWire(arrival) } : { status: 408, body: { code: 'timeout' } };
  },
};

export async function answerAdmin(
  request: AdminRequest,
  faults: FaultEngine,
  arrivals: Arrivals,
): Promise<AdminAnswer> {
  const route = ROUTES[`${request.method} ${request.url.pathname}`];
  if (!route) return { status: 404, body: { code: 'unknown_route' } };
  try {
    return await route(request, faults, arrivals);
  } catch (error) {
    if (error instanceof FaultError) return { status: 400, body: { code: error.code, field: error.field } };
    if (error instanceof SyntaxError) return invalid('body');
    throw error;
  }
}

/** Which moment to wait for. */
export interface Moment {
  /** @default '*', any key */
  readonly key?: string;
  /** The how-manieth such event since the server started. @default 1 */
  readonly count?: number;
  /** @default 30000 */
  readonly timeoutMs?: number;
}

/** Programmes and questions a test server in another process. */
export class SinkAdmin {
  constructor(readonly url: string) {}

  async counts(key?: string): Promise<Counts> {
    return (await this.#call('GET', `counts${key === undefined ? '' : `?key=${encodeURIComponent(key)}`}`)) as Counts;
  }

  async log(after = 0): Promise<readonly Arrival[]> {
    const { arrivals } = (await this.#call('GET', `log?after=${after}`)) as { arrivals: Record<string, unknown>[] };
    return arrivals.map(fromWire);
  }

  async programme(...faults: readonly Fault[]): Promise<void> {
    await this.#call('POST', 'faults', faults.map(faultToWire));
  }

  async clear(): Promise<void> {
    await this.#call('DELETE', 'faults');
  }

  async held(): Promise<readonly string[]> {
    return ((await this.#call('GET', 'held')) as { keys: string[] }).keys;
  }

  /** Lets held requests go on; returns how many there were. */
  async release(key = '*', how: Release = 'continue'): Promise<number> {
    return ((await this.#call('POST', 'release', { key, how })) as { released: number }).released;
  }

  /** Resolves when the event has happened; rejects when it does not happen in time. */
  async wait(event: ArrivalEvent, { key = '*', count = 1, timeoutMs = 30_000 }: Moment = {}): Promise<Arrival> {
    const query = new URLSearchParams({ event, key, count: String(count), timeout_ms: String(timeoutMs) });
    return fromWire((await this.#call('GET', `wait?${query.toString()}`)) as Record<string, unknown>);
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.url}/admin/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} /admin/${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  }
}
