/**
 * Properties, with processes that are killed (SIGKILL) before and after each call of the store beneath:
 * - in a rotation: every entry opens at once for whoever has both keys, and the next rotation finishes what was begun; then the
 *   old key is needed for nothing
 * - in the first create of all: the entry is whole or absent, and a repeat of the create succeeds
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { contentKeysFromFile, encryptedContents, fileStore, rotateContentKeys } from '../../../src/adapters/stores';
import { addContentKey, dropContentKey, useContentKey } from '../../../src/adapters/stores/content-key-file';
import { contentKeyUse } from '../../../src/adapters/stores/data-keys';
import { bytes, text } from './values';
import { runChild } from './run-child';
import { workFolder } from './work-folder';

const ENTRIES = ['operations/a', 'results/b', 'salts/c'];

/** Two data keys under k1, and a ring whose current key is k2. */
async function beforeRotation(): Promise<{ root: string; ring: string }> {
  const [root, ring] = [workFolder(), path.join(workFolder(), 'ring.json')];
  await addContentKey(ring, 'k0', false);
  await encryptedContents(fileStore(root), contentKeysFromFile(ring)).create(ENTRIES[0] as string, bytes('a'));
  await addContentKey(ring, 'k1', true);
  const store = encryptedContents(fileStore(root), contentKeysFromFile(ring));
  for (const name of ENTRIES.slice(1)) await store.create(name, bytes(name.slice(-1)));
  await addContentKey(ring, 'k2', true);
  return { root, ring };
}

async function allOpen(root: string, ring: string): Promise<void> {
  const store = encryptedContents(fileStore(root), contentKeysFromFile(ring));
  for (const name of ENTRIES) {
    expect(text(await store.read(name))).toBe(name.slice(-1));
    expect(await store.create(name, bytes(name.slice(-1)))).toBe('identical');
    expect(await store.create(name, bytes('other'))).toBe('conflict');
  }
}

test('a rotation', { timeout: 120_000 }, async () => {
  const whole = await beforeRotation();
  const { calls } = (await runChild('contents-child.ts', [whole.root, whole.ring, 'rotate', ''])) as { calls: number };
  expect(calls).toBeGreaterThan(8);
  const moments = Array.from({ length: calls }, (_, index) => [`${index + 1}-`, `${index + 1}+`]).flat();
  const { root, ring } = await beforeRotation();
  let struck = 0;
  // One store is struck again and again, each time further on, until a rotation gets through.
  for (const moment of moments) {
    if ((await runChild('contents-child.ts', [root, ring, 'rotate', moment])) !== 'killed') continue;
    struck += 1;
    await allOpen(root, ring);
  }
  expect(struck).toBeGreaterThan(8);
  await rotateContentKeys(fileStore(root), contentKeysFromFile(ring));
  expect([...(await contentKeyUse(fileStore(root))).keys()]).toEqual(['k2']);
  await useContentKey(ring, 'k2');
  await dropContentKey(ring, 'k0');
  await dropContentKey(ring, 'k1');
  await allOpen(root, ring);
});

test('the first create', { timeout: 120_000 }, async () => {
  const ring = path.join(workFolder(), 'ring.json');
  await addContentKey(ring, 'k1', false);
  const { calls } = (await runChild('contents-child.ts', [workFolder(), ring, 'operations/x', ''])) as {
    calls: number;
  };
  for (let call = 1; call <= calls; call += 1) {
    for (const moment of [`${call}-`, `${call}+`]) {
      const root = workFolder();
      expect(await runChild('contents-child.ts', [root, ring, 'operations/x', moment])).toBe('killed');
      const there = moment === `${calls}+`;
      const store = encryptedContents(fileStore(root), contentKeysFromFile(ring));
      expect(text(await store.read('operations/x'))).toBe(there ? 'content of a child' : null);
      const outcome = await store.create('operations/x', bytes('content of a child'));
      expect(outcome).toBe(there ? 'identical' : 'created');
    }
  }
});
