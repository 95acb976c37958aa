/**
 * A checkpoint folder on disk, as the reading rules want to see it.
 *
 * Invariant: nothing but a regular file is opened, no link is followed, and a listing is either complete or shows the
 * retirement that made it incomplete: checkpoints are only ever deleted after `retired.json` has appeared.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync, type Stats } from 'node:fs';
import path from 'node:path';
import {
  type CheckpointFolderView,
  type EntryKind,
  MAX_CHECKPOINT_BYTES,
  RETIRED_FILE_NAME,
} from '../../rules/recovery';

/** Every answer is there at once. */
export interface FolderOnDisk extends CheckpointFolderView {
  names(): readonly string[];
  entryKind(name: string): EntryKind;
  size(name: string): number;
  read(name: string): Uint8Array;
}

const OPEN_FILE = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Moments of a load; tests stop a process at each. */
export type LoadStep = 'listed' | 'reading';

/** Reads only, and needs no permission to write: enough to verify a journal on a read-only disk. */
export function checkpointFolderView(folder: string, onStep?: (step: LoadStep) => void): FolderOnDisk {
  const at = (name: string): string => path.join(folder, name);
  return {
    names: () => {
      const names = readdirSync(folder);
      onStep?.('listed');
      // It appeared while the folder was being listed: what was listed may already lack deleted checkpoints.
      const retired = lstatSync(at(RETIRED_FILE_NAME), { throwIfNoEntry: false }) !== undefined;
      return retired && !names.includes(RETIRED_FILE_NAME) ? [RETIRED_FILE_NAME] : names;
    },
    entryKind: (name) => kindOf(lstatSync(at(name))),
    size: (name) => lstatSync(at(name)).size,
    read: (name) => {
      onStep?.('reading');
      return readWhole(at(name));
    },
  };
}

function kindOf(stat: Stats): EntryKind {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  return stat.isSymbolicLink() ? 'symlink' : 'other';
}

/** At most one byte more than a journal takes, so that the rules see a file that grew too large. */
function readWhole(file: string): Uint8Array {
  const fd = openSync(file, OPEN_FILE);
  try {
    const bytes = Buffer.alloc(Math.min(fstatSync(fd).size, MAX_CHECKPOINT_BYTES) + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = readSync(fd, bytes, length, bytes.length - length, length);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}
