/**
 * What every store must answer, as named cases that any test runner can run.
 *
 * Invariant: a case uses the port alone, so a store of any kind that passes them can stand under the engine.
 */
import assert from 'node:assert/strict';
import { type ContentStore, type CreateOutcome, type Store, StoreError } from '../ports';

/** One empty store, and the ways to look at it from elsewhere. */
export interface StoreHarness {
  readonly store: Store | ContentStore;
  /** A second, independent handle to the same entries, as another process would have. */
  reopen(): Promise<Store>;
  close(): Promise<void>;
}

/** One case for a store, as a test runner runs it: it throws when the store does not keep it. */
export interface ConformanceCase {
  readonly name: string;
  run(): Promise<void>;
}

type Check = (store: Store, harness: StoreHarness) => Promise<void>;

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const pattern = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => (index * 7 + 3) % 256);
const count = (outcomes: readonly CreateOutcome[], outcome: CreateOutcome): number =>
  outcomes.filter((found) => found === outcome).length;

const INVALID_PATHS: readonly string[] = [
  '',
  '/',
  '/a',
  'a/',
  'a//b',
  '.',
  '..',
  'a/..',
  '../a',
  'a/./b',
  'a b',
  'a\\b',
  'a\0b',
  'a\nb',
  'é',
  'a%2fb',
  'a:b',
  '~',
  '*',
  'a'.repeat(201),
  `${'a/'.repeat(400)}a`,
  '.tmp',
  '.tmp/a',
];

const CASES: Readonly<Record<string, Check>> = {
  'says for whom it is sound': async (store) => {
    assert.ok(store.scope === 'host' || store.scope === 'shared');
  },
  'answers null for an entry and nothing for a folder that do not exist': async (store) => {
    assert.equal(await store.read('none'), null);
    assert.equal(await store.read('no/such/entry'), null);
    assert.deepEqual(await store.list('no/such/folder'), []);
    assert.deepEqual(await store.list(''), []);
  },
  'gives back exactly the bytes of a created entry, of every length': async (store) => {
    for (const length of [0, 1, 255, 4096, 65_537, 1_048_577]) {
      const bytes = pattern(length);
      assert.equal(await store.create(`lengths/${length}`, bytes), 'created');
      assert.deepEqual(Buffer.from((await store.read(`lengths/${length}`)) ?? []), Buffer.from(bytes));
    }
  },
  'creates in order: stops at the first conflict, and what stands behind it never becomes visible': async (
    store,
    harness,
  ) => {
    if (store.createInOrder === undefined) return;
    assert.deepEqual(await store.createInOrder([]), []);
    const entries = (...names: readonly string[]) => names.map((name) => [`order/${name}`, text(name)] as const);
    assert.deepEqual(await store.createInOrder(entries('a', 'deep/b', 'c')), ['created', 'created', 'created']);
    assert.deepEqual(await store.createInOrder(entries('a', 'd')), ['identical', 'created']);
    assert.equal(await store.create('order/taken', text('by another')), 'created');
    assert.deepEqual(await store.createInOrder(entries('e', 'taken', 'f')), ['created', 'conflict']);
    const elsewhere = await harness.reopen();
    assert.equal(await elsewhere.read('order/f'), null);
    for (const name of ['a', 'deep/b', 'c', 'd', 'e']) {
      assert.deepEqual(Buffer.from((await elsewhere.read(`order/${name}`)) ?? []), Buffer.from(name));
    }
  },
  'of many that create in order, one wins at each entry, and a loser leaves nothing behind it': async (store) => {
    const creating = store.createInOrder?.bind(store);
    if (creating === undefined) return;
    const rivals = Array.from({ length: 8 }, (_, rival) => String(rival));
    const outcomes = await Promise.all(
      rivals.map((rival) =>
        creating([
          ['rivals/first', text(rival)],
          [`rivals/second-${rival}`, text(rival)],
        ]),
      ),
    );
    assert.equal(outcomes.filter((found) => found[0] === 'created' && found[1] === 'created').length, 1);
    assert.equal(outcomes.filter((found) => found[0] === 'conflict' && found.length === 1).length, 7);
    assert.deepEqual((await store.list('rivals')).length, 2);
  },
  'answers identical to the same bytes and conflict to any others, and keeps the first': async (store) => {
    assert.equal(await store.create('entry', text('first')), 'created');
    assert.equal(await store.create('entry', text('first')), 'identical');
    for (const other of ['', 'firs', 'first ', 'First', 'other']) {
      assert.equal(await store.create('entry', text(other)), 'conflict');
    }
    assert.deepEqual(Buffer.from((await store.read('entry')) ?? []), Buffer.from('first'));
    assert.equal(await store.create('empty', text('')), 'created');
    assert.equal(await store.create('empty', text('')), 'identical');
    assert.equal(await store.create('empty', text('x')), 'conflict');
  },
  'takes a view into a larger buffer as just its own bytes': async (store) => {
    assert.equal(await store.create('view', Buffer.from('--inner--').subarray(2, 7)), 'created');
    assert.equal(await store.create('view', text('inner')), 'identical');
  },
  'does not share memory with its callers': async (store) => {
    const bytes = text('mine');
    await store.create('memory', bytes);
    bytes.fill(0);
    (await store.read('memory'))?.fill(0);
    assert.deepEqual(Buffer.from((await store.read('memory')) ?? []), Buffer.from('mine'));
  },
  'lets exactly one of many rivals create an entry, and holds the bytes of that one': async (store, harness) => {
    const other = await harness.reopen();
    for (let round = 0; round < 8; round += 1) {
      const names = Array.from({ length: 24 }, (_, index) => `rival ${index}`);
      const outcomes = await Promise.all(
        names.map((name, index) => (index % 2 ? store : other).create(`race/different-${round}`, text(name))),
      );
      assert.equal(count(outcomes, 'created'), 1);
      assert.equal(count(outcomes, 'conflict'), names.length - 1);
      const winner = names[outcomes.indexOf('created')] as string;
      assert.deepEqual(Buffer.from((await store.read(`race/different-${round}`)) ?? []), Buffer.from(winner));
    }
  },
  'answers created to exactly one of many identical creates': async (store, harness) => {
    const other = await harness.reopen();
    for (let round = 0; round < 8; round += 1) {
      const outcomes = await Promise.all(
        Array.from({ length: 24 }, (_, index) => (index % 2 ? store : other).create(`same/${round}`, text('same'))),
      );
      assert.equal(count(outcomes, 'created'), 1);
      assert.equal(count(outcomes, 'identical'), outcomes.length - 1);
    }
  },
  'shows a created entry at once through another handle': async (store, harness) => {
    await store.create('seen/by/all', text('x'));
    const other = await harness.reopen();
    assert.deepEqual(Buffer.from((await other.read('seen/by/all')) ?? []), Buffer.from('x'));
    assert.deepEqual(await other.list('seen/by'), ['all']);
    assert.equal(await other.create('seen/by/all', text('x')), 'identical');
  },
  'lists one level in byte order, folders with a slash': async (store) => {
    for (const name of ['b', 'a.b', 'a/x', 'a-b', 'a0', 'B', '_', '.a', '...', 'a_/deep/er', 'zz/x', 'zz/y']) {
      await store.create(`order/${name}`, text(name));
    }
    const expected = ['...', '.a', 'B', '_', 'a-b', 'a.b', 'a/', 'a0', 'a_/', 'b', 'zz/'];
    assert.deepEqual(await store.list('order'), expected);
    assert.deepEqual(await store.list('order/'), expected);
    assert.deepEqual(await store.list('order/zz'), ['x', 'y']);
    assert.deepEqual(await store.list(''), ['order/']);
    for (const [index, after] of expected.entries()) {
      assert.deepEqual(await store.list('order', after), expected.slice(index + 1));
    }
    assert.deepEqual(await store.list('order', 'a-c'), expected.slice(expected.indexOf('a.b')));
    assert.deepEqual(await store.list('order', 'zzz'), []);
  },
  'takes a prefix as a folder, not as the beginning of a name': async (store) => {
    await store.create('run-1/a', text('1'));
    await store.create('run-10/b', text('2'));
    assert.deepEqual(await store.list('run-1'), ['a']);
    assert.deepEqual(await store.list('run'), []);
  },
  'lists more entries than one page of any backend': async (store) => {
    const names = Array.from({ length: 1050 }, (_, index) => String(index).padStart(5, '0'));
    for (let at = 0; at < names.length; at += 50) {
      await Promise.all(names.slice(at, at + 50).map((name) => store.create(`many/${name}`, text(name))));
    }
    assert.deepEqual(await store.list('many'), names);
    assert.deepEqual(await store.list('many', '00999'), names.slice(1000));
  },
  'keeps names apart that differ only in case or in a suffix': async (store) => {
    for (const name of ['key', 'KEY', 'key.end', 'key.', 'key-']) {
      assert.equal(await store.create(`names/${name}`, text(name)), 'created', name);
    }
  },
  'takes the longest segment and the longest path': async (store) => {
    const long = [`${'s'.repeat(200)}/${'s'.repeat(200)}/${'s'.repeat(200)}/${'s'.repeat(197)}`, 'l'.repeat(200)];
    for (const name of long) {
      assert.equal(await store.create(name, text('long')), 'created');
      assert.notEqual(await store.read(name), null);
    }
  },
  'refuses every other path as store_invalid_path, whatever is asked': async (store) => {
    const refused = (error: unknown): boolean => error instanceof StoreError && error.code === 'store_invalid_path';
    for (const name of INVALID_PATHS) {
      await assert.rejects(store.create(name, text('x')), refused, JSON.stringify(name));
      await assert.rejects(store.read(name), refused, JSON.stringify(name));
      if (name !== '' && name !== 'a/') await assert.rejects(store.list(name), refused, JSON.stringify(name));
      if ('delete' in store) await assert.rejects((store as ContentStore).delete(name), refused, JSON.stringify(name));
    }
    assert.deepEqual(await store.list(''), []);
  },
  'erases an entry, where it can, so that the name is free again': async (store, harness) => {
    if (!('delete' in store)) return assert.equal((store as Store & { delete?: unknown }).delete, undefined);
    const contents = store as ContentStore;
    await contents.create('person/1', text('personal'));
    await contents.create('person/2', text('other'));
    await contents.delete('person/1');
    await contents.delete('person/1');
    await contents.delete('nobody/at/all');
    const other = await harness.reopen();
    assert.equal(await other.read('person/1'), null);
    assert.deepEqual(await other.list('person'), ['2']);
    assert.equal(await other.create('person/1', text('new')), 'created');
    assert.deepEqual(Buffer.from((await contents.read('person/1')) ?? []), Buffer.from('new'));
  },
};

/** The cases for one kind of store; each makes its own empty one. */
export function storeConformance(makeStore: () => Promise<StoreHarness>): readonly ConformanceCase[] {
  return Object.entries(CASES).map(([name, check]) => ({
    name,
    async run(): Promise<void> {
      const harness = await makeStore();
      try {
        await check(harness.store, harness);
      } finally {
        await harness.close();
      }
    },
  }));
}
