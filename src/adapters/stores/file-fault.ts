/**
 * What an operating system error means for a store: one table from errno to code and sentence.
 *
 * Invariant: every failure of a file operation leaves as a `StoreError` that names the entry by its path inside the
 * store and says what to do; it never carries bytes of the entry.
 */
import { StoreError, type StoreErrorCode } from '../../ports';

type Fault = readonly [code: StoreErrorCode, why: string];

const UNAVAILABLE = 'store_unavailable';
const TOO_MANY_FILES = 'too many files are open; raise the limit or lower the number of concurrent activities';

const FAULTS: Readonly<Record<string, Fault>> = {
  EROFS: ['store_read_only', 'the filesystem is read-only; mount it writable or move the store'],
  EACCES: ['store_permission_denied', 'the process may not touch it; give its user the store folder, mode 0700'],
  EPERM: ['store_permission_denied', 'the operation is not permitted; check owner, mode and attributes of the folder'],
  ENOSPC: ['store_full', 'no space or no inode is left; free some, then repeat'],
  EDQUOT: ['store_full', 'the disk quota is used up; raise it, then repeat'],
  EFBIG: ['store_entry_too_large', 'it exceeds the file size limit of the process or the filesystem; raise the limit'],
  ENAMETOOLONG: ['store_invalid_path', 'its full name is too long for the filesystem; move the root to a shorter path'],
  ELOOP: ['store_unsafe_entry', 'a symbolic link stands in its place; remove the link'],
  ENOTDIR: ['store_unsafe_entry', 'something that is not a folder stands on its path; remove it'],
  EISDIR: ['store_unsafe_entry', 'a folder stands in its place; remove the folder'],
  ENOENT: [UNAVAILABLE, 'a folder on its path vanished; check the mount, then repeat'],
  EMFILE: [UNAVAILABLE, TOO_MANY_FILES],
  ENFILE: [UNAVAILABLE, TOO_MANY_FILES],
  ENOMEM: [UNAVAILABLE, 'the system is out of memory; repeat later'],
  EAGAIN: [UNAVAILABLE, 'the system is out of resources; repeat later'],
  EBUSY: [UNAVAILABLE, 'the filesystem is busy; repeat later'],
  ESTALE: [UNAVAILABLE, 'the mount went stale; mount it again'],
  ENODEV: [UNAVAILABLE, 'the device is gone; check the mount'],
  ENXIO: [UNAVAILABLE, 'the device is gone; check the mount'],
  ETIMEDOUT: [UNAVAILABLE, 'the filesystem did not answer; check the mount'],
  EIO: ['store_io_failed', 'the disk reported an error; check the disk before repeating'],
};

const NO_HARD_LINKS: Fault = [
  'store_io_failed',
  'the filesystem cannot make hard links there; put the whole store on one local filesystem that can',
];

/** Faults that mean something else when they come from the link that publishes an entry. */
const LINK_FAULTS: Readonly<Record<string, Fault>> = {
  EXDEV: NO_HARD_LINKS,
  EPERM: NO_HARD_LINKS,
  ENOSYS: NO_HARD_LINKS,
  ENOTSUP: NO_HARD_LINKS,
  EOPNOTSUPP: NO_HARD_LINKS,
  EMLINK: NO_HARD_LINKS,
};

/** The errno name of a failed file operation, if it is one. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Turns any failure of a file operation into a `StoreError`; one that is one already passes unchanged. */
export function storeFault(error: unknown, action: string, entry: string): StoreError {
  if (error instanceof StoreError) return error;
  const errno = errnoOf(error) ?? 'unknown error';
  const isLink = (error as NodeJS.ErrnoException | null)?.syscall === 'link';
  const [code, why] = (isLink ? LINK_FAULTS[errno] : undefined) ??
    FAULTS[errno] ?? ['store_io_failed', 'the operation failed; check the filesystem before repeating'];
  return new StoreError(code, `${action} of ${entry === '' ? 'the root' : `"${entry}"`} failed with ${errno}: ${why}`, {
    cause: error,
  });
}

/** Refusal of something that stands where an entry or a folder should be. */
export function unsafeEntry(entry: string, what: string): StoreError {
  return new StoreError('store_unsafe_entry', `"${entry}" is ${what}; the store follows and opens only its own files`);
}
