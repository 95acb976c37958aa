/**
 * What the FHIR sink keeps at every server, in both modes. Each server's own test file runs this table and adds what is its own.
 *
 * - One resource a key, whatever the number and timing of sends; look-up and send name the same resource.
 * - Another digest under the key is told as such, never as ours.
 * - In put mode a deleted resource stays committed; created conditionally, it looks as if it had never been.
 * - Two matches are unknown, never the first; sends and look-ups use one frozen match URL.
 * - An update is absent only while its base version is current; effects on one resource do not hide each other.
 * - A transaction is there whole and once, with its references; a part of it, or a stranger's part, is unknown.
 * - What cannot be made safe to repeat is refused by a code, before anything is sent, and looks absent.
 * - The self-test passes again and again, also in many workers at once, and leaves nothing more.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { effectResourceId } from '../../../src/adapters/sinks';
import { marksBelow, matchUrl } from '../../../src/adapters/sinks/fhir-resource';
import type { DispatchOutcome, EffectSink, SinkItem } from '../../../src/ports';
import {
  type FhirWorld,
  itemFor,
  KEYS,
  look,
  MODES,
  observation,
  patientAndObservation,
  type Stored,
  SYSTEM,
  digest,
} from './fhir-world';
import { type Front, startFront } from './front';
import { sendAndTell, within } from './support';

/** Answers of a sender that lost a race without harm. */
const LOST = ['in_flight', 'version_conflict'];

export function fhirCases(world: () => FhirWorld): void {
  let front: Front;
  beforeAll(async () => {
    front = await startFront(world().baseUrl.replace(/\/fhir$/, ''));
  });
  afterAll(() => front.close());
  afterEach(() => {
    front.requests.length = 0;
  });
  const behind = (mode: (typeof MODES)[number]): EffectSink => world().sink(mode, { baseUrl: `${front.url}/fhir` });

  const race = async (sinks: readonly EffectSink[], item: SinkItem): Promise<DispatchOutcome[]> => {
    const told = await Promise.all(sinks.map((sink) => sendAndTell(sink, item)));
    const outcomes = told.filter((one) => typeof one !== 'string');
    expect(told.filter((one) => typeof one === 'string' && !LOST.includes(one))).toEqual([]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(outcomes.map(() => 'accepted'));
    return outcomes;
  };

  describe.each(MODES)('%s', (mode) => {
    test('first, repeat, look-up: one resource, one digest', async () => {
      const sink = world().sink(mode);
      const item = itemFor();
      expect(await look(sink, item)).toEqual({ state: 'absent' });
      const first = await sink.dispatch(item, within());
      expect(first).toMatchObject({ outcome: 'accepted', externalId: expect.stringMatching(/^Observation\//) });
      expect(await sink.dispatch(item, within())).toEqual(first);
      const { externalId } = first as { externalId: string };
      const { operationDigest } = item;
      expect(await look(sink, item)).toMatchObject({ state: 'committed', operationDigest, externalId });
      expect(await world().rows(item.idempotencyKey)).toHaveLength(1);
    });

    test('eight senders at once: one resource, and who is told of it is told of the same', async () => {
      const sinks = Array.from({ length: 8 }, () => world().sink(mode));
      for (let times = 0; times < 3; times += 1) {
        const item = itemFor();
        const names = (await race(sinks, item)).map((one) => (one as { externalId: string }).externalId);
        const [only, ...others] = await world().rows(item.idempotencyKey);
        expect(others).toEqual([]);
        expect(new Set(names)).toEqual(new Set([`Observation/${only?.id}`]));
        expect(await look(world().sink(mode), item)).toMatchObject({ state: 'committed', externalId: names[0] });
      }
    });

    test('another digest under the key is told as such, and its send is no success', async () => {
      const sink = world().sink(mode);
      const item = itemFor();
      await sink.dispatch(item, within());
      const changed = { ...item, operationDigest: digest() };
      expect(await look(sink, changed)).toMatchObject({ state: 'committed', operationDigest: item.operationDigest });
      if (mode === 'conditional_create') expect(await sendAndTell(sink, changed)).toBe('key_reused');
    });

    test('what was copied from the resource of another effect does not pass for that effect', async () => {
      const sink = world().sink(mode);
      const item = itemFor();
      const { externalId } = (await sink.dispatch(item, within())) as { externalId: string };
      const copy = itemFor(await world().stored(externalId));
      await sink.dispatch(copy, within());
      expect(await look(sink, item)).toMatchObject({ state: 'committed', externalId });
      expect(await look(sink, copy)).toMatchObject({ state: 'committed', operationDigest: copy.operationDigest });
      expect(await world().rows(item.idempotencyKey)).toHaveLength(1);
    });

    test('a later edit stays committed', async () => {
      const sink = world().sink(mode);
      const item = itemFor();
      const { externalId } = (await sink.dispatch(item, within())) as { externalId: string };
      await world().ask('PUT', externalId, { ...(await world().stored(externalId)), status: 'amended' });
      expect(await look(sink, item)).toMatchObject({ state: 'committed', externalId });
    });

    test('the self-test passes, again and again, and leaves nothing more', async () => {
      const kept = async (): Promise<unknown[]> => {
        const keys = ['', '-transaction.0', '-transaction.1'].map((end) => `self-test-${mode}${end}`);
        return Promise.all(keys.map(async (key) => (await world().rows(key, 'Basic')).map(({ id }) => id)));
      };
      await world().sink(mode).probe?.();
      const first = await kept();
      expect(first.flat()).toHaveLength(3);
      for (let times = 0; times < 2; times += 1) await world().sink(mode).probe?.();
      expect(await kept()).toEqual(first);
    });

    test('the self-test passes in eight workers that start at once', async () => {
      const system = `urn:uuid:${randomUUID()}`;
      const sinks = Array.from({ length: 8 }, () => world().sink(mode, { system }));
      await expect(Promise.all(sinks.map((sink) => sink.probe?.()))).resolves.toHaveLength(8);
    });

    const REFUSED: [string, unknown, string][] = [
      ...[null, 7, 'x', [], {}, { resourceType: '../Patient' }, { resource: {} }].map(
        (operation): [string, unknown, string] => [JSON.stringify(operation), operation, 'invalid_operation'],
      ),
      ['tags that are none', observation({ meta: { tag: 'x' } }), 'invalid_operation'],
      ...['"1"', 'W/"', '*', 'W/"a"b"', 'W/"1"\r\nx: y'].map((ifMatch): [string, unknown, string] => [
        `the version ${JSON.stringify(ifMatch)}`,
        { resource: observation({ id: 'x' }), ifMatch },
        'invalid_operation',
      ]),
      ...['..', '.', '../x', 'a/b', '', 'a?b', 'x'.repeat(65)].map((id): [string, unknown, string] => [
        `the id ${JSON.stringify(id)}`,
        { resource: observation({ id }), ifMatch: 'W/"1"' },
        'invalid_operation',
      ]),
      ['a batch', { resourceType: 'Bundle', type: 'batch', entry: [] }, 'batch_not_supported'],
      ['no entries', { resourceType: 'Bundle', type: 'transaction', entry: [] }, 'transaction_without_entries'],
      [
        'an entry without a resource',
        patientAndObservation({ request: { method: 'POST', url: 'x' } }),
        'entry_invalid',
      ],
      ['an entry without a request', patientAndObservation({ resource: observation() }), 'entry_invalid'],
      ['an entry that is null', patientAndObservation(null as unknown as object), 'entry_invalid'],
      ...(
        [
          [{ method: 'POST', url: 'Patient' }, 'entry_invalid'],
          [{ method: 'POST', url: 'Observation', ifNoneExist: 'identifier=a|b' }, 'entry_conditional'],
          [{ method: 'POST', url: 'Observation', ifMatch: 'W/"1"' }, 'entry_neither_create_nor_update'],
          [{ method: 'PUT', url: 'Observation/x' }, 'entry_neither_create_nor_update'],
          [{ method: 'PUT', url: 'Observation/y', ifMatch: 'W/"1"' }, 'entry_invalid'],
          [{ method: 'PUT', url: 'Observation?identifier=a|b', ifMatch: 'W/"1"' }, 'entry_invalid'],
          [{ method: 'DELETE', url: 'Observation/x' }, 'entry_neither_create_nor_update'],
          [{ method: 'GET', url: 'Observation/x' }, 'entry_neither_create_nor_update'],
          [{ method: 'PATCH', url: 'Observation/x' }, 'entry_neither_create_nor_update'],
        ] as const
      ).map(([request, code]): [string, unknown, string] => [
        `an entry ${JSON.stringify(request)}`,
        patientAndObservation({ resource: observation({ id: 'x' }), request }),
        code,
      ]),
    ];
    test('what cannot be made safe to repeat is refused before anything is sent, and looks absent', async () => {
      for (const [name, operation, code] of REFUSED) {
        expect([name, await sendAndTell(behind(mode), itemFor(operation))]).toEqual([
          name,
          { outcome: 'refused', code },
        ]);
        expect([name, await look(behind(mode), itemFor(operation))]).toEqual([name, { state: 'absent' }]);
      }
      const disabled = world().sink(mode, { baseUrl: `${front.url}/fhir`, transactions: false });
      const code = 'transactions_not_enabled';
      expect(await sendAndTell(disabled, itemFor(patientAndObservation()))).toEqual({ outcome: 'refused', code });
      expect(front.requests).toEqual([]);
    });
  });

  test('put: the id is derived from the key; deleted stays committed, with the digest that its history tells', async () => {
    const sink = world().sink('put');
    const item = itemFor();
    const externalId = `Observation/${effectResourceId(item.idempotencyKey)}`;
    expect(await sink.dispatch(item, within())).toMatchObject({ externalId });
    expect((await world().ask('DELETE', externalId)).status).toBe(200);
    expect((await world().ask('GET', externalId)).status).toBe(410);
    const { operationDigest } = item;
    expect(await look(sink, item)).toEqual({ state: 'committed', operationDigest, externalId });
  });

  describe('conditional_create', () => {
    test('a deleted resource looks as if it had never been', async () => {
      const sink = world().sink('conditional_create');
      const item = itemFor();
      const { externalId } = (await sink.dispatch(item, within())) as { externalId: string };
      expect((await world().ask('DELETE', externalId)).status).toBe(200);
      expect(await look(sink, item)).toEqual({ state: 'absent' });
    });

    test('two matches are unknown, never the first', async () => {
      const sink = world().sink('conditional_create');
      const item = itemFor();
      const identifier = [{ system: KEYS, value: item.idempotencyKey }];
      await world().given(observation({ identifier }));
      await world().given(observation({ identifier }));
      expect(await look(sink, item)).toEqual({ state: 'unknown' });
      expect(await sendAndTell(sink, item)).toBe('several_matches');
    });

    test('every send and look-up of a key uses one frozen text, strictly, with GET and without a cache', async () => {
      const item = itemFor();
      const text = matchUrl(item.idempotencyKey, marksBelow(SYSTEM));
      await look(behind('conditional_create'), item);
      await race(
        Array.from({ length: 8 }, () => behind('conditional_create')),
        item,
      );
      await look(behind('conditional_create'), item);
      const sent = front.requests.filter(({ method }) => method === 'POST');
      const asked = front.requests.filter(({ method }) => method === 'GET');
      expect(new Set(sent.map(({ headers }) => headers['if-none-exist']))).toEqual(new Set([text]));
      expect(new Set(asked.map(({ path }) => path))).toEqual(new Set([`/fhir/Observation?${text}`]));
      for (const { headers } of asked) {
        expect(headers).toMatchObject({ prefer: 'handling=strict', 'cache-control': 'no-store' });
      }
      expect([sent.length, asked.length]).toEqual([8, 2]);
      expect(await world().rows(item.idempotencyKey)).toHaveLength(1);
    });

    test('the resource keeps its own identifiers and tags, and loses the id that the server must give', async () => {
      const own = {
        identifier: [{ system: 'urn:x', value: '1' }],
        meta: { tag: [{ system: 'urn:y', code: '2' }] },
        id: 'mine',
      };
      const item = itemFor(observation(own));
      const sent = await world().sink('conditional_create').dispatch(item, within());
      const { externalId } = sent as { externalId: string };
      expect(externalId).not.toContain('mine');
      const stored = await world().stored(externalId);
      expect(stored.identifier).toContainEqual(own.identifier[0]);
      expect(stored.meta.tag).toContainEqual(own.meta.tag[0]);
    });

    test('a type that has no list of identifiers is refused before anything is sent, alone or in a transaction', async () => {
      const refused = { outcome: 'refused', code: 'type_without_identifier_list' };
      const resource = { resourceType: 'Provenance' };
      const entry = { resource, request: { method: 'POST', url: 'Provenance' } };
      for (const operation of [resource, { resourceType: 'Bundle', type: 'document' }, patientAndObservation(entry)]) {
        expect(await sendAndTell(behind('conditional_create'), itemFor(operation))).toEqual(refused);
      }
      expect(await look(behind('conditional_create'), itemFor(resource))).toEqual({ state: 'absent' });
      expect(front.requests).toEqual([]);
    });
  });

  describe.each(MODES)('an update of what must not have moved (%s)', (mode) => {
    test('absent, then committed; a repeat is unknown, and the look-up knows', async () => {
      const sink = world().sink(mode);
      const { stored, ifMatch, at } = await world().given();
      const item = itemFor({ resource: { ...stored, status: 'amended' }, ifMatch });
      expect(await look(sink, item)).toEqual({ state: 'absent' });
      expect(await sink.dispatch(item, within())).toMatchObject({ outcome: 'accepted', externalId: at });
      expect(await sendAndTell(sink, item)).toBe('version_conflict');
      expect(await look(sink, item)).toMatchObject({ state: 'committed', externalId: at });
    });

    test('eight senders at once: one new version', async () => {
      const { stored, ifMatch, at } = await world().given();
      const item = itemFor({ resource: { ...stored, status: 'amended' }, ifMatch });
      await race(
        Array.from({ length: 8 }, () => world().sink(mode)),
        item,
      );
      expect(await look(world().sink(mode), item)).toMatchObject({ state: 'committed', externalId: at });
    });

    test('moved by somebody else: unknown, for the look-up and for the send', async () => {
      const sink = world().sink(mode);
      const { stored, ifMatch, at } = await world().given();
      await world().ask('PUT', at, { ...stored, status: 'corrected' });
      const item = itemFor({ resource: { ...stored, status: 'amended' }, ifMatch });
      expect(await look(sink, item)).toEqual({ state: 'unknown' });
      expect(await sendAndTell(sink, item)).toBe('version_conflict');
      expect(await world().stored(at)).toMatchObject({ status: 'corrected' });
    });

    test('an update by a second effect leaves the first one committed, and both are told apart', async () => {
      const sink = world().sink(mode);
      const created = itemFor();
      const { externalId } = (await sink.dispatch(created, within())) as { externalId: string };
      const stored = await world().stored(externalId);
      const ifMatch = `W/"${stored.meta.versionId}"`;
      const updated = itemFor({ resource: { ...stored, status: 'amended' }, ifMatch });
      expect(await look(sink, updated)).toEqual({ state: 'absent' });
      await sink.dispatch(updated, within());
      for (const { operationDigest, ...rest } of [created, updated]) {
        const found = await look(sink, { ...rest, operationDigest });
        expect(found).toMatchObject({ state: 'committed', operationDigest, externalId });
      }
    });
  });

  describe.each(MODES)('a transaction (%s)', (mode) => {
    test('is there whole and once, however often it is sent, and its references lead to its own entries', async () => {
      const sink = world().sink(mode);
      const item = itemFor(patientAndObservation());
      expect(await look(sink, item)).toEqual({ state: 'absent' });
      const first = await sink.dispatch(item, within());
      expect(first).toMatchObject({ outcome: 'accepted', externalId: expect.stringMatching(/^Patient\//) });
      const [[patient], [made]] = (await world().pair(item)) as unknown as [[Stored], [Stored]];
      const references = [`Patient/${patient.id}`, `Observation/${made.id}`];
      expect((await world().stored(references[1] as string)).subject?.reference).toBe(references[0]);
      expect(await sink.dispatch(item, within())).toMatchObject({ outcome: 'accepted', externalId: references[0] });
      expect(await look(sink, item)).toMatchObject({
        state: 'committed',
        operationDigest: item.operationDigest,
        externalId: references[0],
        result: { entries: references.map((reference) => ({ reference })) },
      });
      expect((await world().pair(item)).map((rows) => rows.length)).toEqual([1, 1]);
    });

    test('eight senders at once: each entry once', async () => {
      const sinks = Array.from({ length: 8 }, () => world().sink(mode));
      const item = itemFor(patientAndObservation());
      await race(sinks, item);
      expect((await world().pair(item)).map((rows) => rows.length)).toEqual([1, 1]);
      expect(await look(world().sink(mode), item)).toMatchObject({ state: 'committed' });
    });

    test('a part of it, or a part that another operation holds, is never taken for the whole', async () => {
      const sink = world().sink(mode);
      const item = itemFor(patientAndObservation());
      const { entry } = item.operation as { entry: { resource: object }[] };
      const [patient] = entry;
      await sink.dispatch(
        { ...item, idempotencyKey: `${item.idempotencyKey}.0`, operation: patient?.resource },
        within(),
      );
      expect(await look(sink, item)).toEqual({ state: 'unknown' });
      const other = digest();
      const stranger = { ...item, idempotencyKey: `${item.idempotencyKey}.1`, operationDigest: other };
      await sink.dispatch({ ...stranger, operation: observation() }, within());
      expect(await look(sink, item)).toMatchObject({ state: 'committed', operationDigest: other });
    });

    test('with a version that has moved it is not carried out at all', async () => {
      const sink = world().sink(mode);
      const { stored, ifMatch, at } = await world().given();
      const update = (over: object): object => ({
        resource: { ...stored, ...over },
        request: { method: 'PUT', url: at, ifMatch },
      });
      const item = itemFor(patientAndObservation(update({ status: 'amended' })));
      expect(await look(sink, item)).toEqual({ state: 'absent' });
      expect(await sink.dispatch(item, within())).toMatchObject({ outcome: 'accepted' });
      expect(await look(sink, item)).toMatchObject({ state: 'committed' });
      expect(await world().stored(at)).toMatchObject({ status: 'amended' });
      const late = itemFor(patientAndObservation(update({ status: 'corrected' })));
      expect(await sendAndTell(sink, late)).toBe('in_flight');
      expect((await world().pair(late)).map((rows) => rows.length)).toEqual([0, 0]);
      expect(await world().stored(at)).toMatchObject({ status: 'amended' });
    });
  });
}
