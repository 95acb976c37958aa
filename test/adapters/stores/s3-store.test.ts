/**
 * Properties of the S3 store against a real server (versitygw):
 * - it conforms to the port, as a journal's store and as one for contents, with a prefix and without
 * - a server that overwrites under `If-None-Match` (S3Mock) is refused before the first create, and nothing is lost by it
 * - the bucket holds, beside the entries, at most the one object of the probe, which no list shows
 * - erasing leaves no version in a bucket that keeps versions; an entry that somebody deleted from a journal is told, not absent
 * - errors have the code of their cause and tell no credentials, and no bytes of an entry
 */
import { DeleteObjectCommand, ListObjectVersionsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { s3ContentStore, s3Store, type S3StoreOptions } from '../../../src/adapters/stores';
import { StoreError } from '../../../src/ports';
import { storeConformance } from '../../../src/testing';
import { describeWith } from '../../systems/available';
import { type S3Server } from '../../systems/s3-server';
import { startS3Mock } from '../../systems/s3mock';
import { startVersitygw } from '../../systems/versitygw';
import { bytes, text } from './values';

const SECRET = 'planted-secret-4711';

const place = async (server: S3Server, more: Partial<S3StoreOptions> = {}): Promise<S3StoreOptions> => ({
  ...server.settings,
  bucket: await server.makeBucket(),
  ...more,
});

async function codeOf(call: Promise<unknown>): Promise<string> {
  const fault: unknown = await call.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(fault instanceof StoreError)) return `no StoreError: ${String(fault)}`;
  if (JSON.stringify([fault.stack, fault, String(fault.cause)]).includes(SECRET)) throw new Error('it tells a secret');
  return fault.code;
}

describeWith('versitygw', startVersitygw, (server) => {
  describe('as the store of a journal', () => {
    it.each(cases(() => place(server, { prefix: 'teams/blue' }), s3Store))('$name', ({ run }) => run());
  });
  describe('as a store of contents, without a prefix', () => {
    it.each(cases(() => place(server), s3ContentStore))('$name', ({ run }) => run());
  });

  it('adds one object of its own, which no list shows, and leaves what is not its own', async () => {
    const options = await place(server, { prefix: 'ours' });
    const store = s3Store(options);
    await store.create('entry', bytes('x'));
    await s3Store({ ...options, prefix: 'ours' }).create('entry', bytes('x'));
    await server.client.send(new PutObjectCommand({ Bucket: options.bucket, Key: 'ours/not an entry', Body: 'x' }));
    expect(await store.list('')).toEqual(['entry']);
    expect(await keys(server, options.bucket)).toEqual(['ours/.tmp/put-if-absent', 'ours/entry', 'ours/not an entry']);
  });

  it.each([
    ['a bucket that does not exist', { bucket: 'no-such-bucket' }, 'store_unavailable'],
    [
      'another secret',
      { credentials: () => ({ accessKeyId: 'tests', secretAccessKey: SECRET }) },
      'store_permission_denied',
    ],
    [
      'credentials that cannot be had',
      {
        credentials: () => {
          throw new Error(SECRET);
        },
      },
      'store_permission_denied',
    ],
    ['nobody at the address', { endpoint: 'http://127.0.0.1:1' }, 'store_unavailable'],
  ])('tells %s', async (_what, wrong: Partial<S3StoreOptions>, code) => {
    const store = s3ContentStore({ ...(await place(server)), ...wrong });
    expect(await codeOf(store.create('entry', bytes(SECRET)))).toBe(code);
    expect(await codeOf(store.read('entry'))).toBe(code);
    expect(await codeOf(store.list(''))).toBe(code);
    expect(await codeOf(store.delete('entry'))).toBe(code);
  });

  it('tells an entry that is too large, before it is written and before it is read', async () => {
    const options = await place(server);
    await s3Store(options).create('large', new Uint8Array(2_000));
    const small = s3Store({ ...options, maxEntryBytes: 1_000 });
    expect(await codeOf(small.create('other', new Uint8Array(1_001)))).toBe('store_entry_too_large');
    expect(await codeOf(small.read('large'))).toBe('store_entry_too_large');
    expect(await small.read('other')).toBeNull();
  });

  it('tells what stands in the way', async () => {
    const store = s3Store(await place(server));
    await store.create('a', bytes('x'));
    await store.create('b/c', bytes('x'));
    expect(await codeOf(store.create('a/below', bytes('x')))).toBe('store_unsafe_entry');
    expect(await codeOf(store.create('b', bytes('x')))).toBe('store_unsafe_entry');
  });

  it('writes nothing, its probe neither, where somebody only reads and lists', async () => {
    const options = await place(server);
    await s3Store(options).create('runs/entry', bytes('x'));
    const before = await keys(server, options.bucket);
    const reader = s3Store(options);
    expect([await reader.list(''), text(await reader.read('runs/entry'))]).toEqual([['runs/'], 'x']);
    expect(await keys(server, options.bucket)).toEqual(before);
  });
});

describeWith(
  'versitygw with versions',
  () => startVersitygw({ versions: true }),
  (server) => {
    const versioned = async (): Promise<S3StoreOptions> => ({
      ...server.settings,
      bucket: await server.makeBucket({ versioned: true }),
    });

    it('erases every version of an entry, and no other entry', async () => {
      const options = await versioned();
      const store = s3ContentStore(options);
      for (const name of ['person/1', 'person/10', 'person/2']) await store.create(name, bytes(SECRET));
      for (let time = 0; time < 3; time += 1) {
        await store.delete('person/1');
        await store.delete('person/1');
        expect(await store.read('person/1')).toBeNull();
        expect(await versionsOf(server, options.bucket, 'person/1')).toEqual([]);
        expect(await store.create('person/1', bytes('again'))).toBe('created');
      }
      await server.client.send(new DeleteObjectCommand({ Bucket: options.bucket, Key: 'person/1' })); // by somebody else
      expect(await store.read('person/1')).toBeNull();
      await store.delete('person/1');
      expect(await versionsOf(server, options.bucket, 'person/1')).toEqual([]);
      expect(await store.list('person')).toEqual(['10', '2']);
    });

    it('tells an entry that somebody deleted from a journal', async () => {
      const options = await versioned();
      const store = s3Store(options);
      await store.create('entry', bytes('x'));
      await server.client.send(new DeleteObjectCommand({ Bucket: options.bucket, Key: 'entry' }));
      expect(await codeOf(store.read('entry'))).toBe('store_unsafe_entry');
    });
  },
);

describeWith('S3Mock, which overwrites', startS3Mock, (server) => {
  it('is refused before the first create, and again', async () => {
    const options = await place(server, { prefix: 'ours' });
    const store = s3Store(options);
    await expect(store.probe()).rejects.toThrow(/store_unavailable: this server overwrites/);
    for (const again of [store, store, s3ContentStore(options)]) {
      await expect(again.create('entry', bytes('x'))).rejects.toThrow(/store_unavailable: this server overwrites/);
    }
    expect(await store.read('entry')).toBeNull();
    expect(await store.list('')).toEqual([]);
  });
});

function cases(options: () => Promise<S3StoreOptions>, make: typeof s3Store | typeof s3ContentStore) {
  return storeConformance(async () => {
    const here = await options();
    return { store: make(here), reopen: async () => make(here), close: async () => undefined };
  }).map(({ name, run }) => ({ name, run }));
}

async function versionsOf(server: S3Server, Bucket: string, key?: string): Promise<string[]> {
  const told = await server.client.send(new ListObjectVersionsCommand({ Bucket }));
  const found = [...(told.Versions ?? []), ...(told.DeleteMarkers ?? [])].map(({ Key }) => Key ?? '');
  return found.filter((name) => key === undefined || name === key).sort();
}

const keys = (server: S3Server, bucket: string): Promise<string[]> => versionsOf(server, bucket);
