/**
 * The embedded FHIR server, with plain requests: what a careful server does, and the bare router does not.
 *
 * - Conditional creates of one match URL make one resource, also when they arrive at once; two matches are 412.
 * - Unknown parameters are refused under handling=strict and in If-None-Exist, and left out of the self link otherwise.
 * - Location, ETag and self link are there; a stale If-Match is refused; an identical PUT makes no version; deleted is 410.
 * - Counts and faults go by the key that a resource carries; the admin API tells no content.
 * - Look-ups by identifier find each of many resources, and none that was changed away from it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FhirServer, SinkAdmin, startFhirServer } from '../../src/testing';

const SECRET = 'planted-secret-4711';
let server: FhirServer;
let admin: SinkAdmin;
let next = 0;

const call = async (
  method: string,
  at: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${server.baseUrl}/${at}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
const patient = (value: string, over: object = {}): object => ({
  resourceType: 'Patient',
  identifier: [{ system: 'urn:test', value }],
  ...over,
});
const tagged = (key: string): object => ({
  meta: { tag: [{ system: 'https://example.org/idempotency-key', code: key }] },
});
const find = async (
  query: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; total?: number; self?: string }> => {
  const response = await call('GET', `Patient?${query}`, undefined, headers);
  const { total, link } = (await response.json()) as { total?: number; link?: { url: string }[] };
  return {
    status: response.status,
    ...(total === undefined ? {} : { total }),
    ...(link?.[0] ? { self: link[0].url } : {}),
  };
};

beforeAll(async () => {
  server = await startFhirServer();
  admin = new SinkAdmin(server.url);
});
afterAll(() => server.close());

describe('conditional create', () => {
  test('first 201, then 200 with the first; other content does not replace it', async () => {
    const value = `v${++next}`;
    const condition = { 'if-none-exist': `identifier=urn:test%7C${value}` };
    const first = await call('POST', 'Patient', patient(value), condition);
    const stored = (await first.json()) as { id: string; meta: { versionId: string } };
    expect(first.status).toBe(201);
    expect(first.headers.get('etag')).toBe(`W/"${stored.meta.versionId}"`);
    expect(first.headers.get('location')).toBe(
      `${server.baseUrl}/Patient/${stored.id}/_history/${stored.meta.versionId}`,
    );
    const second = await call('POST', 'Patient', patient(value, { gender: 'other' }), condition);
    expect(second.status).toBe(200);
    expect(await second.json()).toEqual(stored);
  });

  test('sixteen at once: one 201, one resource', async () => {
    const value = `v${++next}`;
    const all = await Promise.all(
      Array.from({ length: 16 }, () =>
        call('POST', 'Patient', patient(value), { 'if-none-exist': `identifier=urn:test|${value}` }),
      ),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([...Array<number>(15).fill(200), 201]);
    expect(await find(`identifier=urn:test|${value}`)).toMatchObject({ total: 1 });
  });

  test('two matches: 412; an unknown parameter: 400', async () => {
    const value = `v${++next}`;
    await call('POST', 'Patient', patient(value));
    await call('POST', 'Patient', patient(value));
    const condition = { 'if-none-exist': `identifier=urn:test|${value}` };
    expect((await call('POST', 'Patient', patient(value), condition)).status).toBe(412);
    expect((await call('POST', 'Patient', patient(value), { 'if-none-exist': 'foo=bar' })).status).toBe(400);
  });
});

describe('search', () => {
  test('an unknown parameter: 400 when strict, otherwise left out of the self link', async () => {
    const value = `v${++next}`;
    await call('POST', 'Patient', patient(value));
    const query = `identifier=urn:test|${value}&foo=bar`;
    expect(await find(query, { prefer: 'handling=strict' })).toEqual({ status: 400 });
    const lenient = await find(query);
    expect(lenient).toMatchObject({ status: 200, total: 1 });
    expect(new URL(lenient.self ?? '').search).toBe(
      `?${new URLSearchParams({ identifier: `urn:test|${value}` }).toString()}`,
    );
  });

  test('each of many is found by its identifier, and not once it has another', async () => {
    const values = Array.from({ length: 40 }, () => `v${++next}`);
    const stored = await Promise.all(
      values.map(async (value) => (await (await call('POST', 'Patient', patient(value))).json()) as { id: string }),
    );
    for (const value of values) expect(await find(`identifier=urn:test|${value}`)).toMatchObject({ total: 1 });
    const [moved] = stored as [{ id: string }];
    await call('PUT', `Patient/${moved.id}`, patient('elsewhere', { id: moved.id }));
    expect(await find(`identifier=urn:test|${values[0]}`)).toMatchObject({ total: 0 });
    expect(await find('identifier=urn:test|elsewhere')).toMatchObject({ total: 1 });
    await call('DELETE', `Patient/${moved.id}`);
    expect(await find('identifier=urn:test|elsewhere')).toMatchObject({ total: 0 });
  });
});

describe('update, read, delete', () => {
  test('201, 200 with the same version for the same content, 200 with another for other content', async () => {
    const id = `p${++next}`;
    const version = async (response: Response): Promise<[number, string | null]> => [
      response.status,
      response.headers.get('etag'),
    ];
    const [created, first] = await version(await call('PUT', `Patient/${id}`, patient('x', { id })));
    const [repeated, second] = await version(await call('PUT', `Patient/${id}`, { id, ...patient('x') }));
    const [changed, third] = await version(await call('PUT', `Patient/${id}`, patient('y', { id })));
    expect([created, repeated, changed]).toEqual([201, 200, 200]);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    const stale = await call('PUT', `Patient/${id}`, patient('z', { id }), { 'if-match': first ?? '' });
    expect(stale.status).toBe(412);
    expect((await call('PUT', `Patient/${id}`, patient('z', { id }), { 'if-match': third ?? '' })).status).toBe(200);
  });

  test('never there 404, deleted 410, written again 200', async () => {
    const id = `p${++next}`;
    expect((await call('GET', `Patient/${id}`)).status).toBe(404);
    await call('PUT', `Patient/${id}`, patient('x', { id }));
    await call('DELETE', `Patient/${id}`);
    expect((await call('GET', `Patient/${id}`)).status).toBe(410);
    await call('PUT', `Patient/${id}`, patient('x', { id }));
    expect((await call('GET', `Patient/${id}`)).status).toBe(200);
  });

  test.each<[string, string, unknown]>([
    ['POST', 'Patient', { resourceType: 'Observation' }],
    ['POST', 'Patient', 'text'],
    ['PUT', 'Patient/a', { resourceType: 'Patient', id: 'b' }],
    ['POST', 'NoSuchType', { resourceType: 'NoSuchType', status: 1 }],
  ])('%s %s with %j is refused or stored as it is, never a 500', async (method, at, body) => {
    expect((await call(method, at, body)).status).not.toBe(500);
  });
});

describe('counts and faults', () => {
  test('go by the key that the resource carries', async () => {
    const key = `k${++next}`;
    await admin.programme({ fault: 'drop_reply', key });
    await expect(call('POST', 'Patient', patient('x', tagged(key)))).rejects.toThrow();
    await call('POST', 'Patient', patient('x', tagged(key)));
    await call('POST', 'Patient', patient('x'));
    expect(await admin.counts(key)).toMatchObject({ writes: 2, received: 2, keys: [{ collection: 'Patient', key }] });
  });

  test('the admin API tells no content', async () => {
    await call('POST', 'Patient', patient(SECRET, { gender: SECRET }));
    expect(JSON.stringify([await admin.counts(), await admin.log()])).not.toContain(SECRET);
  });
});
