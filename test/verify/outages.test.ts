/**
 * Held here: a store that stops answering, at whichever of the calls that verifying makes, ends the verification by the store's own
 * code. It never becomes a finding: nothing is wrong with a journal that cannot be read right now.
 */
import { expect, it } from 'vitest';
import { StoreError, type Store } from '../../src/ports';
import { storeView, verifyJournal } from '../../src/verify';
import { sampleJournal } from './sample-journal';

it('an outage is thrown, never found', async () => {
  const { files } = await sampleJournal();
  let left = Infinity;
  let calls = 0;
  const answering = <T>(answer: () => T): Promise<T> => {
    calls += 1;
    left -= 1;
    return left < 0 ? Promise.reject(new StoreError('store_unavailable', 'nobody answers')) : Promise.resolve(answer());
  };
  const below = (folder: string): string[] => {
    const prefix = folder === '' ? '' : `${folder}/`;
    const names = [...files.keys()].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    return [...new Set(names.map((name) => name.replace(/\/.*/s, '/')))].sort();
  };
  const store: Store = {
    scope: 'shared',
    create: () => Promise.reject(new Error('verifying writes nothing')),
    read: (name) => answering(() => files.get(name) ?? null),
    list: (folder) => answering(() => below(folder)),
  };
  expect(await verifyJournal(storeView(store), { strict: true })).toMatchObject({ ok: true, justified: true });
  const all = calls;
  expect(all).toBeGreaterThan(20);
  for (let answered = 0; answered < all; answered += 1) {
    left = answered;
    const outcome = await verifyJournal(storeView(store)).catch((fault: unknown) => fault);
    expect(outcome, `after ${answered} answers`).toMatchObject({ name: 'StoreError', code: 'store_unavailable' });
  }
});
