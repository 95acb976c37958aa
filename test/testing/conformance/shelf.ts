/**
 * A small service and a sound sink for it, which the mutants of the kit's own test are made from.
 *
 * Invariant: the service can be asked to hold what it should not (two rows, a forgotten key), so no case of the kit is left out
 * for want of a fixture.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpExchange, jsonObject, retryAfterMs } from '../../../src/adapters/sinks/http-exchange';
import { SinkError } from '../../../src/adapters/sinks/sink-error';
import type { DispatchOutcome, EffectSink, SinkAnswer, SinkItem } from '../../../src/ports';
import type { SinkFixture } from '../../../src/testing';

interface Row {
  readonly key: string;
  readonly digest: string;
  readonly id: string;
}

export interface Shelf {
  readonly fixture: SinkFixture;
  readonly rows: Row[];
  close(): Promise<void>;
}

/** `careless`: the service itself makes a row for whatever arrives. */
export async function startShelf(careless = false): Promise<Shelf> {
  let rows: Row[] = [];
  const forgotten = new Set<string>();
  const add = (key: string, digest: string): Row => {
    const row = { key, digest, id: `row-${rows.length + 1}` };
    rows.push(row);
    return row;
  };
  const write = (body: { key: string; digest: string; operation: unknown }): [number, unknown] => {
    const known = forgotten.has(body.key) || careless ? undefined : rows.find(({ key }) => key === body.key);
    if (Array.isArray(body.operation)) return [400, {}];
    if (known === undefined) return [201, add(body.key, body.digest)];
    return known.digest === body.digest ? [200, known] : [422, {}];
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const asked = new URL(request.url ?? '/', 'http://shelf.example').searchParams.get('key');
      const [status, body] =
        request.method === 'GET'
          ? [200, { rows: rows.filter(({ key }) => asked === null || key === asked) }]
          : write(JSON.parse(Buffer.concat(chunks).toString()) as Parameters<typeof write>[0]);
      response.writeHead(status).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    get rows() {
      return rows;
    },
    fixture: {
      target: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
      secrets: [TOKEN],
      patienceMs: 300,
      marginMs: 700,
      operation: (text) => ({ note: text }),
      refused: (text) => [text],
      writes: ({ idempotencyKey }) => rows.filter(({ key }) => key === idempotencyKey).length,
      duplicate: async ({ idempotencyKey, operationDigest }) => void add(idempotencyKey, operationDigest),
      forget: async ({ idempotencyKey }) => void forgotten.add(idempotencyKey),
    },
    close: () =>
      new Promise((resolve) => {
        rows = [];
        server.close(() => resolve()).closeAllConnections();
      }),
  };
}

export const TOKEN = 'a-shelf-token';

/** In which ways a mutant reads otherwise than it should. */
export interface Bent {
  readonly cached?: boolean;
  readonly takesFirst?: boolean;
  /** Takes an answer without rows for one of no rows. */
  readonly lenient?: boolean;
}

/** The sound sink, unless it is bent. */
export function shelfSink(url: string, bent: Bent = {}): EffectSink {
  const http = new HttpExchange();
  const auth = { authorization: `Bearer ${TOKEN}` };

  async function find({ idempotencyKey: key }: SinkItem, signal: AbortSignal): Promise<SinkAnswer> {
    const context = { sink: 'shelf', key };
    const headers = bent.cached ? auth : { ...auth, 'cache-control': 'no-store' };
    const reply = await http.send({ method: 'GET', url: new URL(`${url}/rows?key=${key}`), headers }, signal, context);
    if (reply === 'not_connected') throw new SinkError('not_reachable', context);
    if (reply.status !== 200) throw new SinkError('unexpected_status', context);
    const rows = jsonObject(reply)?.['rows'] ?? (bent.lenient ? [] : null);
    if (!Array.isArray(rows)) throw new SinkError('answer_invalid', context);
    const found = rows as Row[];
    const [row] = found;
    if (!bent.takesFirst && (found.some((one) => one.key !== key) || found.length > 1)) return { state: 'unknown' };
    if (row?.key !== key) return { state: 'absent' };
    return { state: 'committed', operationDigest: row.digest, externalId: row.id };
  }

  async function send(item: SinkItem, signal: AbortSignal): Promise<DispatchOutcome> {
    const context = { sink: 'shelf', key: item.idempotencyKey };
    const body = JSON.stringify({ key: item.idempotencyKey, digest: item.operationDigest, operation: item.operation });
    const reply = await http.send(
      { method: 'POST', url: new URL(`${url}/rows`), headers: auth, body },
      signal,
      context,
    );
    if (reply === 'not_connected') return { outcome: 'not_sent' };
    if (reply.status === 400) return { outcome: 'refused', code: 'shelf_400' };
    const wait = retryAfterMs(reply);
    if (reply.status === 429) return { outcome: 'not_sent', ...(wait === undefined ? {} : { retryAfterMs: wait }) };
    const id = jsonObject(reply)?.['id'];
    if ((reply.status !== 200 && reply.status !== 201) || typeof id !== 'string') {
      throw new SinkError('unexpected_status', context, { detail: `status=${reply.status}` });
    }
    return { outcome: 'accepted', externalId: id };
  }

  return {
    kind: 'local_tool',
    lookup: 'authoritative',
    enforcesKey: 'within_horizon',
    horizonMs: 3_600_000,
    deadlineMs: 2_000,
    settleMs: 300,
    observe: (items, { signal }) => Promise.all(items.map((item) => find(item, signal))),
    dispatch: (item, { signal }) => send(item, signal),
    probe: async () => undefined,
  };
}
