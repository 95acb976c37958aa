/**
 * The FHIR sink in both modes against an embedded server over real sockets, and behind fronts that behave badly.
 *
 * - One resource a key, whatever the number and timing of sends; look-up and send name the same resource.
 * - Every fault and status has its one meaning, with one request a send.
 * - A look-up that was not filtered, is paged, or finds two is unknown: never absent, never the first.
 * - A late original is seen when it lands; a cache in front cannot make a false absent.
 * - In put mode a deleted resource stays committed, and so does one that was edited.
 * - An update is absent only while its base version is current.
 * - The self-test passes on a sound server, leaves one resource, and refuses the known bad ones.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import readline from 'node:readline';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { effectResourceId, fhirSink, type FhirSinkOptions } from '../../../src/adapters/sinks';
import { mark, marksBelow, matchUrl, parseFhirOperation } from '../../../src/adapters/sinks/fhir-resource';
import type { EffectSink, SinkAnswer, SinkItem } from '../../../src/ports';
import {
  type Fault,
  FAULT_KINDS,
  type FaultKind,
  type FhirServer,
  SinkAdmin,
  startFhirServer,
} from '../../../src/testing';
import { type Front, startFront } from './front';
import { codeOf, makeItem, SECRET, sendAndTell, within } from './support';

const MODES = ['put', 'conditional_create'] as const;
type Mode = (typeof MODES)[number];
const SYSTEM = 'https://example.org/effects';

let server: FhirServer;
let admin: SinkAdmin;
let front: Front;
const sinks = {} as Record<Mode, EffectSink>;
const sinkOf = (mode: Mode, over: Partial<FhirSinkOptions> = {}): EffectSink =>
  fhirSink({
    name: 'fhir',
    baseUrl: server.baseUrl,
    mode,
    system: SYSTEM,
    credentials: () => ({ authorization: `Bearer ${SECRET}` }),
    ...over,
  });
const behind = (mode: Mode, system = SYSTEM): EffectSink => sinkOf(mode, { baseUrl: `${front.url}/fhir`, system });
const observation = (over: object = {}): object => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: SECRET },
  ...over,
});
const item = (): SinkItem => makeItem(observation());
const look = async (sink: EffectSink, one: SinkItem): Promise<SinkAnswer> =>
  (await sink.observe([one], within()))[0] ?? { state: 'unknown' };
const fhir = async (
  method: string,
  at: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${server.baseUrl}/${at}`, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });

beforeAll(async () => {
  server = await startFhirServer();
  admin = new SinkAdmin(server.url);
  front = await startFront(server.url);
  for (const mode of MODES) sinks[mode] = sinkOf(mode);
});
afterAll(async () => {
  await front.close();
  await server.close();
});
afterEach(() => {
  front.requests.length = 0;
  front.before = (request) => request;
  front.after = (answer) => answer;
});

describe.each(MODES)('%s', (mode) => {
  test('first, repeat, look-up: one resource, one digest', async () => {
    const one = item();
    expect(await look(sinks[mode], one)).toEqual({ state: 'absent' });
    const first = await sinks[mode].dispatch(one, within());
    expect(first).toMatchObject({ outcome: 'accepted', externalId: expect.stringMatching(/^Observation\//) });
    expect(await sinks[mode].dispatch(one, within())).toEqual(first);
    const { externalId } = first as { externalId: string };
    expect(await look(sinks[mode], one)).toMatchObject({
      state: 'committed',
      operationDigest: one.operationDigest,
      externalId,
    });
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes: 1, received: 2 });
  });

  test('eight at once: one write, and every answer names the same resource', async () => {
    const one = item();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => sinks[mode].dispatch(one, within())));
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes: 1, received: 8 });
  });

  test('another digest under the key is never a success', async () => {
    const one = item();
    await sinks[mode].dispatch(one, within());
    const found = await look(sinks[mode], { ...one, operationDigest: 'b'.repeat(64) });
    expect(found).toMatchObject({ state: 'committed', operationDigest: one.operationDigest });
  });

  test('a wrong digest in the answer to a send is unknown', async () => {
    front.after = (answer) => ({ ...answer, body: answer.body.replaceAll('a'.repeat(64), 'c'.repeat(64)) });
    expect(await sendAndTell(behind(mode), item())).toBe('key_reused');
  });

  test('late landing: absent at once, committed when it lands, and a repeat makes no second', async () => {
    const one = item();
    const { idempotencyKey: key } = one;
    const deadline = new AbortController();
    await admin.programme({ fault: 'hold_before', key });
    const sent = sendAndTell(sinks[mode], one, deadline.signal);
    await admin.wait('held', { key });
    deadline.abort();
    expect(await sent).toBe('deadline_passed');
    expect(await look(sinks[mode], one)).toEqual({ state: 'absent' });
    const repeated = await sinks[mode].dispatch(one, within());
    await admin.release(key);
    await admin.wait('replayed', { key });
    expect(await look(sinks[mode], one)).toMatchObject({
      state: 'committed',
      externalId: (repeated as { externalId: string }).externalId,
    });
    expect(await admin.counts(key)).toMatchObject({ writes: 1, received: 2 });
  });

  test('a cache in front cannot make a false absent: look-ups say no-store', async () => {
    const cache = new Map<string, Passing>();
    type Passing = Parameters<Front['after']>[0];
    const mayStore = (headers: Record<string, string>): boolean => !/no-store/.test(headers['cache-control'] ?? '');
    front.before = (request) =>
      (request.method === 'GET' && mayStore(request.headers) ? cache.get(request.path) : undefined) ?? request;
    front.after = (answer, request) => {
      if (request.method === 'GET' && mayStore(request.headers)) cache.set(request.path, answer);
      return answer;
    };
    const one = item();
    expect(await look(behind(mode), one)).toEqual({ state: 'absent' });
    const asked = `${front.url}${front.requests[0]?.path}`;
    const plain = async (): Promise<string> => (await fetch(asked)).text();
    const before = await plain();
    await behind(mode).dispatch(one, within());
    expect(await plain()).toBe(before);
    expect(await look(behind(mode), one)).toMatchObject({ state: 'committed' });
  });

  type Told = 'accepted' | string | { outcome: string; code?: string; retryAfterMs?: number };
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
      { with: { status: 302 }, told: 'redirect_not_followed', writes: 0 },
      { with: { status: 400 }, told: { outcome: 'refused', code: 'fhir_400' }, writes: 0 },
      { with: { status: 401 }, told: 'unexpected_status', writes: 0 },
      { with: { status: 409 }, told: 'in_flight', writes: 0 },
      { with: { status: 412 }, told: mode === 'put' ? 'in_flight' : 'several_matches', writes: 0 },
      { with: { status: 422 }, told: { outcome: 'refused', code: 'fhir_422' }, writes: 0 },
      { with: { status: 429, retryAfterMs: 2000 }, told: { outcome: 'not_sent', retryAfterMs: 2000 }, writes: 0 },
      { with: { status: 500 }, told: 'unexpected_status', writes: 0 },
    ],
    status_after_commit: [{ with: { status: 503 }, told: 'unexpected_status', writes: 1 }],
    stale_lookup: [],
    wrong_digest: [],
    in_flight: [],
    drop_filter: [],
  };
  const rows = FAULT_KINDS.flatMap((fault) => FAULTS[fault].map((row) => ({ fault, ...row })));
  test.each(rows)('$fault $with: $told, one request, $writes writes', async ({ fault, with: how, told, writes }) => {
    const one = item();
    const { idempotencyKey: key } = one;
    await admin.programme({ fault, key, ...how });
    const outcome = await sendAndTell(sinks[mode], one);
    if (told === 'accepted') expect(outcome).toMatchObject({ outcome: 'accepted' });
    else expect(outcome).toEqual(told);
    if (writes > 0) await admin.wait('committed', { key });
    expect(await admin.counts(key)).toMatchObject({ received: 1, writes });
    expect(await look(sinks[mode], one)).toMatchObject({ state: writes > 0 ? 'committed' : 'absent' });
    expect(await sinks[mode].dispatch(one, within())).toMatchObject({ outcome: 'accepted' });
    expect(await admin.counts(key)).toMatchObject({ writes: 1 });
  });

  test('look-up faults: stale, wrong digest, in flight, refused, lost', async () => {
    const one = item();
    await sinks[mode].dispatch(one, within());
    const key = one.idempotencyKey;
    await admin.programme(
      { fault: 'stale_lookup', key, delayMs: 3_600_000 },
      { fault: 'wrong_digest', key },
      { fault: 'in_flight', key },
      { fault: 'status', on: 'lookup', key, status: 500 },
      { fault: 'drop_reply', on: 'lookup', key },
    );
    expect(await look(sinks[mode], one)).toEqual({ state: 'absent' });
    expect(await look(sinks[mode], one)).toMatchObject({ state: 'committed', operationDigest: '0'.repeat(64) });
    expect(await look(sinks[mode], one)).toEqual({ state: 'in_flight' });
    await expect(look(sinks[mode], one).catch(codeOf)).resolves.toBe('unexpected_status');
    await expect(look(sinks[mode], one).catch(codeOf)).resolves.toBe('connection_lost');
  });

  test('an answer of another form is unknown or thrown, never absent', async () => {
    const one = item();
    for (const body of ['', '[]', '{}', SECRET, '{"resourceType":"Bundle"}', '{"resourceType":"OperationOutcome"}']) {
      front.after = (answer) => ({ ...answer, status: 200, body });
      const found = await look(behind(mode), one).catch((error: unknown) => ({ state: codeOf(error) }));
      expect(['unknown', 'answer_invalid']).toContain(found.state);
    }
  });

  test('what is no resource is refused before anything is sent', async () => {
    for (const operation of [null, 7, 'x', [], {}, { resourceType: '../Patient' }, { resource: {} }]) {
      expect(await sendAndTell(behind(mode), makeItem(operation))).toEqual({
        outcome: 'refused',
        code: 'invalid_operation',
      });
    }
    expect(front.requests).toEqual([]);
  });

  test('the self-test passes, again and again, and leaves one resource', async () => {
    for (let i = 0; i < 3; i++) await sinks[mode].probe?.();
    expect(await admin.counts(`self-test-${mode}`)).toMatchObject({ writes: 1 });
  });

  test.each<[string, (of: Front) => void]>([
    [
      'a server that keeps nothing',
      (of) =>
        (of.before = ({ method, ...rest }) =>
          method === 'GET' ? { ...rest, method, path: `${rest.path}-` } : { method, ...rest }),
    ],
    [
      'a server without tags',
      (of) => (of.before = (request) => ({ ...request, body: request.body.replace(/"tag":\[[^\]]*\]/, '"tag":[]') })),
    ],
    ['a server that redirects', (of) => (of.before = () => ({ status: 302, headers: { location: '/' }, body: '' }))],
  ])('the self-test refuses %s', async (name, spoil) => {
    spoil(front);
    await expect(behind(mode, `urn:${name}`).probe?.()).rejects.toMatchObject({ code: 'probe_failed' });
  });
});

describe('put', () => {
  test('the id is derived from the key; deleted stays committed', async () => {
    const one = item();
    const externalId = `Observation/${effectResourceId(one.idempotencyKey)}`;
    expect(await sinks.put.dispatch(one, within())).toMatchObject({ externalId });
    expect((await fhir('DELETE', externalId)).status).toBe(200);
    expect((await fhir('GET', externalId)).status).toBe(410);
    expect(await look(sinks.put, one)).toEqual({
      state: 'committed',
      operationDigest: one.operationDigest,
      externalId,
    });
  });

  test('a later edit stays committed, unless it took the digest away', async () => {
    const one = item();
    const sent = (await sinks.put.dispatch(one, within())) as { externalId: string };
    const stored = (await (await fhir('GET', sent.externalId)).json()) as { meta: object };
    await fhir('PUT', sent.externalId, { ...stored, status: 'amended' });
    expect(await look(sinks.put, one)).toMatchObject({ state: 'committed', externalId: sent.externalId });
    await fhir('PUT', sent.externalId, { ...stored, meta: {} });
    expect(await look(sinks.put, one)).toEqual({ state: 'unknown' });
  });

  test('declares that it does not enforce keys: a late original could overwrite an edit', () => {
    expect(sinks.put).toMatchObject({ enforcesKey: 'no', sideEffect: 'idempotent_write' });
    expect(sinks.conditional_create).toMatchObject({ enforcesKey: 'always', sideEffect: 'non_idempotent_write' });
  });
});

describe('conditional_create', () => {
  test('send and look-up use one frozen text, strictly and with GET', async () => {
    const one = item();
    await look(behind('conditional_create'), one);
    await behind('conditional_create').dispatch(one, within());
    const [asked, sent] = front.requests;
    expect(asked).toMatchObject({ method: 'GET', headers: { prefer: 'handling=strict', 'cache-control': 'no-store' } });
    expect(sent).toMatchObject({ method: 'POST', path: '/fhir/Observation' });
    expect(asked?.path).toBe(`/fhir/Observation?${sent?.headers['if-none-exist']}`);
    expect(sent?.headers['if-none-exist']).toBe(matchUrl(one.idempotencyKey, marksBelow(SYSTEM)));
  });

  test('two matches are unknown, never the first', async () => {
    const one = item();
    const identifier = [{ system: `${SYSTEM}/idempotency-key`, value: one.idempotencyKey }];
    await fhir('POST', 'Observation', observation({ identifier }));
    await fhir('POST', 'Observation', observation({ identifier }));
    expect(await look(sinks.conditional_create, one)).toEqual({ state: 'unknown' });
    expect(await sendAndTell(sinks.conditional_create, one)).toBe('several_matches');
  });

  type Bundle = { link?: { relation: string; url: string }[]; total?: number; entry?: object[] };
  test.each<[string, (bundle: Bundle) => void]>([
    ['no self link', (bundle) => delete bundle.link],
    [
      'a self link without the filter',
      (bundle) => (bundle.link = [{ relation: 'self', url: 'http://x.invalid/Observation' }]),
    ],
    [
      'a self link with another filter',
      (bundle) => (bundle.link = [{ relation: 'self', url: '/Observation?identifier=a%7Cb' }]),
    ],
    ['a next page', (bundle) => bundle.link?.push({ relation: 'next', url: '/next' })],
    ['a total that promises more', (bundle) => (bundle.total = 1)],
    ['an entry of somebody else', (bundle) => (bundle.entry = [{ resource: observation({ id: 'x' }) }])],
    ['an entry that is no resource', (bundle) => (bundle.entry = [{}])],
  ])('%s: unknown, not absent', async (_, spoil) => {
    front.after = (answer, { method }) => {
      if (method !== 'GET') return answer;
      const bundle = JSON.parse(answer.body) as Bundle;
      spoil(bundle);
      return { ...answer, body: JSON.stringify(bundle) };
    };
    expect(await look(behind('conditional_create'), item())).toEqual({ state: 'unknown' });
  });

  test('a filter that the server dropped: unknown', async () => {
    const one = item();
    await admin.programme({ fault: 'drop_filter', key: one.idempotencyKey });
    expect(await look(sinks.conditional_create, one)).toEqual({ state: 'unknown' });
    expect(await look(sinks.conditional_create, one)).toEqual({ state: 'absent' });
  });

  test('the resource keeps its own identifiers and tags, and loses the id that the server must give', async () => {
    const own = {
      identifier: [{ system: 'urn:x', value: '1' }],
      meta: { tag: [{ system: 'urn:y', code: '2' }] },
      id: 'mine',
    };
    const one = makeItem(observation(own));
    const { externalId } = (await sinks.conditional_create.dispatch(one, within())) as { externalId: string };
    expect(externalId).not.toContain('mine');
    const stored = (await (await fhir('GET', externalId)).json()) as typeof own;
    expect(stored.identifier).toContainEqual(own.identifier[0]);
    expect(stored.meta.tag).toContainEqual(own.meta.tag[0]);
  });

  test('a type that has no list of identifiers is refused before anything is sent', async () => {
    const outcome = await sendAndTell(
      behind('conditional_create'),
      makeItem({ resourceType: 'Bundle', type: 'document' }),
    );
    expect(outcome).toEqual({ outcome: 'refused', code: 'type_without_identifier_list' });
    expect(front.requests).toEqual([]);
  });

  test('the self-test refuses a server that ignores If-None-Exist', async () => {
    front.before = ({ headers: { 'if-none-exist': _, ...headers }, ...rest }) => ({ ...rest, headers });
    await expect(behind('conditional_create', 'urn:unconditional').probe?.()).rejects.toMatchObject({
      code: 'probe_failed',
    });
  });

  test('the self-test refuses a router that was not told the definitions', async () => {
    const main = path.resolve(__dirname, '../../../src/testing/fhir-server-main.ts');
    const child = spawn(process.execPath, ['--import', 'tsx', main, '--without-definitions'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(readline.createInterface({ input: child.stdout }), 'line')) as [string];
    const { base_url: baseUrl } = JSON.parse(line) as { base_url: string };
    await expect(sinkOf('conditional_create', { baseUrl }).probe?.()).rejects.toThrow(
      /probe_failed.*step=find after create/,
    );
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe.each(MODES)('an update of what must not have moved (%s)', (mode) => {
  async function stored(): Promise<{ at: string; resource: { id: string }; ifMatch: string }> {
    const response = await fhir('POST', 'Observation', observation());
    return {
      resource: (await response.json()) as { id: string },
      at: new URL(response.headers.get('location') ?? '').pathname.replace(/^\/fhir\/|\/_history.*$/g, ''),
      ifMatch: response.headers.get('etag') ?? '',
    };
  }

  test('absent, then committed; a repeat is unknown, and the look-up knows', async () => {
    const { resource, ifMatch, at } = await stored();
    const one = makeItem({ resource: { ...resource, status: 'amended' }, ifMatch });
    expect(await look(sinks[mode], one)).toEqual({ state: 'absent' });
    expect(await sinks[mode].dispatch(one, within())).toMatchObject({ outcome: 'accepted', externalId: at });
    expect(await sendAndTell(sinks[mode], one)).toBe('version_conflict');
    expect(await look(sinks[mode], one)).toMatchObject({ state: 'committed', externalId: at });
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes: 1 });
  });

  test.each([409, 412])('a lost race answered with %i is unknown', async (status) => {
    const { resource, ifMatch } = await stored();
    const one = makeItem({ resource, ifMatch });
    await admin.programme({ fault: 'status', status, key: one.idempotencyKey });
    expect(await sendAndTell(sinks[mode], one)).toBe('version_conflict');
  });

  test('moved by somebody else: unknown, for the look-up and for the send', async () => {
    const { resource, ifMatch, at } = await stored();
    await fhir('PUT', at, { ...resource, status: 'corrected' });
    const one = makeItem({ resource: { ...resource, status: 'amended' }, ifMatch });
    expect(await look(sinks[mode], one)).toEqual({ state: 'unknown' });
    expect(await sendAndTell(sinks[mode], one)).toBe('version_conflict');
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes: 0 });
  });

  test.each(['"1"', 'W/"', '*', 'W/"a"b"', 'W/"1"\r\nx: y'])(
    'the version %j is refused before anything is sent',
    async (ifMatch) => {
      const one = makeItem({ resource: { ...observation(), id: 'x' }, ifMatch });
      expect(await sendAndTell(behind(mode), one)).toEqual({ outcome: 'refused', code: 'invalid_operation' });
      expect(front.requests).toEqual([]);
    },
  );

  test.each(['..', '.', '../x', 'a/b', '', 'a?b', 'x'.repeat(65)])(
    'the id %j is refused before anything is sent',
    async (id) => {
      const one = makeItem({ resource: { ...observation(), id }, ifMatch: 'W/"1"' });
      expect(await sendAndTell(behind(mode), one)).toEqual({ outcome: 'refused', code: 'invalid_operation' });
      expect(front.requests).toEqual([]);
    },
  );
});

test('derived ids are ids, and different keys have different ones', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      expect(effectResourceId(a)).toMatch(/^eff-[0-9a-f]{60}$/);
      expect(effectResourceId(a) === effectResourceId(b)).toBe(a === b);
    }),
  );
});

test('any JSON is read as an operation or not at all, and marking it twice changes nothing more', () => {
  const one = item();
  const json = fc.oneof(
    fc.jsonValue(),
    fc.record({
      resourceType: fc.constant('Observation'),
      meta: fc.record({ tag: fc.array(fc.record({ system: fc.string(), code: fc.string() })) }),
    }),
  );
  fc.assert(
    fc.property(json, (value) => {
      const operation = parseFhirOperation(value);
      if (!operation) return;
      const once = mark(operation.resource, one, marksBelow(SYSTEM));
      expect(mark(once, one, marksBelow(SYSTEM))).toEqual(once);
    }),
  );
});
