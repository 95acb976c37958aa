/**
 * Names of store entries: segments of `[A-Za-z0-9._-]` joined by `/`.
 *
 * Invariant: a path that passes here names the same entry in every kind of store, stays below the store's root, and
 * needs no escaping anywhere. Everything else is refused as `store_invalid_path`, never repaired.
 */
import { StoreError } from '../../ports';

/** Below the 255 bytes that filesystems allow, with room for a suffix. */
export const MAX_SEGMENT_LENGTH = 200;
/** Below the 1,024 bytes that object stores allow, with room for a bucket prefix. */
export const MAX_PATH_LENGTH = 800;
/** First segment that stores keep for themselves. */
export const RESERVED_SEGMENT = '.tmp';

/** Behind every character of a path. */
export const BEHIND_ALL = '{';

const SEGMENT = /^[A-Za-z0-9._-]+$/;

/** Whether a name could be one segment of an entry's path. */
export function isEntrySegment(name: string): boolean {
  return name.length <= MAX_SEGMENT_LENGTH && SEGMENT.test(name) && name !== '.' && name !== '..';
}

/** The segments of an entry's path; at least one. */
export function entrySegments(path: string): readonly string[] {
  if (typeof path !== 'string') throw invalid('an entry path must be a string');
  if (path.length > MAX_PATH_LENGTH) throw invalid(`an entry path may have at most ${MAX_PATH_LENGTH} characters`);
  const segments = path.split('/');
  if (!segments.every(isEntrySegment)) {
    throw invalid(
      `an entry path is made of segments of letters, digits, ".", "_" and "-", each at most ${MAX_SEGMENT_LENGTH} ` +
        'characters, not "." or "..", joined by single slashes',
    );
  }
  if (segments[0] === RESERVED_SEGMENT) throw invalid(`"${RESERVED_SEGMENT}" is kept for the store itself`);
  return segments;
}

/** The segments of a folder to list: none for the root. One trailing slash is allowed. */
export function folderSegments(prefix: string): readonly string[] {
  if (prefix === '') return [];
  if (typeof prefix !== 'string') throw invalid('a prefix must be a string');
  return entrySegments(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix);
}

/** Order of the bytes of two ASCII names. */
export function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

// The refused text is not repeated: it came from outside and may be anything.
function invalid(why: string): StoreError {
  return new StoreError('store_invalid_path', `${why}; the path was refused`);
}
