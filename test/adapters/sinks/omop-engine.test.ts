/**
 * OMOP batches in governed plans, on a real Temporal server and a real PostgreSQL server.
 *
 * - A worker that is killed in the middle of its transaction, before or after its COMMIT, leaves a plan that ends by itself with
 *   one batch; also when the COMMIT of the dead worker arrives later than the next worker.
 * - While the database is down, a plan waits, and goes on when it is back.
 * - A batch that the database refuses ends its plan, and leaves nothing.
 */
import { beforeAll, expect, it } from 'vitest';
import { omopSink, type OmopSinkOptions } from '../../../src/adapters/sinks';
import { failureOf, useRig } from '../../support/rig';
import { describeWith } from '../../systems/available';
import { startPostgres } from '../../systems/postgres';
import { killedInSend, startWith, workWith } from './killed-worker';
import { batchOf, CDM, makeOmopDatabase, type OmopDatabase } from './omop-database';
import { type HeldMessage, type PgProxy, startPgProxy } from './pg-proxy';

const PERSONS = 10;
const MEASUREMENTS = 2_500;

describeWith(
  'OMOP batches in plans',
  () => startPostgres(),
  (server) => {
    const rig = useRig();
    let place: OmopDatabase;
    let proxy: PgProxy;
    let first = 1;

    beforeAll(async () => {
      place = await makeOmopDatabase(server);
      proxy = await startPgProxy(server.port);
      return () => proxy.close();
    });

    const options = (port = server.port): OmopSinkOptions => ({
      ...{ name: 'cdm', connection: { ...place.connection, port }, schema: CDM },
      ...{ deadlineMs: 120_000, settleMs: 500 },
    });
    const orders = (): { sink: 'omop'; options: OmopSinkOptions } => ({ sink: 'omop', options: options(proxy.port) });
    const batch = (): unknown => batchOf(PERSONS, MEASUREMENTS, (first += 10_000));
    /** Of the latest batch. */
    const written = async (): Promise<readonly unknown[]> =>
      server.query(
        place.database,
        `SELECT (SELECT count(*)::int FROM ${CDM}.person WHERE person_id >= ${first}) AS persons,
           (SELECT count(*)::int FROM ${CDM}.measurement WHERE measurement_id >= ${first}) AS measurements,
           (SELECT count(*)::int FROM countersign.effect WHERE idempotency_key <> 'self-test') AS effects`,
      );
    /** The COMMIT of a batch; the self-test has some of its own. */
    const ITS_COMMIT = ['COMMIT', `INSERT INTO "${CDM}"."measurement"`] as const;
    const once = (effects: number): unknown[] => [{ persons: PERSONS, measurements: MEASUREMENTS, effects }];
    let effects = 0;

    it.each<[string, readonly [string, string?], (held: HeldMessage) => Promise<void> | void]>([
      ['before the measurements', [`INSERT INTO "${CDM}"."measurement"`], (held) => held.drop()],
      ['after its COMMIT, not answered', ITS_COMMIT, (held) => held.passAndKeepAnswer()],
    ])('killed %s: one batch', async (_name, message, then) => {
      const moment = proxy.held(...message).then(then);
      const handle = await killedInSend(rig, orders(), batch(), moment, omopSink(options()));
      expect((await handle.result()).status).toBe('completed');
      expect(await written()).toEqual(once((effects += 1)));
    });

    it('killed with its COMMIT on the way, which arrives when another worker already asks: one batch', async () => {
      const moment = proxy.held(...ITS_COMMIT);
      const handle = await killedInSend(rig, orders(), batch(), moment, omopSink(options()));
      await rig.until(handle, ({ state }) => state === 'waiting');
      (await moment).pass();
      expect((await handle.result()).status).toBe('completed');
      expect(await written()).toEqual(once((effects += 1)));
    });

    it('started while the database is down: sent when it is back', async () => {
      await workWith(rig, omopSink(options()));
      expect((await (await startWith(rig, batch(), 'omop_batch')).result()).status).toBe('completed');
      effects += 1;
      await server.kill();
      const handle = await startWith(rig, batch(), 'omop_batch');
      await rig.until(handle, ({ state }) => state === 'waiting');
      await server.start();
      expect((await handle.result()).status).toBe('completed');
      expect(await written()).toEqual(once((effects += 1)));
    });

    it('refused: the plan ends, with the code and nothing else', async () => {
      await workWith(rig, omopSink(options()));
      const same = batchOf(PERSONS, MEASUREMENTS, first);
      const failure = await failureOf((await startWith(rig, same, 'omop_batch')).result());
      expect(failure).toMatchObject({ type: 'EffectRejected', details: [{ code: '23505' }] });
      expect(await written()).toEqual(once(effects));
    });
  },
);
