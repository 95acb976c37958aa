/**
 * Properties, with faults of the operating system itself, each in a real process:
 * - read-only, forbidden, full, too large for the process, out of file descriptors: each has its own code
 * - no fault leaves a part of an entry, and after the fault is gone the same create succeeds
 *
 * Where a process may not mount (no namespaces), a folder without write permission stands for the read-only disk and a
 * file size limit for the full one; the expected code says which fault was made.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fileStore } from '../../../src/adapters/stores';
import { storeFault } from '../../../src/adapters/stores/file-fault';
import { type StoreErrorCode } from '../../../src/ports';
import { isSuperuser } from '../../../scripts/vectors/unprivileged';
import { Child } from './child-process';
import { type Action } from './store-child';
import { workFolder } from './work-folder';

const NAMESPACE = isSuperuser() ? ['unshare', '-m'] : ['unshare', '-rm'];
const run = (script: string, ...args: string[]): string[] => ['sh', '-c', script, 'sh', ...args];
const value = (kib: number): string => 'x'.repeat(kib * 1024);

function canMount(): boolean {
  try {
    const [command, ...rest] = [...NAMESPACE, ...run('mount -t tmpfs -o size=64k none "$1"', workFolder())];
    execFileSync(command as string, rest, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const onTmpfs = (root: string, size: string): string[] => [
  ...NAMESPACE,
  ...run('mount -t tmpfs -o "size=$2" none "$1" && shift 2 && exec "$@"', root, size),
];
const underFileLimit = (blocks: number): string[] => run(`ulimit -f ${blocks} && exec "$@"`);

test('a read-only filesystem', async () => {
  const root = workFolder();
  if (!canMount()) return permissionsRefuse(root);
  const child = await Child.start<Action>('store-child.ts', [root], { prelude: onTmpfs(root, '1m') });
  const create = (entry: string): Promise<unknown> => child.ask({ act: 'create', entries: [entry], value: 'x' });
  expect(await create('a/one')).toEqual(['created']);
  const remount = (mode: string): Promise<unknown> =>
    child.ask({ act: 'command', command: ['mount', '-o', `remount,bind,${mode}`, root] });
  expect(await remount('ro')).toBe('');
  expect(await create('a/two')).toEqual({ failed: 'store_read_only' });
  expect(await create('new/folder/two')).toEqual({ failed: 'store_read_only' });
  expect(await child.ask({ act: 'delete', entry: 'a/one' })).toEqual({ failed: 'store_read_only' });
  expect(await child.ask({ act: 'read', entry: 'a/one' })).toBe('x');
  expect(await child.ask({ act: 'list', prefix: 'a' })).toEqual(['one']);
  expect(await remount('rw')).toBe('');
  expect(await create('a/two')).toEqual(['created']);
  await child.end();
});

test('a full filesystem', async () => {
  const root = workFolder();
  if (!canMount()) return sizeLimitRefuses(root);
  const child = await Child.start<Action>('store-child.ts', [root], { prelude: onTmpfs(root, '256k') });
  const create = (entry: string, kib: number): Promise<unknown> =>
    child.ask({ act: 'create', entries: [entry], value: value(kib) });
  expect(await create('a/ballast', 128)).toEqual(['created']);
  expect(await create('a/entry', 160)).toEqual({ failed: 'store_full' });
  expect(await create('a/larger', 512)).toEqual({ failed: 'store_full' });
  expect(await child.ask({ act: 'list', prefix: 'a' })).toEqual(['ballast']);
  expect(await child.ask({ act: 'command', command: ['ls', path.join(root, '.tmp')] })).toBe('');
  await child.ask({ act: 'delete', entry: 'a/ballast' });
  expect(await create('a/entry', 160)).toEqual(['created']);
  expect(await child.ask({ act: 'read', entry: 'a/entry' })).toBe(value(160));
  await child.end();
});

test('a process that may not write large files', () => sizeLimitRefuses(workFolder()));

test('an unprivileged process in a folder of somebody else', () => permissionsRefuse(workFolder()));

test('a process that may open no more files', async () => {
  const root = workFolder();
  fs.writeFileSync(path.join(root, 'there'), 'x');
  const child = await Child.start<Action>('store-child.ts', [root], { prelude: run('ulimit -n 96 && exec "$@"') });
  expect(await child.ask({ act: 'create', entries: ['a/one'], value: 'x' })).toEqual(['created']);
  expect(await child.ask({ act: 'exhaust' })).toBeGreaterThan(0);
  expect(await child.ask({ act: 'create', entries: ['a/two'], value: 'x' })).toEqual({ failed: 'store_unavailable' });
  expect(await child.ask({ act: 'read', entry: 'there' })).toEqual({ failed: 'store_unavailable' });
  expect(await child.ask({ act: 'list', prefix: 'a' })).toEqual({ failed: 'store_unavailable' });
  await child.ask({ act: 'release' });
  expect(await child.ask({ act: 'list', prefix: 'a' })).toEqual(['one']);
  expect(await child.ask({ act: 'create', entries: ['a/two'], value: 'x' })).toEqual(['created']);
  await child.end();
});

test.each<[string, string, StoreErrorCode]>([
  ['EROFS', 'open', 'store_read_only'],
  ['EACCES', 'open', 'store_permission_denied'],
  ['EPERM', 'unlink', 'store_permission_denied'],
  ['ENOSPC', 'write', 'store_full'],
  ['EDQUOT', 'write', 'store_full'],
  ['EFBIG', 'write', 'store_entry_too_large'],
  ['ENAMETOOLONG', 'open', 'store_invalid_path'],
  ['ELOOP', 'open', 'store_unsafe_entry'],
  ['EIO', 'fsync', 'store_io_failed'],
  ['EMFILE', 'open', 'store_unavailable'],
  ['ESTALE', 'open', 'store_unavailable'],
  ['EXDEV', 'link', 'store_io_failed'],
  ['EPERM', 'link', 'store_io_failed'],
  ['EOPNOTSUPP', 'link', 'store_io_failed'],
  ['ENEVERHEARDOF', 'open', 'store_io_failed'],
])('%s of %s is %s', (errno, syscall, code) => {
  const cause = Object.assign(new Error('content-4711'), { code: errno, syscall });
  const fault = storeFault(cause, 'create', 'a/entry');
  expect(fault.code).toBe(code);
  expect(fault.cause).toBe(cause);
  expect(fault.message).toMatch(/^store_[a-z_]+: create of "a\/entry" failed with [A-Z]+: [^.\n]+$/);
  expect(fault.message).not.toContain('4711');
});

async function permissionsRefuse(root: string): Promise<void> {
  const store = fileStore(root);
  await store.create('a/one', Buffer.from('x'));
  fs.chmodSync(root, 0o755);
  fs.chmodSync(path.join(root, 'a'), 0o555);
  fs.chmodSync(path.join(root, '.tmp'), 0o555);
  const child = await Child.start<Action>('store-child.ts', [root], { unprivileged: true });
  const create = (): Promise<unknown> => child.ask({ act: 'create', entries: ['a/two'], value: 'x' });
  const refused = { failed: 'store_permission_denied' };
  expect(await create()).toEqual(refused);
  expect(await child.ask({ act: 'delete', entry: 'a/one' })).toEqual(refused);
  fs.chmodSync(path.join(root, 'a/one'), 0o000);
  expect(await child.ask({ act: 'read', entry: 'a/one' })).toEqual(refused);
  fs.chmodSync(path.join(root, 'a'), 0o000);
  expect(await child.ask({ act: 'list', prefix: 'a' })).toEqual(refused);
  expect(fs.readdirSync(path.join(root, '.tmp'))).toEqual([]);
  for (const name of ['a', '.tmp']) fs.chmodSync(path.join(root, name), 0o777);
  expect(await create()).toEqual(['created']);
  await child.end();
}

async function sizeLimitRefuses(root: string): Promise<void> {
  const child = await Child.start<Action>('store-child.ts', [root], { prelude: underFileLimit(200) });
  const create = (kib: number): Promise<unknown> =>
    child.ask({ act: 'create', entries: [`a/${kib}`], value: value(kib) });
  expect(await create(220)).toEqual({ failed: 'store_entry_too_large' });
  expect(await create(600)).toEqual({ failed: 'store_entry_too_large' });
  expect(await create(8)).toEqual(['created']);
  expect(await child.ask({ act: 'list', prefix: 'a' })).toEqual(['8']);
  expect(fs.readdirSync(path.join(root, '.tmp'))).toEqual([]);
  await child.end();
  expect(await fileStore(root).create('a/220', Buffer.from(value(220)))).toBe('created');
}
