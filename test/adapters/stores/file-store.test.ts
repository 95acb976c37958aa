/**
 * Properties:
 * - the file store answers every case that all stores must answer
 * - folders are 0700 and files 0600 whatever the umask; nothing but entries remains after creates
 * - links, FIFOs and folders that stand in an entry's place are refused and never opened or followed
 * - a root that is missing, vanished or replaced is `store_unavailable`, never an empty store
 * - the steps of a create come in the order that makes it durable, and a failed create can be repeated
 * - erasure takes the second name that a killed create leaves; the sweep takes files of dead processes only
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileStore } from '../../../src/adapters/stores';
import { PUBLISH_STEPS, type PublishStep } from '../../../src/adapters/stores/publish-file';
import { sweepTemporaries, temporaryName } from '../../../src/adapters/stores/temporary-files';
import { storeConformance } from '../../../src/testing/store-conformance';
import { bytes, text } from './values';
import { tree, workFolder } from './work-folder';

const failure = (code: string): object => expect.objectContaining({ name: 'StoreError', code });

describe('conformance', () => {
  const cases = storeConformance(async () => {
    const root = workFolder();
    return { store: fileStore(root), reopen: async () => fileStore(root), close: async () => {} };
  });
  test.each(cases)('$name', ({ run }) => run());
});

describe('on disk', () => {
  test.each([0o022, 0o000, 0o077, 0o277, 0o777])('modes are exact under umask %o', async (mask) => {
    const root = path.join(workFolder(), 'new', 'root');
    const before = process.umask(mask);
    try {
      await fileStore(root, { createRoot: true }).create('a/b/c', bytes('x'));
    } finally {
      process.umask(before);
    }
    expect(tree(path.dirname(root))).toEqual(
      ['700 root', '700 root/.tmp', '700 root/a', '700 root/a/b', '600 root/a/b/c'].sort(),
    );
  });

  test('the steps come in durable order, and the name appears only after the content is safe', async () => {
    const root = workFolder();
    const seen: [PublishStep, boolean][] = [];
    const store = fileStore(root, { onStep: (step) => seen.push([step, fs.existsSync(path.join(root, 'f/entry'))]) });
    expect(await store.create('f/entry', bytes('x'))).toBe('created');
    expect(seen).toEqual(PUBLISH_STEPS.map((step, index) => [step, index >= PUBLISH_STEPS.indexOf('linked')]));
  });

  test.each(PUBLISH_STEPS)('a create that fails when "%s" can be repeated and leaves no temporary', async (at) => {
    const root = workFolder();
    const broken = fileStore(root, {
      onStep: (step) => {
        if (step === at) throw Object.assign(new Error('EIO'), { code: 'EIO' });
      },
    });
    await expect(broken.create('f/entry', bytes('whole'))).rejects.toEqual(failure('store_io_failed'));
    expect(fs.readdirSync(path.join(root, '.tmp'))).toEqual([]);
    const visible = PUBLISH_STEPS.indexOf(at) >= PUBLISH_STEPS.indexOf('linked');
    expect(text(await fileStore(root).read('f/entry'))).toBe(visible ? 'whole' : null);
    expect(await fileStore(root).create('f/entry', bytes('whole'))).toBe(visible ? 'identical' : 'created');
  });

  test('a link whose answer was lost, and which is refused when repeated, still counts as ours', async () => {
    const root = workFolder();
    const store = fileStore(root, {
      onStep: (step) => {
        if (step !== 'synced') return;
        const [temporary] = fs.readdirSync(path.join(root, '.tmp')) as [string];
        fs.linkSync(path.join(root, '.tmp', temporary), path.join(root, 'entry'));
      },
    });
    expect(await store.create('entry', bytes('mine'))).toBe('created');
    expect(await store.create('entry', bytes('mine'))).toBe('identical');
  });

  test('an entry larger than the limit is neither written nor read', async () => {
    const root = workFolder();
    await fileStore(root).create('large', bytes('12345'));
    const small = fileStore(root, { maxEntryBytes: 4 });
    await expect(small.create('new', bytes('12345'))).rejects.toEqual(failure('store_entry_too_large'));
    await expect(small.read('large')).rejects.toEqual(failure('store_entry_too_large'));
    expect(await small.create('new', bytes('1234'))).toBe('created');
  });

  test('a folder that vanishes is made again', async () => {
    const root = workFolder();
    const store = fileStore(root);
    await store.create('a/b/one', bytes('1'));
    fs.rmSync(path.join(root, 'a'), { recursive: true });
    fs.rmSync(path.join(root, '.tmp'), { recursive: true });
    expect(await store.create('a/b/one', bytes('2'))).toBe('created');
  });
});

describe('what it will not touch', () => {
  const plant: Record<string, (file: string, outside: string) => void> = {
    'a symbolic link to a file': (file, outside) => fs.symlinkSync(path.join(outside, 'secret'), file),
    'a dangling symbolic link': (file) => fs.symlinkSync('nowhere', file),
    'a FIFO': (file) => execFileSync('mkfifo', [file]),
    'a folder': (file) => fs.mkdirSync(file),
  };
  test.each(Object.keys(plant))('%s in the place of an entry', async (kind) => {
    const root = workFolder();
    const outside = workFolder();
    fs.writeFileSync(path.join(outside, 'secret'), 'secret');
    const store = fileStore(root);
    await store.create('f/other', bytes('x'));
    plant[kind]?.(path.join(root, 'f/entry'), outside);
    await expect(store.create('f/entry', bytes('secret'))).rejects.toEqual(failure('store_unsafe_entry'));
    await expect(store.read('f/entry')).rejects.toEqual(failure('store_unsafe_entry'));
    await expect(store.delete('f/entry')).rejects.toEqual(failure('store_unsafe_entry'));
    expect(fs.readFileSync(path.join(outside, 'secret'), 'utf8')).toBe('secret');
    expect(fs.readdirSync(outside)).toEqual(['secret']);
  });

  test.each(['.tmp', 'f', 'f/g'])('a symbolic link in the place of folder "%s"', async (folder) => {
    const root = workFolder();
    const outside = workFolder();
    if (folder.includes('/')) fs.mkdirSync(path.join(root, path.dirname(folder)));
    fs.symlinkSync(outside, path.join(root, folder));
    const store = fileStore(root);
    await expect(store.create('f/g/entry', bytes('x'))).rejects.toEqual(failure('store_unsafe_entry'));
    if (folder !== '.tmp') {
      await expect(store.read('f/g/entry')).rejects.toEqual(failure('store_unsafe_entry'));
      await expect(store.list('f/g')).rejects.toEqual(failure('store_unsafe_entry'));
      await expect(store.delete('f/g/entry')).rejects.toEqual(failure('store_unsafe_entry'));
    }
    expect(fs.readdirSync(outside)).toEqual([]);
  });

  test('an entry in the place of a folder', async () => {
    const store = fileStore(workFolder());
    await store.create('f', bytes('x'));
    await expect(store.create('f/entry', bytes('x'))).rejects.toEqual(failure('store_unsafe_entry'));
  });

  test('a message names the entry and never holds its bytes', async () => {
    const root = workFolder();
    fs.mkdirSync(path.join(root, 'entry'));
    const error: unknown = await fileStore(root)
      .create('entry', bytes('patient-4711'))
      .catch((caught: unknown) => caught);
    expect(String(error)).toContain('"entry"');
    expect(String(error)).not.toContain('patient');
  });
});

describe('the root', () => {
  test('a missing root is unavailable unless it may be made', async () => {
    const root = path.join(workFolder(), 'missing');
    for (const act of [
      () => fileStore(root).create('a', bytes('x')),
      () => fileStore(root).read('a'),
      () => fileStore(root).list(''),
      () => fileStore(root).delete('a'),
    ]) {
      await expect(act()).rejects.toEqual(failure('store_unavailable'));
    }
    expect(fs.existsSync(root)).toBe(false);
    expect(await fileStore(root, { createRoot: true }).create('a', bytes('x'))).toBe('created');
  });

  test.each(['removed', 'replaced'])('a root that is %s is unavailable, even where it may be made', async (how) => {
    const root = path.join(workFolder(), 'root');
    const store = fileStore(root, { createRoot: true });
    await store.create('sent', bytes('x'));
    fs.renameSync(root, `${root}-moved`);
    if (how === 'replaced') fs.mkdirSync(root);
    await expect(store.read('sent')).rejects.toEqual(failure('store_unavailable'));
    await expect(store.create('sent', bytes('y'))).rejects.toEqual(failure('store_unavailable'));
    await expect(store.list('')).rejects.toEqual(failure('store_unavailable'));
    fs.rmSync(root, { recursive: true, force: true });
    fs.renameSync(`${root}-moved`, root);
    expect(text(await store.read('sent'))).toBe('x');
  });

  test('a root that is a file is unavailable; one reached through a link is followed', async () => {
    const folder = workFolder();
    fs.writeFileSync(path.join(folder, 'plain'), '');
    await expect(fileStore(path.join(folder, 'plain')).read('a')).rejects.toEqual(failure('store_unavailable'));
    fs.mkdirSync(path.join(folder, 'real'));
    fs.symlinkSync('real', path.join(folder, 'link'));
    expect(await fileStore(path.join(folder, 'link')).create('a', bytes('x'))).toBe('created');
    expect(text(await fileStore(path.join(folder, 'real')).read('a'))).toBe('x');
  });

  test('names that cannot be entries are not listed', async () => {
    const root = workFolder();
    for (const name of ['lost+found', 'a b', 'é']) fs.mkdirSync(path.join(root, name));
    const store = fileStore(root);
    await store.create('a', bytes('x'));
    expect(await store.list('')).toEqual(['a']);
  });
});

describe('what killed processes leave', () => {
  test('erasure takes the second name of the content', async () => {
    const root = workFolder();
    const store = fileStore(root);
    await store.create('person', bytes('personal'));
    const left = path.join(root, '.tmp', temporaryName());
    fs.linkSync(path.join(root, 'person'), left);
    await store.delete('person');
    expect(tree(root)).toEqual(['700 .tmp']);
  });

  test('the sweep removes files of dead processes, and leaves the living, the foreign and the unknown', () => {
    const folder = workFolder();
    const mine = temporaryName();
    const [realm, , started] = mine.split('-') as [string, string, string, string];
    const dead = execFileSync('sh', ['-c', 'echo $$']).toString().trim();
    const random = 'ab'.repeat(12);
    const names = {
      mine,
      exited: `${realm}-${dead}-${started}-${random}`,
      reusedId: `${realm}-${process.pid}-1-${random}`,
      foreignYoung: `${'0'.repeat(16)}-${dead}-1-${random}`,
      foreignOld: `${'1'.repeat(16)}-${process.pid}-1-${random}`,
      unknown: 'notes.txt',
    };
    for (const name of Object.values(names)) fs.writeFileSync(path.join(folder, name), '');
    fs.utimesSync(path.join(folder, names.foreignOld), 0, 0);
    fs.utimesSync(path.join(folder, names.unknown), 0, 0);
    expect(sweepTemporaries(folder, Date.now())).toBe(3);
    expect(fs.readdirSync(folder).sort()).toEqual([names.mine, names.foreignYoung, names.unknown].sort());
  });

  test('a temporary that is swept away under a running create is written again', async () => {
    const root = workFolder();
    let swept = 0;
    const store = fileStore(root, {
      onStep: (step) => {
        if (step !== 'synced' || swept > 0) return;
        for (const name of fs.readdirSync(path.join(root, '.tmp'))) fs.unlinkSync(path.join(root, '.tmp', name));
        swept += 1;
      },
    });
    expect(await store.create('entry', bytes('whole'))).toBe('created');
    expect(swept).toBe(1);
    expect(text(await store.read('entry'))).toBe('whole');
  });
});
