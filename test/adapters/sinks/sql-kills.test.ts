/**
 * One OMOP batch on a real PostgreSQL server, sent by real processes that are killed, stopped, cut off and raced, message by
 * message. What holds wherever they are struck:
 *
 * - a batch is there whole or not at all, and as often as its ledger row: once or never;
 * - a look-up never says absent while a transaction is open that may still commit, and says so once it is gone;
 * - after the end of a struck sender, the same batch can be sent again to the same end;
 * - of many senders with one key, one writes;
 * - the server itself ends what a stopped sender left behind, at that sender's deadline.
 */
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { EffectSink, SinkItem } from '../../../src/ports';
import { describeWith } from '../../systems/available';
import { startPostgres } from '../../systems/postgres';
import { batchOf, CDM, makeOmopDatabase, type OmopDatabase } from './omop-database';
import { startPgProxy, type HeldMessage, type PgProxy } from './pg-proxy';
import { type Sender, sinkOf, startSender } from './sql-sender';
import { makeItem, within } from './support';

const PERSONS = 100;
const MEASUREMENTS = 5_000;
const WHOLE = [1, PERSONS, MEASUREMENTS];
const NOTHING = [0, 0, 0];

describeWith(
  'OMOP batches of struck senders',
  () => startPostgres(),
  (server) => {
    let place: OmopDatabase;
    let sink: EffectSink;
    let proxy: PgProxy;
    const senders: Sender[] = [];

    beforeAll(async () => {
      place = await makeOmopDatabase(server);
      sink = sinkOf({ connection: place.connection, omopSchema: CDM, deadlineMs: 20_000 });
      proxy = await startPgProxy(server.port);
      return () => proxy.close();
    });
    afterEach(async () => {
      await Promise.all(senders.splice(0).map((sender) => sender.kill()));
      await server.query(place.database, `TRUNCATE countersign.effect, ${CDM}.person, ${CDM}.measurement CASCADE`);
    });

    const sender = async (item: SinkItem, over: { direct?: boolean; deadlineMs?: number } = {}): Promise<Sender> => {
      const { direct = false, deadlineMs = 20_000 } = over;
      const connection = { ...place.connection, ...(direct ? {} : { port: proxy.port }) };
      const started = await startSender({ connection, omopSchema: CDM, deadlineMs, item });
      senders.push(started);
      return started;
    };
    const lookUp = async (item: SinkItem): Promise<string> => String((await sink.observe([item], within()))[0]?.state);
    /** Until the server has noticed that a client is gone. */
    const settled = async (item: SinkItem): Promise<string> => {
      for (;;) {
        const state = await lookUp(item);
        if (state !== 'in_flight') return state;
      }
    };
    const counts = (): Promise<number[]> =>
      Promise.all(['countersign.effect', `${CDM}.person`, `${CDM}.measurement`].map((table) => place.count(table)));
    const sendAgain = async (item: SinkItem): Promise<void> => {
      expect(await sink.dispatch(item, within())).toMatchObject({
        outcome: 'accepted',
        result: { row_counts: { person: PERSONS, measurement: MEASUREMENTS } },
      });
      expect(await lookUp(item)).toBe('committed');
      expect(await counts()).toEqual(WHOLE);
    };

    it.each([
      ['before its transaction', 'BEGIN ', 'absent'],
      ['before the ledger', 'INSERT INTO "countersign".effect (', 'in_flight'],
      ['after the ledger', `INSERT INTO "${CDM}"."person"`, 'in_flight'],
      ['after the persons', `INSERT INTO "${CDM}"."measurement"`, 'in_flight'],
      ['after the measurements', 'INSERT INTO "countersign".effect_outcome', 'in_flight'],
      ['before its COMMIT', 'COMMIT', 'in_flight'],
    ])('killed by SIGKILL %s', async (_name, message, meanwhile) => {
      const item = makeItem(batchOf(PERSONS, MEASUREMENTS));
      const held = proxy.held(message);
      const struck = await sender(item);
      struck.go();
      const there = await held;
      expect(await lookUp(item)).toBe(meanwhile);
      await struck.kill();
      there.drop();
      expect(await settled(item)).toBe('absent');
      expect(await counts()).toEqual(NOTHING);
      await sendAgain(item);
      await sendAgain(item);
    });

    it('killed by SIGKILL after its COMMIT', async () => {
      const item = makeItem(batchOf(PERSONS, MEASUREMENTS));
      const held = proxy.held('COMMIT');
      const struck = await sender(item);
      struck.go();
      const answered = (await held).passAndKeepAnswer();
      await answered;
      await struck.kill();
      expect(await lookUp(item)).toBe('committed');
      await sendAgain(item);
    });

    it('not answered to its COMMIT: unknown to the sender, known to a look-up', async () => {
      const item = makeItem(batchOf(PERSONS, MEASUREMENTS));
      const held = proxy.held('COMMIT');
      const cutOff = await sender(item);
      cutOff.go();
      await (await held).passAndKeepAnswer();
      expect(await cutOff.outcome).toBe('connection_lost');
      expect(await lookUp(item)).toBe('committed');
      await sendAgain(item);
    });

    it.each(['BEGIN ', `INSERT INTO "${CDM}"."measurement"`, 'INSERT INTO "countersign".effect_outcome'])(
      'cut off at %s: proven not sent',
      async (message) => {
        const item = makeItem(batchOf(PERSONS, MEASUREMENTS));
        const held = proxy.held(message);
        const cutOff = await sender(item);
        cutOff.go();
        (await held).drop();
        expect(await cutOff.outcome).toMatchObject({ outcome: 'not_sent' });
        expect(await settled(item)).toBe('absent');
        expect(await counts()).toEqual(NOTHING);
        await sendAgain(item);
      },
    );

    it('killed with its COMMIT still on the way, which comes later: never absent in between', async () => {
      const item = makeItem(batchOf(PERSONS, MEASUREMENTS));
      const held = proxy.held('COMMIT');
      const struck = await sender(item);
      struck.go();
      const late: HeldMessage = await held;
      await struck.kill();
      const until = performance.now() + 3_000;
      while (performance.now() < until) expect(await lookUp(item)).toBe('in_flight');
      late.pass();
      expect(await settled(item)).toBe('committed');
      await sendAgain(item);
    });

    it('stopped by SIGSTOP in its transaction: ended by the server at its deadline, and not sent when it wakes', async () => {
      const item = makeItem(batchOf(PERSONS, MEASUREMENTS));
      const held = proxy.held(`INSERT INTO "${CDM}"."measurement"`);
      const stopped = await sender(item, { deadlineMs: 3_000 });
      stopped.go();
      const there = await held;
      stopped.child.kill('SIGSTOP');
      there.pass();
      expect(await lookUp(item)).toBe('in_flight');
      expect(await settled(item)).toBe('absent');
      expect(await counts()).toEqual(NOTHING);
      await sendAgain(item);
      stopped.child.kill('SIGCONT');
      expect(await stopped.outcome).toMatchObject({ outcome: 'not_sent' });
      expect(await counts()).toEqual(WHOLE);
    });

    it('stopped by SIGSTOP before its transaction, awake after another has sent: writes nothing', async () => {
      const item = makeItem(batchOf(PERSONS, MEASUREMENTS));
      const held = proxy.held('BEGIN ');
      const asleep = await sender(item);
      asleep.go();
      const there = await held;
      expect(await lookUp(item)).toBe('absent'); // nobody can see it, and it can do no harm
      await sendAgain(item);
      there.pass();
      expect(await asleep.outcome).toMatchObject({ outcome: 'accepted' });
      expect(await counts()).toEqual(WHOLE);
    });

    it('8 processes with one key at once: one writes, all say what it wrote', async () => {
      const item = makeItem(batchOf(PERSONS, MEASUREMENTS));
      const racers = await Promise.all(Array.from({ length: 8 }, () => sender(item, { direct: true })));
      for (const racer of racers) racer.go();
      const outcomes = await Promise.all(racers.map(({ outcome }) => outcome));
      const result = { batch_id: null, row_counts: { person: PERSONS, measurement: MEASUREMENTS } };
      expect(outcomes).toEqual(racers.map(() => ({ outcome: 'accepted', externalId: null, result })));
      expect(await counts()).toEqual(WHOLE);
    });

    it('8 processes with one key and another operation each: one writes, the others say that the key is taken', async () => {
      const racers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          sender(
            makeItem(batchOf(PERSONS, MEASUREMENTS, 1 + index * 10_000), {
              idempotencyKey: 'contested',
              operationDigest: String(index).repeat(64),
            }),
            { direct: true },
          ),
        ),
      );
      for (const racer of racers) racer.go();
      const outcomes = await Promise.all(racers.map(({ outcome }) => outcome));
      expect(outcomes.filter((outcome) => outcome === 'key_reused')).toHaveLength(7);
      expect(await counts()).toEqual(WHOLE);
    });
  },
);
