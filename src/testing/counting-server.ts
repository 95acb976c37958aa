/**
 * A small HTTP service that counts writes by idempotency key, in three strengths.
 *
 * Invariant: `enforcing` never holds two writes under one key; `lookup` and `blind` add one for every request that arrives,
 * so that a count above one is the client's doing.
 *
 *   POST /MODE/writes    {key, operation_digest, payload}   201 {external_id, row}; `enforcing` repeats it with 200, or
 *                                                           422 {code: 'key_reused'} for another digest
 *   POST /MODE/lookups   {keys}                             200 {answers: [{state, operation_digest, external_id, row}]};
 *                                                           404 from `blind`
 */
import { type Fault } from './faults';
import {
  type Distortions,
  type HttpAnswer,
  type SinkRequest,
  type SinkServer,
  type SinkServerOptions,
  startSinkServer,
  type WriteDone,
} from './sink-server';

/** What a counting sink can and cannot do. */
export const COUNTING_MODES = ['enforcing', 'lookup', 'blind'] as const;
/** One of `COUNTING_MODES`. */
export type CountingMode = (typeof COUNTING_MODES)[number];

interface Row {
  readonly row: number;
  readonly digest: string;
  readonly at: number;
}

const OTHER_DIGEST = `sha256:${'0'.repeat(64)}`;

class Collection {
  readonly #rows = new Map<string, Row[]>();
  #next = 1;

  constructor(readonly mode: CountingMode) {}

  write(key: string, digest: string): WriteDone {
    const rows = this.#rows.get(key) ?? [];
    const [first] = rows;
    if (first && this.mode === 'enforcing') {
      return first.digest === digest
        ? { event: 'replayed', answer: { status: 200, body: this.#body(first) } }
        : { event: 'refused', answer: { status: 422, body: { code: 'key_reused' } } };
    }
    const row: Row = { row: this.#next++, digest, at: performance.now() };
    this.#rows.set(key, [...rows, row]);
    return { event: 'committed', answer: { status: 201, body: this.#body(row) } };
  }

  find(key: string, fault: Fault | undefined): Record<string, unknown> {
    if (fault?.fault === 'in_flight') {
      return {
        state: 'in_flight',
        ...(fault.retryAfterMs === undefined ? {} : { retry_after_ms: fault.retryAfterMs }),
      };
    }
    const row = this.#rows.get(key)?.[0];
    const hidden = fault?.fault === 'stale_lookup' && row && performance.now() - row.at < (fault.delayMs ?? 0);
    if (!row || hidden) return { state: 'absent' };
    const digest = fault?.fault === 'wrong_digest' ? OTHER_DIGEST : row.digest;
    return { state: 'committed', operation_digest: digest, ...this.#body(row) };
  }

  #body({ row }: Row): Record<string, unknown> {
    return { external_id: `${this.mode}-${row}`, row };
  }
}

const notFound: HttpAnswer = { status: 404, body: { code: 'unknown_route' } };
const badRequest: HttpAnswer = { status: 400, body: { code: 'invalid_body' } };

function parse(body: Buffer): Record<string, unknown> | null {
  try {
    const value = JSON.parse(body.toString('utf8')) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Starts the server in this process. `counting-server-main` runs it as its own. */
export async function startCountingServer(options: SinkServerOptions = {}): Promise<SinkServer> {
  const collections = new Map<string, Collection>(COUNTING_MODES.map((mode) => [mode, new Collection(mode)]));

  const handle = async (request: SinkRequest): Promise<void> => {
    const [, mode = '', what = ''] = request.url.pathname.split('/');
    const collection = collections.get(mode);
    const body = parse(request.body);
    if (!collection || request.method !== 'POST') return request.answer(notFound);
    if (what === 'writes') {
      const { key, operation_digest: digest } = body ?? {};
      if (typeof key !== 'string' || typeof digest !== 'string') return request.answer(badRequest);
      return request.write(mode, key, () => collection.write(key, digest));
    }
    if (what === 'lookups' && collection.mode !== 'blind') {
      const keys = body?.['keys'];
      if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) return request.answer(badRequest);
      const find = (distortions: Distortions): HttpAnswer => ({
        status: 200,
        body: { answers: keys.map((key) => collection.find(key, distortions.get(key))) },
      });
      return request.lookup(mode, keys, find);
    }
    return request.answer(notFound);
  };
  return startSinkServer(handle, options);
}
