/**
 * A small HTTP service with `Idempotency-Key` (draft-07), counting by key.
 *
 * Invariant: one write a key. No or unquoted key: 400; still running: 409; another payload: 422; done: the first answer again.
 *
 *   POST /operations          header `Idempotency-Key: "KEY"`; 201 {id, row}
 *   GET  /operations/KEY      200 {state, operation_digest, external_id, result}; the digest is what `Operation-Digest` was
 */
import { createHash } from 'node:crypto';
import {
  type Distortions,
  type HttpAnswer,
  type SinkRequest,
  type SinkServer,
  type SinkServerOptions,
  startSinkServer,
} from './sink-server';

interface Operation {
  readonly fingerprint: string;
  readonly digest: string;
  done?: { readonly answer: HttpAnswer; readonly id: string; readonly row: number; readonly at: number };
}

const COLLECTION = 'operations';
const OTHER_DIGEST = '0'.repeat(64);

const problem = (status: number, title: string): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/problem+json' },
  body: { title, status },
});

/** The text of a structured-field String, or `null`. */
function parseKey(header: string | string[] | undefined): string | null {
  const match = typeof header === 'string' ? /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"$/.exec(header) : null;
  return match?.[1]?.replace(/\\(["\\])/g, '$1') ?? null;
}

/** Starts a service with idempotency keys on 127.0.0.1, on a free port unless one is given. */
export async function startIdempotencyServer(options: SinkServerOptions = {}): Promise<SinkServer> {
  const operations = new Map<string, Operation>();
  let rows = 0;

  async function write(request: SinkRequest): Promise<void> {
    const key = parseKey(request.headers['idempotency-key']);
    if (key === null) return request.answer(problem(400, 'Idempotency-Key must be a quoted string'));
    const fingerprint = createHash('sha256').update(request.body).digest('hex');
    const known = operations.get(key);
    if (known) {
      return request.write(COLLECTION, key, () => {
        if (known.fingerprint !== fingerprint) {
          return { event: 'refused', answer: problem(422, 'Idempotency-Key is already used') };
        }
        if (!known.done) return { event: 'refused', answer: problem(409, 'A request is outstanding for this key') };
        const { answer } = known.done;
        return { event: 'replayed', answer: { ...answer, headers: { 'idempotency-replayed': 'true' } } };
      });
    }
    const operation: Operation = { fingerprint, digest: String(request.headers['operation-digest'] ?? '') };
    operations.set(key, operation);
    await request.write(COLLECTION, key, () => {
      const row = ++rows;
      const id = `operation-${row}`;
      const answer = { status: 201, body: { id, row } };
      operation.done = { answer, id, row, at: performance.now() };
      return { event: 'committed', answer };
    });
    // A fault that ended the request before its commit leaves no trace of it.
    if (!operation.done) operations.delete(key);
  }

  function read(request: SinkRequest, key: string): Promise<void> {
    const find = (distortions: Distortions): HttpAnswer => {
      const fault = distortions.get(key);
      const operation = operations.get(key);
      const done = operation?.done;
      const hidden = fault?.fault === 'stale_lookup' && performance.now() - (done?.at ?? 0) < (fault.delayMs ?? 0);
      if (!operation || hidden) return { status: 200, body: { state: 'absent' } };
      if (!done || fault?.fault === 'in_flight') return { status: 200, body: { state: 'in_flight' } };
      const digest = fault?.fault === 'wrong_digest' ? OTHER_DIGEST : operation.digest;
      const result = { id: done.id, row: done.row };
      return { status: 200, body: { state: 'committed', operation_digest: digest, external_id: done.id, result } };
    };
    return request.lookup(COLLECTION, [key], find);
  }

  return startSinkServer(async (request) => {
    const [, collection, key, ...more] = request.url.pathname.split('/');
    if (collection === COLLECTION && request.method === 'POST' && key === undefined) return write(request);
    if (collection === COLLECTION && request.method === 'GET' && key && more.length === 0) {
      return read(request, decodeURIComponent(key));
    }
    return request.answer(problem(404, 'No such route'));
  }, options);
}
