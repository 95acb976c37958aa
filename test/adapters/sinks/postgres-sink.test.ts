/**
 * The PostgreSQL sink, against a real server and a real standby of it.
 *
 * - What statements write and what the ledger says are one: an effect is accepted with its rows, refused or not sent without them.
 * - Every SQLSTATE has its one meaning; what is in no table is thrown.
 * - A key is used once: the same effect is answered as before, another one is `key_reused`.
 * - A prepared transaction that was left behind is in flight until somebody resolves it.
 * - A replica, a server without the ledger and a role without its rights are refused by look-up and self-test.
 * - A statement that ends the transaction is noticed, and the ledger still says what became of the effect.
 * - A value is only ever a parameter, and one text one statement.
 * - A session holds for one transaction what it needs, whatever the role's defaults are.
 * - A role needs SELECT and INSERT on the ledger, and nothing else.
 * - No error tells what an operation holds or what the server says of it.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { Client } from 'pg';
import {
  migratePostgresSink,
  postgresLedgerDdl,
  postgresSink,
  type PostgresSinkOptions,
  type PostgresStatement,
} from '../../../src/adapters/sinks';
import type { EffectSink, SinkItem } from '../../../src/ports';
import { describeWith } from '../../systems/available';
import { startPostgres, type PostgresServer } from '../../systems/postgres';
import { codeOf, makeItem, SECRET, sendAndTell, within } from './support';

type Over = Partial<PostgresSinkOptions> & {
  readonly database?: string;
  readonly user?: string;
  readonly at?: PostgresServer;
};

const insert = (id: number, note: string = SECRET): PostgresStatement => ({
  text: 'INSERT INTO orders (id, note) VALUES ($1, $2) RETURNING id, note, placed_on, total, big',
  values: [id, note],
});

describeWith(
  'PostgreSQL sink',
  () => startPostgres({ settings: { max_prepared_transactions: 5 } }),
  (server) => {
    let database: string;
    let ids = 0;
    const freshId = (): number => (ids += 1);
    const query = (text: string): Promise<readonly Record<string, unknown>[]> => server.query(database, text);
    const rows = async (id: number): Promise<number> =>
      Number((await query(`SELECT count(*) AS n FROM orders WHERE id = ${id}`))[0]?.['n']);
    const claims = async ({ idempotencyKey }: SinkItem): Promise<number> =>
      Number(
        (await query(`SELECT count(*) AS n FROM countersign.effect WHERE idempotency_key = '${idempotencyKey}'`))[0]?.[
          'n'
        ],
      );

    const made = new Map<string, EffectSink>();
    /** Its operations are the statements themselves. The same one each time, so that few sessions are open. */
    function sink(over: Over = {}): EffectSink {
      const name = JSON.stringify([over.at?.port, { ...over, at: 0 }]);
      const known = made.get(name) ?? newSink(over);
      made.set(name, known);
      return known;
    }
    function newSink({ at = server, user = at.owner, ...over }: Over = {}): EffectSink {
      const { host, port } = at;
      return postgresSink({
        name: 'orders',
        connection: { host, port, user, database: over.database ?? database },
        statements: (operation) => operation as PostgresStatement,
        deadlineMs: 5_000,
        ...over,
      });
    }
    const state = async (of: EffectSink, item: SinkItem): Promise<string> => {
      try {
        return String((await of.observe([item], within()))[0]?.state);
      } catch (fault) {
        return codeOf(fault);
      }
    };
    const probe = (of: EffectSink): Promise<string> =>
      of.probe?.().then(
        () => 'kept',
        (fault: Error) => `${codeOf(fault)} ${fault.message}`,
      ) ?? Promise.resolve('none');

    beforeAll(async () => {
      database = await server.makeDatabase();
      await query(`
        CREATE TABLE orders (id int PRIMARY KEY, note text NOT NULL CHECK (note <> 'bad'), placed_on date DEFAULT '2026-01-02',
          total numeric DEFAULT 12.50, big bigint DEFAULT 9007199254740993, data jsonb DEFAULT '{"a": [1.5]}', paid boolean DEFAULT true);
        CREATE TABLE lines (order_id int REFERENCES orders DEFERRABLE INITIALLY DEFERRED, n int);
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no % here', NEW.note; END $$;
        CREATE TABLE guarded (note text); CREATE TRIGGER guard BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION refuse();
        CREATE ROLE sender LOGIN; CREATE ROLE stranger LOGIN; CREATE ROLE loose LOGIN;
        ALTER ROLE loose SET synchronous_commit = off; ALTER ROLE loose SET default_transaction_isolation = 'serializable';
        CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on;
        GRANT SELECT, INSERT, UPDATE ON orders, lines TO sender, loose`);
      const { host, port, owner: user } = server;
      const connection = { host, port, user, database };
      await Promise.all([1, 2, 3].map(() => migratePostgresSink({ connection, role: 'sender' })));
      for (const role of ['loose', 'reader']) await migratePostgresSink({ connection: server.address(database), role });
    });

    describe('what is accepted', () => {
      it('is there with its ledger row, and told as before when sent again', async () => {
        const id = freshId();
        const of = sink({ externalId: 'id', result: ['id', 'placed_on', 'total', 'big'] });
        const item = makeItem(insert(id));
        const result = { id, placed_on: '2026-01-02', total: '12.50', big: '9007199254740993' };
        const accepted = { outcome: 'accepted', externalId: String(id), result };
        expect(await state(of, item)).toBe('absent');
        expect(await of.dispatch(item, within())).toEqual(accepted);
        expect(await of.dispatch(item, within())).toEqual(accepted);
        expect(await of.observe([item, makeItem(0)], within())).toEqual([
          { state: 'committed', operationDigest: item.operationDigest, externalId: String(id), result },
          { state: 'absent' },
        ]);
        expect([await rows(id), await claims(item)]).toEqual([1, 1]);
      });

      it('takes several statements together, with values of every kind', async () => {
        const id = freshId();
        const statements: PostgresStatement[] = [
          insert(id, `'; DROP TABLE orders; -- ${SECRET}`),
          { text: 'INSERT INTO lines SELECT $1, n FROM unnest($2::int[]) AS n', values: [id, [1, 2, 3]], rows: 3 },
          {
            text: `UPDATE orders SET total = $1, big = $2, paid = $3, note = note || encode($4, 'hex') WHERE id = $5 RETURNING data, paid`,
            values: [1.25, 2n ** 62n, false, new Uint8Array([1, 255]), id],
            rows: 1,
          },
        ];
        const item = makeItem(statements);
        const sent = await sink({ result: ['data', 'paid'] }).dispatch(item, within());
        expect(sent).toEqual({ outcome: 'accepted', externalId: null, result: { data: { a: [1.5] }, paid: false } });
        expect(
          await query(
            `SELECT o.note, o.big, sum(l.n) AS n FROM orders o JOIN lines l ON l.order_id = o.id WHERE o.id = ${id} GROUP BY o.id`,
          ),
        ).toEqual([{ note: `'; DROP TABLE orders; -- ${SECRET}01ff`, big: String(2n ** 62n), n: '6' }]);
        const counted = await query(
          `SELECT row_counts FROM countersign.effect_outcome WHERE idempotency_key = '${item.idempotencyKey}'`,
        );
        expect(counted).toEqual([{ row_counts: { statement_1: 1, statement_2: 3, statement_3: 1 } }]);
      });

      it('does not use a key for another operation', async () => {
        const id = freshId();
        const item = makeItem(insert(id));
        expect(await sendAndTell(sink(), item)).toMatchObject({ outcome: 'accepted' });
        const another = { ...item, operation: insert(freshId()), operationDigest: 'b'.repeat(64) };
        expect(await sendAndTell(sink(), another)).toBe('key_reused');
        expect(await rows(ids)).toBe(0);
      });
    });

    describe('what is not', () => {
      const refused = (code: string): object => ({ outcome: 'refused', code });
      const again = { outcome: 'not_sent', retryAfterMs: expect.any(Number) as number };
      const RAISE = (state: string): PostgresStatement => ({
        text: `DO $$ BEGIN RAISE EXCEPTION '${SECRET}' USING ERRCODE = '${state}'; END $$`,
      });
      it.each<[string, unknown, object | string]>([
        ['a unique key that is taken', [insert(9_001), insert(9_001)], refused('23505')],
        ['a null where there must be none', { ...insert(9_002), values: [9_002, null] }, refused('23502')],
        ['a check', insert(9_003, 'bad'), refused('23514')],
        [
          'a reference, seen at the COMMIT',
          { text: 'INSERT INTO lines VALUES ($1, 1)', values: [9_004] },
          refused('23503'),
        ],
        ['a number that is none', { ...insert(9_005), values: [SECRET, 'x'] }, refused('22P02')],
        ['a number too large', { ...insert(9_006), values: [2 ** 40, 'x'] }, refused('22003')],
        ['a character that no text can hold', insert(9_007, 'a\0b'), refused('22021')],
        ['a trigger that says no', { text: 'INSERT INTO guarded VALUES ($1)', values: [SECRET] }, refused('P0001')],
        ['too few rows', { text: 'UPDATE orders SET total = 1 WHERE id = -1', rows: 1 }, refused('row_count')],
        ['too many rows', { text: 'SELECT generate_series(1, 3)', rows: 1 }, refused('row_count')],
        ['no statement', [], refused('invalid_operation')],
        ['a value that is no parameter', { text: 'SELECT $1', values: [{ a: 1 }] }, refused('invalid_operation')],
        ['an operation that is something else', SECRET, refused('invalid_operation')],
        ['a serialization failure', RAISE('40001'), again],
        ['a deadlock', RAISE('40P01'), again],
        ['a lock that is not to be had', RAISE('55P03'), again],
        ['a full disk', RAISE('53100'), again],
        ['a read-only server', RAISE('25006'), again],
        ['a cancelled statement', RAISE('57014'), again],
        ['a table that is not there', { text: 'INSERT INTO nowhere VALUES (1)' }, 'statement_failed'],
        ['a text that is no SQL', { text: `SELEC ${SECRET}` }, 'statement_failed'],
        ['two statements in one text', { text: 'INSERT INTO orders VALUES (9008); COMMIT' }, 'statement_failed'],
        ['a broken promise of the server', RAISE('XX000'), 'statement_failed'],
      ])('%s', async (_name, operation, expected) => {
        const item = makeItem(operation);
        expect(await sendAndTell(sink(), item)).toEqual(expected);
        expect(await state(sink(), item)).toBe('absent');
        expect(await query('SELECT id FROM orders WHERE id > 9000')).toEqual([]);
      });

      it('a result that is not there', async () => {
        const item = makeItem({ text: 'UPDATE orders SET total = 1 WHERE id = -1 RETURNING id' });
        expect(await sendAndTell(sink({ result: ['id'] }), item)).toEqual(refused('no_row'));
        expect(await claims(item)).toBe(0);
      });

      it('anything without a server', async () => {
        const of = postgresSink({
          name: 'nobody',
          connection: { host: '127.0.0.1', port: 1, database: 'x', user: 'x', password: SECRET },
          statements: () => insert(1),
        });
        expect(await sendAndTell(of, makeItem(1))).toMatchObject({ outcome: 'not_sent' });
        expect(await state(of, makeItem(1))).toBe('not_reachable');
      });

      it('a call that is given up: its session is cut, and the server rolls back', async () => {
        const id = freshId();
        const item = makeItem([insert(id), { text: 'SELECT pg_sleep(30)' }]);
        const stop = new AbortController();
        const of = sink({ deadlineMs: 2_000 });
        const sending = of.dispatch(item, { signal: stop.signal, deadlineMs: 2_000 });
        while ((await state(sink(), item)) !== 'in_flight');
        stop.abort();
        expect(await sending).toMatchObject({ outcome: 'not_sent' });
        while ((await state(sink(), item)) === 'in_flight');
        expect([await state(sink(), item), await rows(id)]).toEqual(['absent', 0]);
      });
    });

    it('two serializable effects that exclude each other: one is accepted, the other goes through later', async () => {
      const base = freshId();
      await query(`INSERT INTO orders (id, note, total) VALUES (${base}, 'base', 1)`);
      const add = (id: number): PostgresStatement[] => [
        { text: 'SELECT pg_sleep(0.2), sum(total) FROM orders' },
        { text: 'INSERT INTO orders (id, note, total) SELECT $1, $2, sum(total) FROM orders', values: [id, 'sum'] },
      ];
      const items = [makeItem(add(freshId())), makeItem(add(freshId()))];
      const of = sink({ isolation: 'serializable' });
      const sent = await Promise.all(items.map((item) => sendAndTell(of, item)));
      expect(sent.map((one) => (one as { outcome: string }).outcome).sort()).toEqual(['accepted', 'not_sent']);
      const late = items[sent.findIndex((one) => (one as { outcome: string }).outcome === 'not_sent')] as SinkItem;
      expect(await state(of, late)).toBe('absent');
      expect(await sendAndTell(of, late)).toMatchObject({ outcome: 'accepted' });
    });

    it.each(['COMMIT PREPARED', 'ROLLBACK PREPARED'])(
      'a transaction left prepared is in flight until %s',
      async (resolved) => {
        const id = freshId();
        const item = makeItem([insert(id), { text: `PREPARE TRANSACTION 'left behind'` }]);
        expect(await sendAndTell(sink(), item)).toBe('transaction_ended');
        expect(await state(sink(), item)).toBe('in_flight');
        expect(await sendAndTell(sink(), { ...item, operation: insert(id) }, AbortSignal.timeout(1_000))).toMatchObject(
          { outcome: 'not_sent' },
        );
        await query(`${resolved} 'left behind'`);
        const committed = resolved === 'COMMIT PREPARED';
        expect([await state(sink(), item), await rows(id)]).toEqual(committed ? ['committed', 1] : ['absent', 0]);
      },
    );

    it.each([
      ['COMMIT', 1],
      ['COMMIT AND CHAIN', 1],
      ['ROLLBACK', 0],
    ])('a tool that says %s is noticed, and the ledger is right', async (word, times) => {
      const id = freshId();
      const item = makeItem([insert(id), { text: word }, insert(freshId())]);
      expect(await sendAndTell(sink(), item)).toBe('transaction_ended');
      while ((await state(sink(), item)) === 'in_flight');
      expect([await state(sink(), item), await rows(id), await rows(ids), await claims(item)]).toEqual([
        times ? 'committed' : 'absent',
        times,
        0,
        times,
      ]);
    });

    it('asks a whole plan at once, beside other look-ups', async () => {
      const of = sink();
      const items = Array.from({ length: 250 }, () => makeItem(insert(freshId())));
      await Promise.all(items.slice(100, 110).map((item) => of.dispatch(item, within())));
      const looks = await Promise.all([1, 2, 3, 4].map(() => of.observe(items, within())));
      for (const answers of looks) {
        expect(answers.map((answer) => answer.state)).toEqual(
          items.map((_, at) => (at >= 100 && at < 110 ? 'committed' : 'absent')),
        );
      }
    });

    describe('who may send', () => {
      it('a role with SELECT and INSERT on the ledger: the self-test is kept, and nothing can be changed', async () => {
        const of = sink({ user: 'sender' });
        expect([await probe(of), await probe(of)]).toEqual(['kept', 'kept']);
        const item = makeItem(insert(freshId()));
        expect(await sendAndTell(of, item)).toMatchObject({ outcome: 'accepted' });
        const role = new Client({ connectionString: server.address(database, 'sender') });
        await role.connect();
        for (const change of [
          'UPDATE countersign.effect SET operation_digest = $$x$$',
          'DELETE FROM countersign.effect_outcome',
          'TRUNCATE countersign.effect CASCADE',
        ]) {
          await expect(role.query(change)).rejects.toMatchObject({ code: '42501' });
        }
        await role.end();
      });

      it('a role with careless defaults: commits are durable, and look-ups see them', async () => {
        const of = sink({ user: 'loose', result: ['synchronous_commit', 'isolation'] });
        expect(await probe(of)).toBe('kept');
        const item = makeItem({
          text: `SELECT current_setting('synchronous_commit') AS synchronous_commit, current_setting('transaction_isolation') AS isolation`,
        });
        expect(await sendAndTell(of, item)).toMatchObject({
          result: { synchronous_commit: 'on', isolation: 'read committed' },
        });
      });

      it('the server ends what a client leaves open, at its deadline', async () => {
        const names = [
          'statement_timeout',
          'idle_in_transaction_session_timeout',
          'transaction_timeout',
          'lock_timeout',
        ];
        const of = sink({ result: names });
        const text = `SELECT ${names.map((name) => `current_setting('${name}', true) AS ${name}`).join(', ')}`;
        const sent = await of.dispatch(makeItem({ text }), { signal: AbortSignal.timeout(5_000), deadlineMs: 60_000 });
        const found = Object.values((sent as { result: Record<string, string | null> }).result).filter(
          (value) => value !== null,
        );
        for (const value of found) expect(value).toMatch(/^(1min|[1-6]\d{4}ms|[1-6]\ds)$/);
      });

      it('a role that may only read for now: nothing is sent, and what was sent before is found', async () => {
        const item = makeItem(insert(freshId()));
        await sink().dispatch(item, within());
        const of = sink({ user: 'reader' });
        expect(await sendAndTell(of, makeItem(insert(freshId())))).toMatchObject({ outcome: 'not_sent' });
        expect(await state(of, item)).toBe('committed');
      });

      it('nobody without the ledger, or its rights, or at a replica', async () => {
        expect(await probe(sink({ user: 'stranger' }))).toMatch(
          /^probe_failed .*step=look up a key that nobody used.*found=statement_failed/,
        );
        const empty = await server.makeDatabase();
        expect(await probe(sink({ database: empty }))).toMatch(/found=statement_failed/);
        const item = makeItem(insert(freshId()));
        expect(await state(sink({ database: empty }), item)).toBe('statement_failed');
        await sink().dispatch(item, within());
        const standby = await server.makeStandby();
        try {
          const there = sink({ at: standby });
          expect([await state(there, item), await state(there, makeItem(0))]).toEqual(['not_primary', 'not_primary']);
          expect(await sendAndTell(there, makeItem(insert(freshId())))).toMatchObject({ outcome: 'not_sent' });
          expect(await probe(there)).toMatch(/^probe_failed .*found=not_primary/);
        } finally {
          await standby.end();
        }
      });

      it('a ledger whose rows a policy hides is not believed', async () => {
        const hidden = await server.makeDatabase();
        await server.query(
          hidden,
          `${postgresLedgerDdl({ role: 'sender' })}
          ALTER TABLE countersign.effect ENABLE ROW LEVEL SECURITY;
          CREATE POLICY add ON countersign.effect FOR INSERT WITH CHECK (true)`,
        );
        expect(await state(sink({ database: hidden, user: 'sender' }), makeItem(0))).toBe('statement_failed');
      });
    });

    it('a restart and a crash of the server: what was accepted stays, and the sink goes on', async () => {
      const of = sink();
      const item = makeItem(insert(freshId()));
      expect(await sendAndTell(of, item)).toMatchObject({ outcome: 'accepted' });
      await server.kill();
      expect(await state(of, item)).toMatch(/not_reachable|connection_lost/);
      expect(await sendAndTell(of, makeItem(insert(freshId())))).toMatchObject({ outcome: 'not_sent' });
      await server.start();
      expect(await state(of, item)).toBe('committed');
      expect(await sendAndTell(of, makeItem(insert(freshId())))).toMatchObject({ outcome: 'accepted' });
    });
  },
);
