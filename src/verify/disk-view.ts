/**
 * A journal in a plain folder, to be verified. Invariant: nothing is written, synced, locked or swept, so a copy on a
 * read-only disk verifies like the original; nothing but a regular file is opened.
 */
import { readdirSync, type Dirent } from 'node:fs';
import path from 'node:path';
import { checkpointFolderView } from '../adapters/stores';
import type { EntryKind } from '../rules/recovery';
import type { JournalView } from './view';

export function diskView(root: string): JournalView {
  const at = (folder: string): string => (folder === '' ? root : `${root}/${folder}`);
  return {
    list: (folder) => {
      try {
        return readdirSync(at(folder), { withFileTypes: true }).map((item) => ({
          name: item.name,
          kind: kindOf(item),
        }));
      } catch (fault) {
        const { code } = fault as NodeJS.ErrnoException;
        if (code === 'ENOENT' || code === 'ENOTDIR') return null;
        throw fault;
      }
    },
    read: (entry) => checkpointFolderView(path.dirname(at(entry))).read(path.basename(entry)),
    checkpoints: (folder) => checkpointFolderView(at(folder)),
  };
}

function kindOf(item: Dirent): EntryKind {
  if (item.isFile()) return 'file';
  if (item.isDirectory()) return 'directory';
  return item.isSymbolicLink() ? 'symlink' : 'other';
}
