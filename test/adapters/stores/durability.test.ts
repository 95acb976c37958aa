/**
 * Properties, with the real filesystem and a record of its fsyncs that says what a power loss would leave:
 * - a name is visible only when the bytes behind it are durable
 * - of entries created in order, none is visible before those in front of it
 * - whenever a create answers `created` or `identical`, the entry and every folder above it are durable, also when the
 *   one who made them failed or died before its own fsync
 * - the same for appends to a checkpoint journal, and after a delete the name is durably gone
 */
import type * as Fs from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, test, vi } from 'vitest';
import { CheckpointJournal, fileStore } from '../../../src/adapters/stores';
import { PUBLISH_STEPS, type PublishStep } from '../../../src/adapters/stores/publish-file';
import { lineage } from './lineages';
import { bytes } from './values';
import { workFolder } from './work-folder';

/** What the disk has promised to keep: files by inode, and the names in a folder by its path. */
const disk = vi.hoisted(() => ({
  contents: new Map<number, number>(),
  folders: new Map<string, ReadonlyMap<string, number>>(),
  /** Fsyncs that still fail, counted from now. */
  failing: [] as boolean[],
}));

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof Fs>();
  const paths = new Map<number, string>();
  return {
    ...fs,
    openSync: (file: string, ...rest: [number, number?]) => {
      const fd = fs.openSync(file, ...rest);
      paths.set(fd, file);
      return fd;
    },
    fsync: (fd: number, done: (error: Error | null) => void) => {
      const file = paths.get(fd) as string;
      const stat = fs.fstatSync(fd);
      const names = stat.isDirectory() ? namesIn(fs, file) : null;
      if (disk.failing.shift()) return setImmediate(done, Object.assign(new Error('EIO'), { code: 'EIO' }));
      // What is durable is what stood there when the fsync began.
      fs.fsync(fd, (error) => {
        if (names === null) disk.contents.set(stat.ino, stat.size);
        else disk.folders.set(file, names);
        done(error);
      });
    },
  };
});

function namesIn(fs: typeof Fs, folder: string): ReadonlyMap<string, number> {
  return new Map(fs.readdirSync(folder).map((name) => [name, fs.lstatSync(path.join(folder, name)).ino]));
}

const real = process.getBuiltinModule('node:fs');

beforeEach(() => {
  disk.contents.clear();
  disk.folders.clear();
  disk.failing = [];
});

/** Every name from `root` down to `file` would be found again after a power loss, with the same bytes. */
function expectDurable(root: string, file: string): void {
  const stat = real.lstatSync(file);
  expect(disk.contents.get(stat.ino)).toBe(stat.size);
  for (let at = file; at !== root; at = path.dirname(at)) {
    expect(disk.folders.get(path.dirname(at))?.get(path.basename(at))).toBe(real.lstatSync(at).ino);
  }
}

function expectContentsDurable(root: string): void {
  for (const item of real.readdirSync(root, { withFileTypes: true, recursive: true })) {
    const file = path.join(item.parentPath, item.name);
    if (!item.isFile() || file.includes(`${path.sep}.tmp${path.sep}`) || item.name.startsWith('.checkpoint-')) continue;
    const stat = real.lstatSync(file);
    expect(disk.contents.get(stat.ino)).toBe(stat.size);
  }
}

/** One create, or several in order, by one of three independent stores: some fsyncs fail, or the maker dies at a step. */
const attempt = fc.record({
  entries: fc.uniqueArray(fc.constantFrom('a', 'f/a', 'f/b', 'f/g/a', 'h/i/j/a'), { minLength: 1, maxLength: 3 }),
  value: fc.constantFrom('one', 'two', ''),
  maker: fc.nat({ max: 2 }),
  failing: fc.array(fc.boolean(), { maxLength: 8 }),
  dies: fc.option(fc.constantFrom(...PUBLISH_STEPS), { freq: 3 }),
});

test('creates, with fsyncs that fail and makers that die', async () => {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(attempt, { minLength: 1, maxLength: 12 }), async (attempts) => {
      const root = workFolder();
      let dies: PublishStep | null = null;
      const onStep = (step: PublishStep): void => {
        expectContentsDurable(root);
        if (step === dies) throw new Error('died');
      };
      const stores = [0, 1, 2].map(() => fileStore(root, { onStep }));
      for (const { entries, value, maker, failing, dies: at } of attempts) {
        disk.failing = [...failing];
        dies = at;
        const wanted = entries.map((entry) => [entry, bytes(value)] as const);
        const there = entries.map((entry) => real.existsSync(path.join(root, entry)));
        const outcomes = (await stores[maker]?.createInOrder(wanted).catch(() => [])) ?? [];
        expectContentsDurable(root);
        for (const [index, entry] of entries.entries()) {
          const file = path.join(root, entry);
          // Nothing new behind an entry that is not there, or that is another's.
          if (!there[index] && real.existsSync(file)) {
            for (const before of entries.slice(0, index)) {
              expect(real.readFileSync(path.join(root, before), 'utf8')).toBe(value);
            }
          }
          if (outcomes[index] !== 'created' && outcomes[index] !== 'identical') continue;
          answered += 1;
          expectDurable(root, file);
        }
      }
    }),
    { numRuns: 150 },
  );
  expect(answered).toBeGreaterThan(50);
});

test('a journal folder whose maker died is made durable by the next', async () => {
  const root = workFolder();
  real.mkdirSync(path.join(root, 'journal'));
  await new CheckpointJournal(path.join(root, 'journal')).append(lineage('durable', ['planned'])[0] as never);
  expectDurable(root, path.join(root, 'journal/checkpoint-00000000000000000000.json'));
});

test.each(PUBLISH_STEPS)('appends, the first of which dies when "%s"', async (at) => {
  const root = workFolder();
  const folder = path.join(root, 'runs/one');
  const [first, second] = lineage('durable', ['planned', 'dispatching']) as [never, never];
  const broken = new CheckpointJournal(folder, {
    onStep: (step) => {
      if (step === at) throw new Error('died');
    },
  });
  await expect(broken.append(first)).rejects.toThrow('checkpoint_write_failed');
  const journal = new CheckpointJournal(folder);
  for (const [index, checkpoint] of [first, second].entries()) {
    await journal.append(checkpoint);
    expectDurable(root, path.join(folder, `checkpoint-0000000000000000000${index}.json`));
  }
});

test('a read waits for what this process could not make durable, and fails while it cannot', async () => {
  const root = workFolder();
  const store = fileStore(root);
  await store.create('f/other', bytes('x'));
  disk.failing = [false, true, true];
  await expect(store.create('f/entry', bytes('x'))).rejects.toThrow('store_io_failed');
  await expect(store.read('f/entry')).rejects.toThrow('store_io_failed');
  expect(await store.read('f/entry')).not.toBeNull();
  expectDurable(root, path.join(root, 'f/entry'));
});

test('a delete is durable, also one that finds nothing', async () => {
  const root = workFolder();
  const store = fileStore(root);
  await store.create('f/entry', bytes('x'));
  disk.failing = [true];
  await expect(store.delete('f/entry')).rejects.toThrow('store_io_failed');
  expect(disk.folders.get(path.join(root, 'f'))?.has('entry')).toBe(true);
  await fileStore(root).delete('f/entry');
  expect(disk.folders.get(path.join(root, 'f'))?.has('entry')).toBe(false);
});
