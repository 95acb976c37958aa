/**
 * Properties, against a real server:
 * - both PostgreSQL stores, as a user who can neither update nor delete an entry of a journal, answer every case that all stores must answer
 * - the server refuses that user an UPDATE, a DELETE and a TRUNCATE of a journal's entries, and refuses them to their owner, too
 * - an entry is never a folder as well, and what is too large is refused on both ways
 * - listing one level takes one step of the index a name, whatever stands below
 * - neither a standby nor a server with fsync off is taken for a store, and a commit that gave up its replicas is not taken for durable
 * - each state in which the server does not serve has its own code, and no message holds a password, an address or a value
 */
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { postgresStore } from '../../../src/adapters/stores';
import { listStatement } from '../../../src/adapters/stores/postgres-schema';
import { storeConformance } from '../../../src/testing/store-conformance';
import { findFreePorts } from '../../../src/testing/dev-server';
import { describeWith } from '../../systems/available';
import { startPostgres } from '../../systems/postgres';
import { contentsIn, journalIn, makeHome, WORKER } from './postgres-fixture';
import { bytes, text } from './values';

const failure = (code: string, message = ''): object =>
  expect.objectContaining({ name: 'StoreError', code, message: expect.stringContaining(message) as string });

describeWith(
  'PostgreSQL',
  () => startPostgres(),
  (server) => {
    describe.each([
      ['journal', journalIn],
      ['contents', contentsIn],
    ] as const)('conformance of the %s store', (_name, open) => {
      const cases = storeConformance(async () => {
        const home = await makeHome(server);
        const opened = [open(home)];
        const reopen = async () => {
          opened.push(open(home));
          return opened.at(-1)!;
        };
        return {
          store: opened[0]!,
          reopen,
          close: async () => void (await Promise.all(opened.map((store) => store.close()))),
        };
      });
      test.each(cases)('$name', ({ run }) => run());
    });

    test('the server refuses the worker every change of an entry, and lets it erase contents', async () => {
      const home = await makeHome(server);
      await journalIn(home).create('a', bytes('x'));
      await contentsIn(home).create('a', bytes('x'));
      const asWorker = (statement: string) => server.query('postgres', `SET ROLE ${WORKER}; ${statement}`);
      const entries = `${home.schema}.entries`;
      for (const change of [
        `UPDATE ${entries} SET bytes = ''`,
        `DELETE FROM ${entries}`,
        `TRUNCATE ${entries}`,
        `INSERT INTO ${entries} VALUES ('a', '') ON CONFLICT (path) DO UPDATE SET bytes = ''`,
        `UPDATE ${home.schema}.contents SET bytes = ''`,
        `TRUNCATE ${home.schema}.contents`,
        `DROP TABLE ${entries}`,
        `ALTER TABLE ${entries} DISABLE TRIGGER ALL`,
        `UPDATE ${home.schema}.version SET version = 9`,
      ]) {
        await expect(asWorker(change), change).rejects.toMatchObject({ code: '42501' });
      }
      for (const change of [`UPDATE ${entries} SET bytes = ''`, `DELETE FROM ${entries}`, `TRUNCATE ${entries}`]) {
        await expect(server.query('postgres', change), change).rejects.toMatchObject({ code: '42501' });
      }
      expect(text(await journalIn(home).read('a'))).toBe('x');
      await contentsIn(home).delete('a');
      expect(await contentsIn(home).read('a')).toBeNull();
    });

    test('an entry is never a folder as well, and a create that says so leaves nothing', async () => {
      const store = journalIn(await makeHome(server));
      await store.create('a/b', bytes('x'));
      const unsafe = failure('store_unsafe_entry');
      await expect(store.create('a', bytes('y'))).rejects.toEqual(unsafe);
      await expect(store.create('a/b/c/d', bytes('y'))).rejects.toEqual(unsafe);
      const both = [['n/o', bytes('y')] as const, ['n/o/p', bytes('y')] as const];
      await expect(store.createInOrder(both)).rejects.toEqual(unsafe);
      await expect(
        store.createInOrder([
          ['new', bytes('y')],
          ['a', bytes('y')],
        ]),
      ).rejects.toEqual(unsafe);
      expect([await store.list(''), await store.list('a')]).toEqual([['a/'], ['b']]);
    });

    test('what is too large is refused, also when another wrote it', async () => {
      const home = await makeHome(server);
      const small = journalIn(home, { maxEntryBytes: 4 });
      await expect(small.create('a', bytes('12345'))).rejects.toEqual(failure('store_entry_too_large', '"a"'));
      await journalIn(home).create('a', bytes('12345'));
      await expect(small.read('a')).rejects.toEqual(failure('store_entry_too_large', '"a"'));
      expect(await small.create('b', bytes('1234'))).toBe('created');
    });

    test('a list goes from name to name by the index, whatever stands below a folder', async () => {
      const { schema, ...home } = await makeHome(server);
      const rows = `SELECT 'r' || run || '/e/' || entry, '' FROM generate_series(1, 20) run, generate_series(1, 1000) entry`;
      await server.query('postgres', `INSERT INTO ${schema}.entries ${rows}; ANALYZE ${schema}.entries`);
      const statement = listStatement(schema, 'entries');
      const plan = JSON.stringify(
        await server.query(
          'postgres',
          `SET plan_cache_mode = force_generic_plan; PREPARE listing (text, text, text, int) AS ${statement};
           EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE listing ('', '', '{', 1000)`,
        ),
      );
      expect(plan).not.toContain('Seq Scan');
      const blocks = /"Shared Hit Blocks":(\d+),"Shared Read Blocks":(\d+)/.exec(plan);
      expect(Number(blocks?.[1]) + Number(blocks?.[2])).toBeLessThan(200); // all of the index is more than that
      expect(await journalIn({ schema, ...home }).list('')).toHaveLength(20);
    });

    test.each(['serializable', 'repeatable read'])(
      'rivals under %s by default have one winner, and no error',
      async (level) => {
        const home = await makeHome(server);
        await server.query('postgres', `ALTER ROLE ${WORKER} SET default_transaction_isolation = '${level}'`);
        try {
          const stores = [journalIn(home), journalIn(home)];
          for (let round = 0; round < 10; round += 1) {
            const created = await Promise.all(
              Array.from({ length: 16 }, (_, rival) => stores[rival % 2]!.create(`race/${round}`, bytes('same'))),
            );
            expect(created.filter((outcome) => outcome === 'created')).toHaveLength(1);
            expect(created.filter((outcome) => outcome === 'identical')).toHaveLength(15);
          }
        } finally {
          await server.query('postgres', `ALTER ROLE ${WORKER} RESET default_transaction_isolation`);
        }
      },
    );

    test('two that create the same entries in opposite orders both get an answer', async () => {
      const home = await makeHome(server);
      const [one, other] = [journalIn(home), journalIn(home)];
      for (let round = 0; round < 4; round += 1) {
        const entries = ['a', 'b'].map((name) => [`${name}/${round}`, bytes('same')] as const);
        const answers = await Promise.all([one.createInOrder(entries), other.createInOrder([...entries].reverse())]);
        expect(answers.flat().filter((outcome) => outcome === 'created')).toHaveLength(2);
      }
    });
  },
);

describeWith(
  'PostgreSQL that does not serve',
  () => startPostgres({ password: 'pass word' }),
  (server) => {
    test('each state has its code, and no message holds a password, an address or a value', async () => {
      const home = await makeHome(server);
      const at = (user: string, password: string, database = 'postgres') =>
        `postgres://${user}:${password}@127.0.0.1:${server.port}/${database}?schema=${home.schema}`;
      const owner = at('postgres', 'pass%20word');
      await server.query(
        'postgres',
        `CREATE ROLE stranger LOGIN PASSWORD 'secret'; CREATE ROLE reader LOGIN PASSWORD 'secret'`,
      );
      await server.query('postgres', `GRANT USAGE ON SCHEMA ${home.schema} TO reader`);
      await server.query('postgres', `GRANT SELECT ON ${home.schema}.entries TO reader`);
      const [unused] = await findFreePorts(1);
      const cases: readonly (readonly [address: string, code: string, message: string])[] = [
        [at('postgres', 'wrong'), 'store_permission_denied', '28P01'],
        [at('nobody-here', 'secret'), 'store_permission_denied', '28P01'],
        [`postgres://postgres@127.0.0.1:${server.port}/postgres`, 'store_permission_denied', 'no_password'],
        [at('stranger', 'secret'), 'store_permission_denied', '42501'],
        [at('reader', 'secret'), 'store_permission_denied', '42501'],
        [at('postgres', 'pass%20word', 'none'), 'store_unavailable', '3D000'],
        [owner.replace(home.schema, 'empty'), 'store_unavailable', 'countersign journal init'],
        [`postgres://postgres:secret@127.0.0.1:${unused}/postgres`, 'store_unavailable', 'ECONNREFUSED'],
        [`${owner}&sslmode=verify-full`, 'store_unavailable', 'TLS'],
      ];
      for (const [address, code, message] of cases) {
        const fault = await postgresStore({ connection: address })
          .create('entry', bytes('value'))
          .catch((error: unknown) => error);
        expect(fault, message).toEqual(failure(code, message));
        expect(inspect(fault, { depth: 9 })).not.toMatch(
          /secret|wrong|pass.{0,3}word@|value|stranger|nobody-here|127\.0/,
        );
      }
      expect(await postgresStore({ connection: at('reader', 'secret') }).read('entry')).toBeNull();
    });

    test('a password may come from a function, which is asked at each connection', async () => {
      const home = await makeHome(server);
      const parts = { host: server.host, port: server.port, user: 'postgres', database: 'postgres' };
      let asked = 0;
      const password = async () => ((asked += 1) === 2 ? Promise.reject(new Error('vault said: secret')) : 'pass word');
      const store = postgresStore({ connection: { ...parts, password }, schema: home.schema, maxConnections: 1 });
      expect(await store.create('a', bytes('x'))).toBe('created');
      await server.stop();
      await server.start();
      const refused = await store.read('a').catch((error: unknown) => error);
      expect(refused).toEqual(failure('store_unavailable', 'the password could not be had'));
      expect(inspect(refused)).not.toContain('vault');
      expect(text(await store.read('a'))).toBe('x');
    });

    test('neither a standby nor a server with fsync off is taken for a store', async () => {
      const home = await makeHome(server);
      await postgresStore({ connection: home.ownerAddress }).create('a', bytes('x'));
      const standby = await server.makeStandby();
      const lagging = postgresStore({ connection: `${standby.address()}?schema=${home.schema}` });
      await expect(lagging.read('a')).rejects.toEqual(failure('store_unavailable', 'standby'));
      await expect(lagging.read('none')).rejects.toEqual(failure('store_unavailable', 'standby'));
      await expect(lagging.list('none')).rejects.toEqual(failure('store_unavailable', 'standby'));
      await expect(lagging.create('b', bytes('x'))).rejects.toEqual(failure('store_read_only'));
      await standby.end();

      const store = postgresStore({ connection: home.ownerAddress });
      await server.query('postgres', 'ALTER SYSTEM SET fsync = off');
      await server.stop();
      await server.start({ fsync: 'off' });
      await expect(store.create('b', bytes('x'))).rejects.toEqual(failure('store_unavailable', 'fsync'));
      await server.stop();
      await server.start({ fsync: 'on' });
      expect(await store.create('b', bytes('x'))).toBe('created');
    });

    test('a commit whose wait for replicas was given up is unknown, not durable', async () => {
      const home = await makeHome(server);
      const store = postgresStore({ connection: home.ownerAddress, statementTimeoutMs: 1_000 });
      await server.query('postgres', `ALTER SYSTEM SET synchronous_standby_names = 'nowhere'`);
      await server.query('postgres', 'SELECT pg_reload_conf()');
      const creating = store.create('a', bytes('x')).catch((error: unknown) => error);
      const waiting = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
      while ((await server.query('postgres', waiting)).length === 0) await delay(20);
      expect(await creating).toEqual(failure('store_unavailable', 'replicas'));
      // Whoever reads it back to settle what became of it would else take it for durable.
      for (const look of [() => store.read('a'), () => store.list(''), () => store.create('a', bytes('x'))])
        await expect(look()).rejects.toEqual(failure('store_unavailable'));
      await server.query('postgres', 'ALTER SYSTEM RESET synchronous_standby_names');
      await server.query('postgres', 'SELECT pg_reload_conf()');
      expect(text(await store.read('a'))).toBe('x');
    });
  },
);
