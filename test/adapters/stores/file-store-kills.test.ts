/**
 * Properties, with processes that are killed (SIGKILL) in the middle of a create:
 * - at every boundary between two system calls: the entry is whole or absent, and a repeat of the create succeeds
 * - at random moments: every entry whose create had returned is there, and no entry is ever incomplete
 * - the next process removes what the killed one left
 */
import fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fileStore } from '../../../src/adapters/stores';
import { PUBLISH_STEPS } from '../../../src/adapters/stores/publish-file';
import { Child } from './child-process';
import { type Action } from './store-child';
import { text } from './values';
import { workFolder } from './work-folder';

const VALUE = 'whole '.repeat(20_000);

test.each(PUBLISH_STEPS)('killed when "%s"', async (step) => {
  const root = workFolder();
  const child = await Child.start<Action>('store-child.ts', [root, step]);
  expect(await child.ask({ act: 'create', entries: ['a/b/entry'], value: VALUE })).toEqual({ failed: 'ended' });
  expect(await child.ended).toBe('SIGKILL');

  const visible = PUBLISH_STEPS.indexOf(step) >= PUBLISH_STEPS.indexOf('linked');
  expect(fs.readdirSync(path.join(root, '.tmp'))).toHaveLength(step === 'temporary_removed' ? 0 : 1);
  const store = fileStore(root);
  expect(text(await store.read('a/b/entry'))).toBe(visible ? VALUE : null);
  expect(await store.list('a/b')).toEqual(visible ? ['entry'] : []);
  expect(await store.create('a/b/entry', Buffer.from(VALUE))).toBe(visible ? 'identical' : 'created');
  expect(await store.create('a/b/entry', Buffer.from('other'))).toBe('conflict');
  await store.create('a/b/next', Buffer.from('next'));
  expect(fs.readdirSync(path.join(root, '.tmp'))).toEqual([]);
});

test('killed at random moments', async () => {
  const root = workFolder();
  const delays = fc.sample(fc.integer({ min: 1, max: 60 }), { numRuns: 12, seed: 20_260 });
  for (const [round, delay] of delays.entries()) {
    const child = await Child.start<Action>('store-child.ts', [root]);
    const entries = Array.from({ length: 2_000 }, (_, index) => `round-${round}/folder-${index % 7}/${index}`);
    const answer = child.ask({ act: 'create', entries, value: VALUE, report: true });
    setTimeout(() => child.kill(), delay);
    expect(await answer).toEqual({ failed: 'ended' });

    const store = fileStore(root);
    const visible: string[] = [];
    for (const entry of entries.slice(0, child.notes.length + 2)) {
      const found = text(await store.read(entry));
      if (found === null) continue;
      expect(found).toBe(VALUE);
      visible.push(entry);
    }
    const reported = child.notes.map((note) => note.done);
    expect(visible.slice(0, reported.length)).toEqual(reported);
    for (const entry of entries.slice(0, visible.length + 1)) {
      expect(await store.create(entry, Buffer.from(VALUE))).toBe(visible.includes(entry) ? 'identical' : 'created');
    }
    expect(fs.readdirSync(path.join(root, '.tmp'))).toEqual([]);
  }
});
