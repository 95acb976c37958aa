/**
 * Properties of how a PostgreSQL server is named, by stores and by sinks alike:
 * - parts that are named win over an address, and an address that is not understood is refused as a whole
 * - each says so in its own words: a store by a `StoreError`, a sink by an error that speaks of no store; neither repeats the address
 */
import { describe, expect, test } from 'vitest';
import { connectionParts } from '../../../src/adapters/postgres/postgres-connection';
import { omopSink, postgresSink } from '../../../src/adapters/sinks';
import { postgresStore } from '../../../src/adapters/stores';

test('parts win over the address', () => {
  const address = 'postgres://a:secret@db:5433/app?schema=s&sslmode=disable';
  expect(connectionParts({ address, user: 'b' })).toEqual({
    connection: { host: 'db', port: 5433, database: 'app', user: 'b', password: 'secret', tls: false },
    schema: 's',
  });
  expect(connectionParts({ host: 'h' })).toEqual({ connection: { host: 'h' }, schema: undefined });
});

const MADE: Record<string, (address: string) => unknown> = {
  postgresSink: (connection) => postgresSink({ name: 's', connection, statements: () => ({ text: '' }) }),
  omopSink: (connection) => omopSink({ name: 's', connection, schema: 'cdm' }),
  postgresStore: (connection) => postgresStore({ connection }),
};

describe.each(Object.entries(MADE))('%s', (name, make) => {
  test.each([
    ['postgres://a:planted@db/x?sslmode=maybe', /has an sslmode other than disable, require, verify-full/],
    ['postgres://a:planted@db/x?pool=5', /has a parameter other than/],
    ['mysql://a:planted@db/x', /is not of the form postgres:/],
  ])('%s', (address, wanted) => {
    let said = '';
    try {
      make(address);
    } catch (fault) {
      said = String(fault);
    }
    expect(said).toMatch(wanted);
    expect(said).not.toContain('planted');
    expect(/store/i.test(said)).toBe(name.includes('Store'));
  });
});
