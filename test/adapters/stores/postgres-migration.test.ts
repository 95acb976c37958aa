/**
 * Properties of making the tables of a PostgreSQL store:
 * - asked many times at once and again, it makes them once; what they hold stays
 * - the tables of a newer version, and those of something else, are refused and left as they are
 * - it needs no more than a schema that its owner gave it, and grants a role just what a worker needs, also without public rights
 * - a store whose tables are not made says so; it never makes them
 */
import { expect, test } from 'vitest';
import { migratePostgresStore, postgresContentStore, postgresStore } from '../../../src/adapters/stores';
import { postgresStoreVersion } from '../../../src/adapters/stores/postgres-migration';
import { describeWith } from '../../systems/available';
import { startPostgres } from '../../systems/postgres';
import { bytes, text } from './values';

const failure = (code: string, message: string): object =>
  expect.objectContaining({ name: 'StoreError', code, message: expect.stringContaining(message) as string });

describeWith(
  'PostgreSQL',
  () => startPostgres(),
  (server) => {
    const at = (schema: string, user?: string): string => `${server.address('postgres', user)}?schema=${schema}`;
    const tablesOf = (schema: string) =>
      server.query('postgres', `SELECT tablename FROM pg_tables WHERE schemaname = '${schema}' ORDER BY tablename`);

    test('asked many times at once and again, it makes them once', async () => {
      const connection = at('once');
      expect(await postgresStoreVersion({ connection })).toBe(0);
      await expect(postgresStore({ connection }).create('a', bytes('x'))).rejects.toEqual(
        failure('store_unavailable', 'countersign journal init'),
      );
      expect(await tablesOf('once')).toEqual([]);
      const made = await Promise.all(Array.from({ length: 8 }, () => migratePostgresStore({ connection })));
      expect(made.map(({ from }) => from).sort()).toEqual([0, ...Array.from({ length: 7 }, () => made[0]!.to)]);
      await postgresStore({ connection }).create('a', bytes('x'));
      expect(await migratePostgresStore({ connection })).toEqual({ from: made[0]!.to, to: made[0]!.to });
      expect(await postgresStoreVersion({ connection })).toBe(made[0]!.to);
      expect(text(await postgresStore({ connection }).read('a'))).toBe('x');
    });

    test('what is newer or of something else is left alone', async () => {
      await migratePostgresStore({ connection: at('newer') });
      await server.query('postgres', `INSERT INTO newer.version (version) VALUES (99)`);
      await server.query('postgres', `CREATE SCHEMA foreign_one; CREATE TABLE foreign_one.contents (id int)`);
      await server.query('postgres', `CREATE SCHEMA foreign_two; CREATE TABLE foreign_two.version (version int)`);
      await server.query('postgres', `INSERT INTO foreign_two.version VALUES (1)`);
      const before = [await tablesOf('newer'), await tablesOf('foreign_one'), await tablesOf('foreign_two')];
      const refused = {
        newer: failure('store_unavailable', 'version 99'),
        foreign_one: failure('store_unsafe_entry', 'something else'),
        foreign_two: failure('store_unsafe_entry', 'something else'),
      };
      for (const [schema, why] of Object.entries(refused)) {
        await expect(migratePostgresStore({ connection: at(schema) })).rejects.toEqual(why);
        await expect(postgresStoreVersion({ connection: at(schema) })).rejects.toEqual(why);
      }
      expect([await tablesOf('newer'), await tablesOf('foreign_one'), await tablesOf('foreign_two')]).toEqual(before);
    });

    test('an owner of nothing but the schema makes them, and the worker needs only what is granted', async () => {
      await server.query(
        'postgres',
        `CREATE ROLE own_schema LOGIN; CREATE ROLE "its-worker" LOGIN; CREATE SCHEMA given AUTHORIZATION own_schema`,
      );
      await server.query(
        'postgres',
        `ALTER DEFAULT PRIVILEGES FOR ROLE own_schema REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC`,
      );
      await expect(migratePostgresStore({ connection: at('not_given', 'own_schema') })).rejects.toEqual(
        failure('store_permission_denied', '42501'),
      );
      await migratePostgresStore({ connection: at('given', 'own_schema'), grantTo: 'its-worker' });
      const connection = at('given', 'its-worker');
      const [journal, contents] = [postgresStore({ connection }), postgresContentStore({ connection })];
      expect(
        await journal.createInOrder([
          ['a', bytes('x')],
          ['b/c', bytes('y')],
        ]),
      ).toEqual(['created', 'created']);
      expect(await journal.list('')).toEqual(['a', 'b/']);
      await contents.create('a', bytes('x'));
      await contents.delete('a');
      expect(await contents.read('a')).toBeNull();
      for (const grantTo of ['x"; DROP TABLE y', '', 'two words']) {
        await expect(migratePostgresStore({ connection: at('given'), grantTo })).rejects.toEqual(
          failure('store_invalid_path', 'plain name'),
        );
      }
    });
  },
);
