/**
 * Makes a file appear complete or not at all: temporary file, write, fsync, no-clobber link, fsync of the folder.
 *
 * Invariant: the final name only ever refers to a complete and durable file, exactly one caller per name gets
 * `linked`, and when that answer returns the name itself is durable. A failure before the link leaves nothing.
 *
 * The short calls are synchronous and only the fsyncs go to the thread pool: a pool round trip costs more than the
 * short calls themselves, while a slow disk makes the fsyncs wait, and those must not stop the event loop.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fsync,
  linkSync,
  lstatSync,
  openSync,
  unlinkSync,
  write,
  writeSync,
} from 'node:fs';
import { errnoOf } from './file-fault';

/** Moments between two system calls, in order; tests stop a process at each. */
export const PUBLISH_STEPS = ['opened', 'written', 'synced', 'linked', 'folder_synced', 'temporary_removed'] as const;
export type PublishStep = (typeof PUBLISH_STEPS)[number];

export interface Publication {
  /** A fresh name on the same filesystem. */
  readonly temporary: string;
  readonly target: string;
  readonly bytes: Uint8Array;
  /** Makes the folder of `target` durable. */
  readonly syncFolder: () => Promise<unknown>;
  /** Called after each step. */
  readonly onStep?: ((step: PublishStep) => void) | undefined;
}

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
const FILE_MODE = 0o600;
/** More than this is written through the thread pool. */
const SYNC_WRITE_LIMIT = 256 * 1024;

/** `exists` says only that the name was taken; the caller compares. Throws the operating system's own error. */
export async function publishFile(publication: Publication): Promise<'linked' | 'exists'> {
  const { temporary, target, bytes, syncFolder, onStep } = publication;
  try {
    await flushTemporary(await writeTemporary(temporary, bytes, onStep), onStep);
    if (!linkNew(temporary, target)) return 'exists';
    onStep?.('linked');
    await syncFolder();
    onStep?.('folder_synced');
    return 'linked';
  } finally {
    removeQuietly(temporary);
    onStep?.('temporary_removed');
  }
}

/** The bytes under their temporary name; durable and closed after `flushTemporary`. */
export async function writeTemporary(
  temporary: string,
  bytes: Uint8Array,
  onStep?: (step: PublishStep) => void,
): Promise<number> {
  const fd = openSync(temporary, CREATE, FILE_MODE);
  try {
    fchmodSync(fd, FILE_MODE); // the umask may have taken bits away
    onStep?.('opened');
    if (bytes.length <= SYNC_WRITE_LIMIT) writeAllSync(fd, bytes);
    else await writeAll(fd, bytes);
    onStep?.('written');
    return fd;
  } catch (fault) {
    closeSync(fd);
    throw fault;
  }
}

export async function flushTemporary(fd: number, onStep?: (step: PublishStep) => void): Promise<void> {
  try {
    await fsyncFile(fd);
  } finally {
    closeSync(fd);
  }
  onStep?.('synced');
}

export function fsyncFile(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fsync(fd, (error) => (error ? reject(error) : resolve())));
}

/** Removes a temporary file. One that stays is harmless: nothing reads it, and the next sweep finds it. */
export function removeQuietly(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // gone already, or to be swept later
  }
}

/** Gives the file its final name, unless that is taken: then false. */
export function linkNew(temporary: string, target: string): boolean {
  try {
    linkSync(temporary, target);
    return true;
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    // A network filesystem may repeat a link whose answer was lost, and then refuse its own success.
    const mine = lstatSync(temporary, { bigint: true });
    const there = lstatSync(target, { bigint: true, throwIfNoEntry: false });
    return there !== undefined && there.ino === mine.ino && there.dev === mine.dev;
  }
}

function writeAllSync(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at);
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += await new Promise<number>((resolve, reject) =>
      write(fd, bytes, at, bytes.length - at, null, (error, count) => (error ? reject(error) : resolve(count))),
    );
  }
}
