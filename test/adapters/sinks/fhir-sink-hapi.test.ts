/**
 * The FHIR sink against HAPI FHIR JPA, on PostgreSQL where one can be had: what `fhir-cases.ts` lists for every server, the kit, and
 * what this server is known for:
 *
 * - A send that was given up is looked for at once in vain and lands later: once, also when it was sent again meanwhile.
 * - A search that found nothing is repeated from a cache for a minute; a look-up neither reads that nor causes it.
 * - Who loses a race is answered 409, which is taken for unknown. Eight processes make one resource.
 * - A late original in put mode undoes a later edit, which is why that mode does not claim to enforce keys; conditionally created,
 *   it does not.
 * - A digest that was taken away is found in the history.
 * - What the server judges and refuses is refused, and nothing of it is kept.
 * - A whole visit is one transaction, once, with every reference resolved.
 * - A worker that is killed while its transaction is open leaves each effect there once.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fhirSink } from '../../../src/adapters/sinks';
import { marksBelow, matchUrl } from '../../../src/adapters/sinks/fhir-resource';
import { entryItem } from '../../../src/adapters/sinks/fhir-operation';
import type { SinkAnswer, SinkItem } from '../../../src/ports';
import { sinkConformance, type SinkFixture } from '../../../src/testing';
import { conforms, OF_KEYS } from '../../support/conformance';
import { useRig } from '../../support/rig';
import { describeWith } from '../../systems/available';
import { startHapi } from '../../systems/hapi';
import { fhirCases } from './fhir-cases';
import type { SenderOrder } from './fhir-sender';
import {
  FhirWorld,
  itemFor,
  look,
  type Mode,
  MODES,
  observation,
  patientAndObservation,
  type Stored,
  SYSTEM,
} from './fhir-world';
import { killedInSend } from './killed-worker';
import { sendAndTell, within } from './support';

const SENDERS = 8;
/** How long a transaction is held open: longer than a look-up and a lost connection take. */
const HOLD_MS = 1_500;
const holding = { 'x-hold-type': 'Observation', 'x-hold-ms': String(HOLD_MS) };

describeWith('HAPI FHIR', startHapi, (hapi) => {
  const world = new FhirWorld(hapi.baseUrl);
  fhirCases(() => world);

  /** Asks until the sink no longer says absent. */
  const landed = async (mode: Mode, item: SinkItem): Promise<SinkAnswer> => {
    for (;;) {
      const found = await look(world.sink(mode), item);
      if (found.state !== 'absent') return found;
    }
  };

  describe.each(MODES)('%s', (mode) => {
    test('given up while its transaction is open: absent at once, committed when it lands, once', async () => {
      const item = itemFor();
      const deadline = new AbortController();
      const open = hapi.holding();
      const sent = sendAndTell(world.sink(mode, { headers: holding }), item, deadline.signal);
      await open;
      deadline.abort();
      expect(await sent).toBe('deadline_passed');
      expect(await look(world.sink(mode), item)).toEqual({ state: 'absent' });
      expect(await landed(mode, item)).toMatchObject({ state: 'committed', operationDigest: item.operationDigest });
      expect(await sendAndTell(world.sink(mode), item)).toMatchObject({ outcome: 'accepted' });
      expect(await world.rows(item.idempotencyKey)).toHaveLength(1);
    });

    test('sent again while the first is still open: who loses is told nothing, and there is one', async () => {
      const item = itemFor();
      const open = hapi.holding();
      const first = sendAndTell(world.sink(mode, { headers: holding }), item);
      await open;
      const told = [await sendAndTell(world.sink(mode), item), await first];
      expect(told.filter((one) => one !== 'in_flight')).toMatchObject([{ outcome: 'accepted' }]);
      expect(await look(world.sink(mode), item)).toMatchObject({ state: 'committed' });
      expect(await world.rows(item.idempotencyKey)).toHaveLength(1);
    });

    test('given up after a few milliseconds, at any of them: what was once there stays, and a repeat makes no second', async () => {
      for (const ms of [0, 1, 2, 3, 5, 8, 13]) {
        const item = itemFor();
        await sendAndTell(world.sink(mode), item, AbortSignal.timeout(ms));
        const seen: string[] = [];
        for (let times = 0; times < 20; times += 1) seen.push((await look(world.sink(mode), item)).state);
        expect(seen.join(' ')).toMatch(/^(absent ?)*(committed ?)*$/);
        await sendAndTell(world.sink(mode), item);
        expect(await landed(mode, item)).toMatchObject({ state: 'committed', operationDigest: item.operationDigest });
        expect(await world.rows(item.idempotencyKey)).toHaveLength(1);
      }
    });

    test('a digest that was taken away is found in the history', async () => {
      const item = itemFor();
      const { externalId } = (await world.sink(mode).dispatch(item, within())) as { externalId: string };
      const edited = { ...(await world.stored(externalId)), status: 'amended', meta: {} };
      await world.ask('PUT', externalId, edited, { 'x-meta-snapshot-mode': 'TAG' }); // else it keeps what is left out
      expect((await world.stored(externalId)).meta.tag).toBeUndefined();
      expect(await look(world.sink(mode), item)).toMatchObject({
        state: 'committed',
        operationDigest: item.operationDigest,
        externalId,
      });
    });

    test('what the server judges is refused, and nothing is kept, of a transaction neither', async () => {
      const dangling = observation({ subject: { reference: 'Patient/none-such' } });
      const alone = itemFor(dangling);
      const refused = { outcome: 'refused', code: 'fhir_400' };
      expect(await sendAndTell(world.sink(mode), alone)).toEqual(refused);
      expect(await look(world.sink(mode), alone)).toEqual({ state: 'absent' });
      const request = { method: 'POST', url: 'Observation' };
      const among = itemFor(patientAndObservation({ resource: dangling, request }));
      expect(await sendAndTell(world.sink(mode), among)).toEqual(refused);
      expect(await look(world.sink(mode), among)).toEqual({ state: 'absent' });
      expect((await world.pair(among)).map((rows) => rows.length)).toEqual([0, 0]);
    });

    test('a whole visit is there once, and every reference in it is resolved', async () => {
      const visit = readFileSync(path.join(__dirname, 'data', 'visit-bundle.json'), 'utf8');
      const { entry } = JSON.parse(visit) as { entry: { resource: { resourceType: string } }[] };
      const item = itemFor(JSON.parse(visit));
      for (let times = 0; times < 2; times += 1) {
        expect(await world.sink(mode).dispatch(item, within())).toMatchObject({ outcome: 'accepted' });
      }
      expect(await look(world.sink(mode), item)).toMatchObject({ state: 'committed' });
      const rows = await Promise.all(
        entry.map(({ resource }, index) => world.rows(entryItem(item, index).idempotencyKey, resource.resourceType)),
      );
      expect(rows.map((found) => found.length)).toEqual(entry.map(() => 1));
      const references = JSON.stringify(rows).match(/"reference":"[^"]*"/g) ?? [];
      const known = rows.flat().map(({ resourceType, id }) => `"reference":"${resourceType}/${id}"`);
      expect(references.length).toBeGreaterThan(entry.length);
      expect(references.filter((reference) => !known.includes(reference))).toEqual([]);
    });
  });

  test('a search that found nothing is repeated from a cache; a look-up neither reads that nor causes it', async () => {
    const sink = world.sink('conditional_create');
    const search = async (item: SinkItem): Promise<number> => {
      const found = await world.ask('GET', `Observation?${matchUrl(item.idempotencyKey, marksBelow(SYSTEM))}`);
      return ((await found.json()) as { total: number }).total;
    };
    const poisoned = itemFor();
    expect(await search(poisoned)).toBe(0);
    await sink.dispatch(poisoned, within());
    expect(await search(poisoned)).toBe(0);
    expect(await look(sink, poisoned)).toMatchObject({ state: 'committed' });
    const clean = itemFor();
    expect(await look(sink, clean)).toEqual({ state: 'absent' });
    await sink.dispatch(clean, within());
    expect(await search(clean)).toBe(1);
  });

  test('a late original undoes a later edit in put mode, and none where it is created conditionally', async () => {
    const after = async (mode: Mode): Promise<unknown> => {
      const item = itemFor();
      const { externalId } = (await world.sink(mode).dispatch(item, within())) as { externalId: string };
      await world.ask('PUT', externalId, { ...(await world.stored(externalId)), status: 'amended' });
      await sendAndTell(world.sink(mode), item);
      return ((await world.stored(externalId)) as Stored & { status: string }).status;
    };
    expect(await after('put')).toBe('final');
    expect(await after('conditional_create')).toBe('amended');
  });

  describe('eight processes', () => {
    let senders: ChildProcess[];
    beforeAll(async () => {
      const program = path.join(__dirname, 'fhir-sender.ts');
      const how = { execArgv: ['--require', 'tsx/cjs'] };
      senders = Array.from({ length: SENDERS }, () => fork(program, [hapi.baseUrl], how));
      await Promise.all(senders.map((sender) => once(sender, 'message')));
    });
    afterAll(() => senders.forEach((sender) => sender.disconnect()));

    test.each(MODES)('make one resource and one transaction (%s)', async (mode) => {
      const race = async (item: SinkItem): Promise<unknown[]> => {
        const answers = senders.map(async (sender) => ((await once(sender, 'message')) as [unknown])[0]);
        for (const sender of senders) sender.send({ mode, item } satisfies SenderOrder);
        return Promise.all(answers);
      };
      for (const item of [itemFor(), itemFor(), itemFor(patientAndObservation())]) {
        const told = (await race(item)).map((one) =>
          typeof one === 'string' ? one : (one as { outcome: string }).outcome,
        );
        expect(told.filter((one) => one !== 'accepted' && one !== 'in_flight')).toEqual([]);
        expect(told).toContain('accepted');
        expect(await look(world.sink(mode), item)).toMatchObject({ state: 'committed' });
        const rows = [await world.rows(item.idempotencyKey), ...(await world.pair(item))].flat();
        expect(rows).toHaveLength((item.operation as Stored).resourceType === 'Bundle' ? 2 : 1);
      }
    });
  });

  describe.each(MODES)('the kit, %s', (mode) => {
    const content = (text: string): object => observation({ code: { text } });
    const conditional = mode === 'conditional_create';
    const fixture: SinkFixture = {
      patienceMs: 1_000,
      marginMs: 5_000,
      target: { url: hapi.baseUrl },
      operation: content,
      refused: (text) => ({ ...content(text), subject: { reference: 'Patient/none-such' } }),
      writes: async ({ idempotencyKey }) => (await world.rows(idempotencyKey)).length,
      ...(conditional
        ? {
            duplicate: async ({ idempotencyKey }) => {
              const [first] = await world.rows(idempotencyKey);
              await world.given({ ...first, id: undefined });
            },
            forget: async ({ idempotencyKey }) => {
              for (const { id } of await world.rows(idempotencyKey)) await world.ask('DELETE', `Observation/${id}`);
            },
          }
        : {}),
    };
    conforms(
      sinkConformance(({ url }) => world.sink(mode, { baseUrl: url, deadlineMs: 5_000, settleMs: 2_000 }), fixture),
      conditional
        ? {}
        : {
            ...OF_KEYS,
            ignored_filter: /filters by nothing/,
            duplicate_rows: /no second write can be made/,
            expired_key: /cannot be aged/,
          },
    );
  });

  describe('governed plans', () => {
    const rig = useRig();
    test.each([
      { mode: 'put', shape: 'resource' },
      { mode: 'conditional_create', shape: 'transaction' },
    ] as const)('killed while its transaction is open: a $shape is there once ($mode)', async ({ mode, shape }) => {
      const name = randomUUID();
      const visible = async (): Promise<number> => {
        const found = await world.ask('GET', `Observation?identifier=urn:test%7C${name}`);
        return ((await found.json()) as { total: number }).total;
      };
      const resource = observation({ identifier: [{ system: 'urn:test', value: name }] });
      const entry = { resource, request: { method: 'POST', url: 'Observation' } };
      const operation =
        shape === 'resource' ? resource : { resourceType: 'Bundle', type: 'transaction', entry: [entry] };
      const options = {
        ...{ name: 'fhir', baseUrl: hapi.baseUrl, mode, system: SYSTEM, transactions: true },
        ...{ deadlineMs: 3_000, settleMs: 1_000, headers: holding },
      };
      const { headers: _held, ...free } = options;
      const handle = await killedInSend(rig, { sink: 'fhir', options }, operation, hapi.holding(), fhirSink(free));
      expect((await handle.result()).status).toBe('completed');
      expect(await visible()).toBe(1);
    });
  });
});
