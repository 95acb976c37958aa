/**
 * The HTTP sink against a real server with `Idempotency-Key`.
 *
 * - One write a key, whatever the number and timing of sends; a replay gives the same id.
 * - Every status has its one meaning; only listed ones are an outcome, everything else is unknown.
 * - One request a send: no retry, no redirect followed.
 * - An operation cannot lead the request to another origin or path.
 * - A deadline ends the call; what the service then does is found by the look-up.
 * - The self-test passes on a sound service with one write, and refuses one that does not keep what was declared.
 * - No error tells content, credentials or answers.
 */
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fillUrl, structuredString } from '../../../src/adapters/sinks/http-sink';
import { httpSink, type HttpSinkOptions } from '../../../src/adapters/sinks';
import type { EffectSink } from '../../../src/ports';
import {
  type Fault,
  FAULT_KINDS,
  type FaultKind,
  SinkAdmin,
  type SinkServer,
  startIdempotencyServer,
} from '../../../src/testing';
import { type Front, startFront } from './front';
import { codeOf, makeItem, SECRET, sendAndTell, within } from './support';

let server: SinkServer;
let admin: SinkAdmin;
let sink: EffectSink;
const options = (over: Partial<HttpSinkOptions> = {}): HttpSinkOptions => ({
  name: 'operations',
  url: `${server.url}/operations`,
  digestHeader: 'operation-digest',
  credentials: () => ({ authorization: `Bearer ${SECRET}` }),
  lookup: { url: `${server.url}/operations/{key}` },
  ...over,
});
const item = (): ReturnType<typeof makeItem> => makeItem({ amount: 5, note: SECRET });
const state = async (one: ReturnType<typeof item>): Promise<string | undefined> =>
  (await sink.observe([one], within()))[0]?.state;

beforeAll(async () => {
  server = await startIdempotencyServer();
  admin = new SinkAdmin(server.url);
  sink = httpSink(options());
});
afterAll(() => server.close());

describe('the draft', () => {
  test('first, repeat, look-up: one write, one id, one digest', async () => {
    const one = item();
    expect(await state(one)).toBe('absent');
    const first = await sink.dispatch(one, within());
    expect(first).toMatchObject({ outcome: 'accepted', externalId: expect.stringMatching(/^operation-\d+$/) });
    expect(await sink.dispatch(one, within())).toEqual(first);
    expect((await sink.observe([one], within()))[0]).toMatchObject({
      state: 'committed',
      operationDigest: one.operationDigest,
      externalId: first.outcome === 'accepted' ? first.externalId : '',
    });
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes: 1, received: 2 });
  });

  test('while the first is held, others learn in_flight, and so does the look-up; then all agree', async () => {
    const one = item();
    await admin.programme({ fault: 'hold_before', key: one.idempotencyKey });
    const first = sink.dispatch(one, within());
    await admin.wait('held', { key: one.idempotencyKey });
    const others = await Promise.all([1, 2, 3].map(() => sendAndTell(sink, one)));
    expect(others).toEqual(['in_flight', 'in_flight', 'in_flight']);
    expect(await state(one)).toBe('in_flight');
    await admin.release(one.idempotencyKey);
    expect(await sink.dispatch(one, within())).toEqual(await first);
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes: 1 });
  });

  test('another payload under one key is unknown, never a refusal', async () => {
    const one = item();
    await sink.dispatch(one, within());
    expect(await sendAndTell(sink, { ...one, operation: { amount: 6 } })).toBe('key_reused');
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes: 1 });
  });

  test.each(['unquoted', '', '"a', '"a"b"', '"\u00e9"'])('the server refuses the key %j', async (key) => {
    const response = await fetch(`${server.url}/operations`, {
      method: 'POST',
      headers: { 'idempotency-key': key },
      body: '{}',
    });
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
  });

  test('a bare key, as some services take it, is refused here', async () => {
    const bare = httpSink(options({ keyFormat: 'bare' }));
    expect(await sendAndTell(bare, item())).toEqual({ outcome: 'refused', code: 'http_400' });
  });

  test('any printable key survives its quoting', async () => {
    await fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab"\\ ~!'), minLength: 1 }), (key) => {
        expect(JSON.parse(structuredString(key) ?? 'null')).toBe(key);
      }),
    );
    expect(structuredString('line\nbreak')).toBeNull();
    expect(structuredString('')).toBeNull();
  });
});

type Told = 'accepted' | { outcome: 'refused' | 'not_sent'; code?: string; retryAfterMs?: number } | string;
const FAULTS: Record<FaultKind, { with: Partial<Fault>; told: Told; writes: number }[]> = {
  drop_request: [{ with: {}, told: 'connection_lost', writes: 0 }],
  reset: [{ with: {}, told: 'connection_lost', writes: 0 }],
  drop_reply: [{ with: {}, told: 'connection_lost', writes: 1 }],
  late_commit: [{ with: { delayMs: 20 }, told: 'connection_lost', writes: 1 }],
  delay_before: [{ with: { delayMs: 5 }, told: 'accepted', writes: 1 }],
  delay_after: [{ with: { delayMs: 5 }, told: 'accepted', writes: 1 }],
  hold_before: [],
  hold_after: [],
  status: [
    { with: { status: 202 }, told: 'in_flight', writes: 0 },
    { with: { status: 301 }, told: 'redirect_not_followed', writes: 0 },
    { with: { status: 400 }, told: { outcome: 'refused', code: 'http_400' }, writes: 0 },
    { with: { status: 401 }, told: 'unexpected_status', writes: 0 },
    { with: { status: 404 }, told: 'unexpected_status', writes: 0 },
    { with: { status: 409 }, told: 'in_flight', writes: 0 },
    { with: { status: 422 }, told: 'key_reused', writes: 0 },
    { with: { status: 429, retryAfterMs: 3000 }, told: { outcome: 'not_sent', retryAfterMs: 3000 }, writes: 0 },
    { with: { status: 429 }, told: { outcome: 'not_sent' }, writes: 0 },
    { with: { status: 500 }, told: 'unexpected_status', writes: 0 },
    { with: { status: 503, retryAfterMs: 1000 }, told: 'unexpected_status', writes: 0 },
  ],
  status_after_commit: [{ with: { status: 502 }, told: 'unexpected_status', writes: 1 }],
  stale_lookup: [],
  wrong_digest: [],
  in_flight: [],
  drop_filter: [],
};

describe('faults of a send', () => {
  const rows = FAULT_KINDS.flatMap((fault) => FAULTS[fault].map((row) => ({ fault, ...row })));
  test.each(rows)('$fault $with: $told, one request, $writes writes', async ({ fault, with: how, told, writes }) => {
    const one = item();
    const { idempotencyKey: key } = one;
    await admin.programme({ fault, key, ...how });
    const outcome = await sendAndTell(sink, one);
    if (told === 'accepted') expect(outcome).toMatchObject({ outcome: 'accepted' });
    else expect(outcome).toEqual(told);
    if (writes > 0) await admin.wait('committed', { key });
    expect(await admin.counts(key)).toMatchObject({ received: 1, writes });
    expect(await state(one)).toBe(writes > 0 ? 'committed' : 'absent');
    expect(await sink.dispatch(one, within())).toMatchObject({ outcome: 'accepted' });
    expect(await admin.counts(key)).toMatchObject({ writes: 1 });
  });

  test.each(['hold_before', 'hold_after'] as const)(
    '%s past the deadline: given up, then committed once',
    async (fault) => {
      const one = item();
      const { idempotencyKey: key } = one;
      const deadline = new AbortController();
      await admin.programme({ fault, key });
      const sent = sendAndTell(sink, one, deadline.signal);
      await admin.wait('held', { key });
      deadline.abort();
      expect(await sent).toBe('deadline_passed');
      await admin.release(key);
      await admin.wait('committed', { key });
      expect(await state(one)).toBe('committed');
      expect(await admin.counts(key)).toMatchObject({ received: 1, writes: 1 });
    },
  );
});

describe('look-ups', () => {
  test.each<[Fault, string]>([
    [{ fault: 'status', on: 'lookup', status: 500 }, 'unexpected_status'],
    [{ fault: 'status', on: 'lookup', status: 404 }, 'unexpected_status'],
    [{ fault: 'status', on: 'lookup', status: 302 }, 'redirect_not_followed'],
    [{ fault: 'drop_reply', on: 'lookup' }, 'connection_lost'],
  ])('%j is thrown, never taken for absent', async (fault, code) => {
    const one = item();
    await admin.programme({ ...fault, key: one.idempotencyKey });
    await expect(sink.observe([one], within()).catch(codeOf)).resolves.toBe(code);
  });

  test('404 is absent only where the operator says so', async () => {
    const declared = httpSink(options({ lookup: { url: `${server.url}/nowhere/{key}`, absentStatuses: [404] } }));
    const plain = httpSink(options({ lookup: { url: `${server.url}/nowhere/{key}` } }));
    expect(await declared.observe([item()], within())).toEqual([{ state: 'absent' }]);
    await expect(plain.observe([item()], within()).catch(codeOf)).resolves.toBe('unexpected_status');
  });

  test('a mapper that fails tells nothing of what it read', async () => {
    const failing = httpSink(
      options({
        lookup: {
          url: `${server.url}/operations/{key}`,
          answer: () => {
            throw new Error(SECRET);
          },
        },
      }),
    );
    await expect(failing.observe([item()], within()).catch(codeOf)).resolves.toBe('answer_invalid');
  });

  test('without a look-up the sink knows nothing', async () => {
    const { lookup: _, ...blind } = options();
    const declared = httpSink(blind);
    expect(declared.lookup).toBe('none');
    expect(await declared.observe([item(), item()], within())).toEqual([{ state: 'unknown' }, { state: 'unknown' }]);
  });
});

test.each<[Partial<HttpSinkOptions>, string, number | undefined]>([
  [{}, 'always', undefined],
  [{ repeats: 'refuses' }, 'always', undefined],
  [{ horizonMs: 1000 }, 'within_horizon', 1000],
  [{ repeats: 'carries_out', horizonMs: 1000 }, 'no', 1000],
])('%j declares enforcesKey %s', (over, enforcesKey, horizonMs) => {
  const declared = httpSink(options(over));
  expect(declared.enforcesKey).toBe(enforcesKey);
  expect(declared.horizonMs).toBe(horizonMs);
});

describe('where a request may go', () => {
  const origins = new Set(['https://pay.example.org']);
  const template = 'https://pay.example.org/orders/{order}/charges';
  test.each(['..', '.', '', undefined, null, {}, ['x'], Number.NaN])('the value %j leads nowhere', (order) => {
    expect(fillUrl(template, { order }, origins)).toBeNull();
  });

  test('no value leads out of its one segment', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('../../x', '%2e%2e', '@evil.org', '?a=b#c', '//x')),
        (order) => {
          const url = fillUrl(template, { order }, origins);
          if (!url) return;
          expect(url.origin).toBe('https://pay.example.org');
          expect(url.pathname.split('/')).toHaveLength(4);
          expect(url.search + url.hash + url.username).toBe('');
        },
      ),
    );
  });

  test('the host is only ever an allowed one', async () => {
    const anywhere = 'https://{host}/x';
    expect(fillUrl(anywhere, { host: 'pay.example.org' }, origins)?.href).toBe('https://pay.example.org/x');
    for (const host of ['evil.org', 'pay.example.org:444', 'a@pay.example.org', 'pay.example.org#', '127.0.0.1']) {
      expect(fillUrl(anywhere, { host }, origins)).toBeNull();
    }
    const elsewhere = httpSink(options({ origins: ['https://pay.example.org'] }));
    expect(await sendAndTell(elsewhere, item())).toEqual({ outcome: 'refused', code: 'invalid_operation' });
  });

  test('inherited fields are no fields', () => {
    expect(fillUrl('https://pay.example.org/{constructor.name}', {}, origins)).toBeNull();
  });
});

describe('servers that do what they should not', () => {
  let rogue: Server;
  let requests: string[];
  let respond: (path: string) => { status: number; headers?: Record<string, string>; body?: string };
  beforeAll(async () => {
    rogue = createServer((request, response) => {
      requests.push(request.url ?? '');
      const { status, headers, body } = respond(request.url ?? '');
      response.writeHead(status, headers).end(body);
    });
    await new Promise<void>((resolve) => rogue.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => rogue.close(resolve).closeAllConnections()));
  const towards = (over: Partial<HttpSinkOptions> = {}): EffectSink =>
    httpSink(options({ url: `http://127.0.0.1:${(rogue.address() as AddressInfo).port}/w`, ...over }));

  test.each([301, 302, 303, 307, 308])('a %i is not followed and nothing is sent again', async (status) => {
    requests = [];
    respond = (path) => (path === '/w' ? { status, headers: { location: '/elsewhere' } } : { status: 201, body: '{}' });
    expect(await sendAndTell(towards(), item())).toBe('redirect_not_followed');
    expect(requests).toEqual(['/w']);
  });

  test('an answer past the limit is unknown', async () => {
    requests = [];
    respond = () => ({ status: 201, body: JSON.stringify({ id: 'x', note: SECRET.repeat(1000) }) });
    expect(await sendAndTell(towards({ maxAnswerBytes: 100 }), item())).toBe('answer_too_large');
    expect(requests).toHaveLength(1);
  });

  test('an answer that is no JSON has no id, and is told to nobody', async () => {
    requests = [];
    respond = () => ({ status: 201, body: `<html>${SECRET}` });
    expect(await sendAndTell(towards(), item())).toEqual({ outcome: 'accepted', externalId: null });
  });

  test('an error page is told to nobody', async () => {
    respond = () => ({ status: 500, body: SECRET });
    expect(await sendAndTell(towards(), item())).toBe('unexpected_status');
  });

  test('credentials that cannot be had: nothing is sent', async () => {
    requests = [];
    const without = towards({
      credentials: () => {
        throw new Error(SECRET);
      },
    });
    expect(await sendAndTell(without, item())).toEqual({ outcome: 'not_sent' });
    expect(requests).toEqual([]);
  });

  test('credentials that no header can hold: nothing is sent, nothing is told', async () => {
    requests = [];
    const broken = towards({ credentials: () => ({ authorization: `${SECRET}\r\nx: y` }) });
    expect(await sendAndTell(broken, item())).toEqual({ outcome: 'not_sent' });
    expect(requests).toEqual([]);
  });
});

describe('the self-test', () => {
  let front: Front;
  let spoiled = 0;
  beforeAll(async () => {
    front = await startFront(server.url);
  });
  afterAll(() => front.close());
  const probed = (name: string, over: Partial<HttpSinkOptions> = {}): Promise<void> | undefined =>
    httpSink(
      options({
        name,
        url: `${front.url}/operations`,
        lookup: { url: `${front.url}/operations/{key}` },
        selfTest: { operation: { amount: 0 } },
        ...over,
      }),
    ).probe?.();

  test('passes on a sound service, again and again, with one write', async () => {
    for (let i = 0; i < 3; i++) await probed('sound');
    expect(await admin.counts('self-test-sound')).toMatchObject({ writes: 1, received: 9 });
  });

  test.each<[string, Front['before'], RegExp]>([
    [
      'carries out every repeat',
      (request) => ({ ...request, headers: { ...request.headers, 'idempotency-key': `"other-${++spoiled}"` } }),
      /step=create, found=absent/,
    ],
    [
      'does not get the key',
      ({ headers: { 'idempotency-key': _, ...headers }, ...rest }) => ({ ...rest, headers }),
      /found=refused/,
    ],
    [
      'does not get the digest',
      ({ headers: { 'operation-digest': _, ...headers }, ...rest }) => ({ ...rest, headers }),
      /found=another digest/,
    ],
    ['is not there', () => ({ status: 503, headers: {}, body: SECRET }), /found=unexpected_status/],
  ])('refuses a service that %s', async (name, before, message) => {
    front.before = before;
    const failure = await Promise.resolve(probed(name)).catch((error: Error) => error);
    front.before = (request) => request;
    expect(failure).toMatchObject({ code: 'probe_failed', message: expect.stringMatching(message) });
  });

  test('without a look-up, another id for a repeat gives the service away', async () => {
    front.before = (request) => ({
      ...request,
      headers: { ...request.headers, 'idempotency-key': `"other-${++spoiled}"` },
    });
    const { lookup: _, ...blind } = options({
      name: 'blind',
      url: `${front.url}/operations`,
      selfTest: { operation: {} },
    });
    await expect(httpSink(blind).probe?.()).rejects.toMatchObject({
      message: expect.stringContaining('another effect'),
    });
  });

  test('a service that is said to carry out repeats is not asked to', () => {
    expect(httpSink(options({ repeats: 'carries_out', selfTest: { operation: {} } })).probe).toBeUndefined();
  });
});
