/**
 * Properties of addresses of stores:
 * - each names one kind of store, its contents, and what is shown of it, as the table says
 * - whatever user and password an address has, they are understood, and nothing that is shown or thrown holds them
 * - an address of no known kind, or one that is not understood as a whole, is refused, never taken for a folder
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openContentStore, openStore } from '../../../src/adapters/stores';
import { contentsBeside, isFolderAddress, shownAddress, storeContains } from '../../../src/adapters/stores/open-store';
import { parsePostgresAddress } from '../../../src/adapters/postgres/postgres-address';

const PG = 'postgres://u:p@db.example.org:5433/app?schema=one&sslmode=verify-full';
const S3 = 's3://bucket/a/b?endpoint=https://s3.example.org&region=eu-central-1';

test.each([
  ['/var/journal/', '/var/journal/', '/var/journal-contents', 'host'],
  ['journal', 'journal', 'journal-contents', 'host'],
  [PG, 'postgres://db.example.org:5433/app?schema=one', PG, 'shared'],
  ['postgresql:///app', 'postgres:///app', 'postgresql:///app', 'shared'],
  ['postgres://[::1]/app', 'postgres://[::1]/app', 'postgres://[::1]/app', 'shared'],
  [S3, 's3://bucket/a/b', 's3://bucket/a/b-contents?endpoint=https://s3.example.org&region=eu-central-1', 'shared'],
])('%s', (address, shown, contents, scope) => {
  expect(shownAddress(address)).toBe(shown);
  expect(contentsBeside(address)).toBe(contents);
  expect([openStore(address).scope, openContentStore(contents).scope]).toEqual([scope, scope]);
  expect(isFolderAddress(address)).toBe(scope === 'host');
});

test.each(['s3://bucket', 's3://bucket/', 's3://bucket//?region=eu-central-1'])(
  '%s, a whole bucket, has nothing of its owner beside it: contents are never taken to another bucket',
  (address) => {
    const named = { name: 'StoreError', code: 'store_invalid_path' };
    expect(() => contentsBeside(address)).toThrow(expect.objectContaining(named) as Error);
  },
);

test('no user and no password is shown, and each is understood', () => {
  const word = fc.string({ minLength: 1, maxLength: 20 }).map((text) => `#${text}#`);
  fc.assert(
    fc.property(word, word, (user, password) => {
      const address = `postgres://${encodeURIComponent(user)}:${encodeURIComponent(password)}@db/app`;
      expect(parsePostgresAddress(address).connection).toMatchObject({ user, password, host: 'db', database: 'app' });
      expect(shownAddress(address)).toBe('postgres://db/app');
    }),
  );
});

test.each([
  'mysql://root:secret@db/app',
  'http://secret@db',
  'postgres://u:secret@db:99999/app',
  'postgres://u:secret@db/a/b',
  'postgres://u:secret%@db/app',
  'postgres://u:secret@db/app?schema=Upper',
  'postgres://u:secret@db/app?schema=pg_secret',
  'postgres://u:secret@db/app?sslmode=secret',
  'postgres://u@db/app?password=secret',
  'postgres://u@db/app?sslrootcert=/secret',
  'postgres://u@db/app?sslmode=verify-full&sslrootcert=/no/secret',
  's3://key:secret@bucket/prefix',
])('%s is refused, and not quoted', (address) => {
  for (const use of [openStore, openContentStore, shownAddress]) {
    let fault: unknown = null;
    try {
      use(address);
    } catch (thrown) {
      fault = thrown;
    }
    expect(fault).toMatchObject({ name: 'StoreError', code: 'store_invalid_path' });
    expect(String(fault)).not.toContain('secret');
  }
});

describe('a store inside of another', () => {
  test.each([
    ['/a', '/a/b', true],
    ['/a', '/ab', false],
    ['/a', S3, false],
    [S3, 's3://bucket/a/b/c?endpoint=https://s3.example.org', true],
    [S3, 's3://bucket/a/bc?endpoint=https://s3.example.org', false],
    [S3, 's3://bucket/a/b/c', false],
    [PG, 'postgres://other@db.example.org:5433/app?schema=one', true],
    [PG, 'postgres://u@db.example.org:5433/app', false],
  ])('%s, %s: %s', (outer, inner, is) => {
    expect(storeContains(outer, inner)).toBe(is);
  });
});
