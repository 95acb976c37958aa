/**
 * Properties:
 * - an encrypted store answers every case that all stores must answer, whatever keeps it
 * - nothing of a content stands in the store, and the same content never stands there twice alike
 * - an entry that is damaged anywhere, swapped with another, moved, or not encrypted does not open; nothing is written over it
 * - a master key or data key that is missing makes a store that is not available: never an empty one
 * - after a rotation the old master key opens nothing and is not needed; a key that is dropped takes its contents with it
 * - a key ring that others can read is refused, a changed one counts at once, and no key is ever replaced
 */
import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encryptedContents, fileStore, rotateContentKeys, type KeyRing } from '../../../src/adapters/stores';
import { contentKeysFromFile } from '../../../src/adapters/stores/content-key-file';
import {
  addContentKey,
  dropContentKey,
  readKeyRing,
  useContentKey,
} from '../../../src/adapters/stores/content-key-file';
import { contentKeyUse } from '../../../src/adapters/stores/data-keys';
import { isEncrypted } from '../../../src/adapters/stores/encrypted-contents';
import { type ContentKeys } from '../../../src/adapters/stores/content-keys';
import { storeConformance } from '../../../src/testing/store-conformance';
import { bytes, text } from './values';
import { workFolder } from './work-folder';

const secret = (seed: number): Uint8Array => new Uint8Array(32).fill(seed);
const RING: KeyRing = { current: 'k1', keys: { k1: secret(1) } };
const BOTH: KeyRing = { current: 'k2', keys: { k1: secret(1), k2: secret(2) } };
const NEW: KeyRing = { current: 'k2', keys: { k2: secret(2) } };
const failure = (code: string, says = ''): object =>
  expect.objectContaining({ name: 'StoreError', code, message: expect.stringContaining(says) as string });

/** Every file of a store, as it lies on the disk. */
function files(root: string): ReadonlyMap<string, Buffer> {
  const names = fs.readdirSync(root, { recursive: true, withFileTypes: true }).filter((item) => item.isFile());
  return new Map(
    names.map((item) => {
      const full = path.join(item.parentPath, item.name);
      return [path.relative(root, full), fs.readFileSync(full)];
    }),
  );
}

describe('conformance', () => {
  const cases = storeConformance(async () => {
    const root = workFolder();
    const handle = () => encryptedContents(fileStore(root, { maxEntryBytes: 2 ** 21 }), RING);
    return { store: handle(), reopen: async () => handle(), close: async () => {} };
  });
  test.each(cases)('$name', ({ run }) => run());
});

test('nothing of a content is in the store, and no two entries are alike', async () => {
  const root = workFolder();
  const store = encryptedContents(fileStore(root), RING);
  const planted = 'planted-4711'.repeat(20);
  for (let index = 0; index < 20; index += 1) await store.create(`operations/${index}`, bytes(planted));
  const kept = [...files(root)].filter(([name]) => name.startsWith('operations/')).map(([, content]) => content);
  expect(new Set(kept.map((content) => content.toString('hex'))).size).toBe(20);
  for (const content of files(root).values()) {
    expect(content.includes('planted')).toBe(false);
    expect(content.includes(Buffer.from(secret(1)))).toBe(false);
  }
  expect(await store.list('')).toEqual(['operations/']);
  for (const name of ['data-keys', 'data-keys/a']) {
    await expect(store.create(name, bytes('x'))).rejects.toEqual(failure('store_invalid_path'));
    await expect(store.read(name)).rejects.toEqual(failure('store_invalid_path'));
    await expect(store.list(name)).rejects.toEqual(failure('store_invalid_path'));
    await expect(store.delete(name)).rejects.toEqual(failure('store_invalid_path'));
  }
});

test('a damaged entry does not open, wherever it is damaged, and is not written over', async () => {
  const root = workFolder();
  const store = encryptedContents(fileStore(root), RING);
  await store.create('a/entry', bytes('content'));
  const file = path.join(root, 'a/entry');
  const whole = fs.readFileSync(file);
  const damages = Array.from({ length: whole.length }, (_, at) => {
    const damaged = Buffer.from(whole);
    damaged[at] = (damaged[at] as number) ^ 1;
    return damaged;
  });
  for (const damaged of [...damages, whole.subarray(0, -1), whole.subarray(0, 4), Buffer.alloc(0)]) {
    fs.writeFileSync(file, damaged);
    await expect(store.read('a/entry')).rejects.toMatchObject({ name: 'StoreError' });
    await expect(store.create('a/entry', bytes('content'))).rejects.toMatchObject({ name: 'StoreError' });
    expect(fs.readFileSync(file)).toEqual(damaged);
  }
  fs.writeFileSync(file, whole);
  expect(text(await store.read('a/entry'))).toBe('content');
});

test('entries that are swapped, moved or copied do not open', async () => {
  const root = workFolder();
  const store = encryptedContents(fileStore(root), RING);
  await store.create('a/one', bytes('first'));
  await store.create('a/two', bytes('second'));
  fs.renameSync(path.join(root, 'a/one'), path.join(root, 'a/three'));
  fs.copyFileSync(path.join(root, 'a/two'), path.join(root, 'a/one'));
  for (const name of ['a/one', 'a/three']) {
    await expect(store.read(name)).rejects.toEqual(failure('store_unsafe_entry', `"${name}" does not open`));
  }
});

test('what was never encrypted is refused, unless it is asked for', async () => {
  const beneath = fileStore(workFolder());
  await beneath.create('a/old', bytes('plain'));
  expect(await isEncrypted(beneath)).toBe(false);
  const strict = encryptedContents(beneath, RING);
  await expect(strict.read('a/old')).rejects.toEqual(failure('store_unsafe_entry', 'not encrypted'));
  await expect(strict.create('a/old', bytes('plain'))).rejects.toEqual(failure('store_unsafe_entry'));
  const lenient = encryptedContents(beneath, RING, { readPlain: true });
  expect(text(await lenient.read('a/old'))).toBe('plain');
  expect(await lenient.create('a/old', bytes('plain'))).toBe('identical');
  expect(await lenient.create('a/old', bytes('other'))).toBe('conflict');
  expect(await lenient.create('a/new', bytes('new'))).toBe('created');
  expect(text(await strict.read('a/new'))).toBe('new');
  expect(await isEncrypted(beneath)).toBe(true);
});

test('without its master key, or its data key, a store is not available and never empty', async () => {
  const root = workFolder();
  await encryptedContents(fileStore(root), RING).create('a/entry', bytes('content'));
  const other = encryptedContents(fileStore(root), NEW);
  await expect(other.read('a/entry')).rejects.toEqual(failure('store_unavailable', 'master key k1'));
  await expect(other.create('a/entry', bytes('content'))).rejects.toEqual(failure('store_unavailable', 'k1'));
  const wrong = encryptedContents(fileStore(root), { current: 'k1', keys: { k1: secret(9) } });
  await expect(wrong.read('a/entry')).rejects.toEqual(failure('store_unsafe_entry', 'master key k1'));
  await expect(wrong.create('b/entry', bytes('x'))).rejects.toEqual(failure('store_unsafe_entry'));
  fs.renameSync(path.join(root, 'data-keys'), path.join(root, 'away'));
  const lost = encryptedContents(fileStore(root), RING);
  await expect(lost.read('a/entry')).rejects.toEqual(failure('store_unavailable', 'restore data-keys/'));
  await expect(lost.create('a/entry', bytes('content'))).rejects.toEqual(failure('store_unavailable'));
});

test('a rotation leaves every entry as it is, and the old master key opens nothing', async () => {
  const root = workFolder();
  const before = encryptedContents(fileStore(root), RING);
  for (const name of ['a', 'b']) await before.create(`operations/${name}`, bytes(name));
  const kept = files(root).get('operations/a');
  // A worker with the new ring does not need the old key to write.
  await encryptedContents(fileStore(root), NEW).create('operations/c', bytes('c'));
  expect(await contentKeyUse(fileStore(root))).toEqual(
    new Map([
      ['k1', { copies: 1, only: 1 }],
      ['k2', { copies: 1, only: 1 }],
    ]),
  );
  const done = { current: 'k2', dataKeys: 2, added: 1, removed: 1, locked: [] };
  expect(await rotateContentKeys(fileStore(root), ring(BOTH))).toEqual(done);
  expect(await rotateContentKeys(fileStore(root), ring(BOTH))).toEqual({ ...done, added: 0, removed: 0 });
  expect(files(root).get('operations/a')).toEqual(kept);
  const after = encryptedContents(fileStore(root), NEW);
  for (const name of ['a', 'b', 'c']) expect(text(await after.read(`operations/${name}`))).toBe(name);
  expect(await after.create('operations/a', bytes('a'))).toBe('identical');
  const old = encryptedContents(fileStore(root), RING);
  for (const name of ['a', 'b', 'c']) {
    await expect(old.read(`operations/${name}`)).rejects.toEqual(failure('store_unavailable', 'master key k2'));
  }
  // The process that was running meanwhile goes on.
  expect(text(await before.read('operations/b'))).toBe('b');
});

test('a rotation leaves what it cannot open, and says so', async () => {
  const store = fileStore(workFolder());
  await encryptedContents(store, RING).create('a', bytes('a'));
  const rotated = await rotateContentKeys(store, ring(NEW));
  expect(rotated).toMatchObject({ added: 0, removed: 0, locked: [{ masters: ['k1'] }] });
  expect(text(await encryptedContents(store, RING).read('a'))).toBe('a');
});

test('workers with different current keys, rotations between them: all read all', { timeout: 30_000 }, async () => {
  const operation = fc.record({
    who: fc.constantFrom(0, 1),
    rotate: fc.boolean(),
    name: fc.integer({ min: 0, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 10 }), async (operations) => {
      const root = fs.mkdtempSync(path.join(workFolder(), 'case-'));
      const rings: readonly KeyRing[] = [{ ...BOTH, current: 'k1' }, BOTH];
      const made = new Map<string, string>();
      for (const { who, rotate, name } of operations) {
        const keys = rings[who] as KeyRing;
        if (rotate) await rotateContentKeys(fileStore(root), ring(keys));
        const outcome = await encryptedContents(fileStore(root), keys).create(`e/${name}`, bytes(`by ${who}`));
        const there = made.get(`e/${name}`);
        expect(outcome).toBe(there === undefined ? 'created' : there === `by ${who}` ? 'identical' : 'conflict');
        if (there === undefined) made.set(`e/${name}`, `by ${who}`);
      }
      for (const keys of rings) {
        for (const [name, content] of made) {
          expect(text(await encryptedContents(fileStore(root), keys).read(name))).toBe(content);
        }
      }
    }),
    { numRuns: 30, seed: 7 },
  );
});

test('a key service is given what it may not mix up, and its own words are not told', async () => {
  const told: string[] = [];
  let answers = true;
  const service: ContentKeys = {
    current: async () => 'kms-1',
    wrap: async (id, key, bound) => Buffer.concat([Buffer.from(`${id}|${bound}|`), key]),
    unwrap: async (id, wrapped, bound) => {
      told.push(bound);
      if (!answers) throw new Error('denied for account-4711');
      const head = Buffer.from(`${id}|${bound}|`);
      return Buffer.compare(wrapped.subarray(0, head.length), head) === 0 ? wrapped.subarray(head.length) : null;
    },
  };
  const root = workFolder();
  await encryptedContents(fileStore(root), service).create('a', bytes('a'));
  expect(text(await encryptedContents(fileStore(root), service).read('a'))).toBe('a');
  expect(told[0]).toMatch(/^countersign\.data_key\.v1\/[0-9a-f]{32}\/kms-1$/);
  answers = false;
  const fault = await encryptedContents(fileStore(root), service)
    .read('a')
    .catch((thrown: Error) => thrown);
  expect(fault).toEqual(failure('store_unavailable', 'does not answer'));
  expect((fault as Error).message).not.toContain('4711');
});

describe('a key ring in a file', () => {
  test('is made, changed and used', async () => {
    const [file, root] = [path.join(workFolder(), 'ring.json'), workFolder()];
    expect((await addContentKey(file, 'k1', false)).current).toBe('k1');
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    const keys = contentKeysFromFile(file);
    const store = encryptedContents(fileStore(root), keys);
    await store.create('a', bytes('a'));
    expect((await addContentKey(file, 'k2', false)).current).toBe('k1');
    await expect(addContentKey(file, 'k2', false)).rejects.toMatchObject({ code: 'key_exists' });
    await expect(dropContentKey(file, 'k1')).rejects.toMatchObject({ code: 'key_invalid' });
    expect((await useContentKey(file, 'k2')).current).toBe('k2');
    await store.create('b', bytes('b'));
    expect(await contentKeyUse(fileStore(root))).toEqual(
      new Map([
        ['k1', { copies: 1, only: 1 }],
        ['k2', { copies: 1, only: 1 }],
      ]),
    );
    await dropContentKey(file, 'k1');
    expect(Object.keys((await readKeyRing(file)).keys)).toEqual(['k2']);
    const after = encryptedContents(fileStore(root), contentKeysFromFile(file));
    expect(text(await after.read('b'))).toBe('b');
    await expect(after.read('a')).rejects.toEqual(failure('store_unavailable', 'master key k1'));
    expect(fs.readdirSync(path.dirname(file))).toEqual(['ring.json']);
  });

  test.each(['', '{', '[]', '{"current":"k1","keys":{}}', '{"current":"k1","keys":{"k1":"c2hvcnQ="}}'])(
    'is refused as %s',
    async (content) => {
      const file = path.join(workFolder(), 'ring.json');
      fs.writeFileSync(file, content, { mode: 0o600 });
      await expect(readKeyRing(file)).rejects.toMatchObject({ code: 'key_invalid' });
      await expect(addContentKey(file, 'k9', false)).rejects.toMatchObject({ code: 'key_invalid' });
      expect(fs.readFileSync(file, 'utf8')).toBe(content);
    },
  );

  test('that others can read is refused, and the store says why', async () => {
    const file = path.join(workFolder(), 'ring.json');
    await addContentKey(file, 'k1', false);
    fs.chmodSync(file, 0o640);
    const store = encryptedContents(fileStore(workFolder()), contentKeysFromFile(file));
    await expect(store.create('a', bytes('a'))).rejects.toEqual(failure('store_unavailable', 'chmod 600'));
    fs.chmodSync(file, 0o600);
    expect(await store.create('a', bytes('a'))).toBe('created');
  });
});

function ring(keys: KeyRing): ContentKeys {
  const file = path.join(workFolder(), 'ring.json');
  const text = Object.entries(keys.keys).map(([id, key]) => [id, Buffer.from(key).toString('base64')]);
  fs.writeFileSync(file, JSON.stringify({ ...keys, keys: Object.fromEntries(text) as object }), { mode: 0o600 });
  return contentKeysFromFile(file);
}
