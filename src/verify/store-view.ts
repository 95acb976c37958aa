/**
 * A journal in any `Store`, to be verified. Invariant: the store is only listed and read. A store shows nothing that could
 * not be its own entry, so only a plain folder can be found to hold strange files.
 */
import type { Store } from '../ports';
import type { CheckpointFolderView, EntryKind } from '../rules/recovery';
import type { Entry, JournalView } from './view';

/** `prefix` is a folder inside the store; `''` is the whole store. */
export function storeView(store: Store, prefix = ''): JournalView {
  const at = (path: string): string => [prefix, path].filter((part) => part !== '').join('/');
  const list = async (folder: string): Promise<readonly Entry[] | null> => {
    const names = await store.list(at(folder));
    return names.length === 0 ? null : names.map(toEntry);
  };
  const read = async (path: string): Promise<Uint8Array> => {
    const bytes = await store.read(at(path));
    if (bytes === null) throw new Error('an entry that was listed is gone');
    return bytes;
  };
  return { list, read, checkpoints: (folder) => checkpointsIn(list, read, folder) };
}

function toEntry(name: string): Entry {
  const folder = name.endsWith('/');
  return { name: folder ? name.slice(0, -1) : name, kind: folder ? 'directory' : 'file' };
}

function checkpointsIn(
  list: (folder: string) => Promise<readonly Entry[] | null>,
  readPath: (path: string) => Promise<Uint8Array>,
  folder: string,
): CheckpointFolderView {
  let kinds = new Map<string, EntryKind>();
  let last: { readonly name: string; readonly bytes: Uint8Array } | null = null;
  // A store knows no sizes: the size of an entry is that of its bytes, which are then kept for the read that follows.
  const read = async (name: string): Promise<Uint8Array> => {
    if (last?.name !== name) last = { name, bytes: await readPath(`${folder}/${name}`) };
    return last.bytes;
  };
  return {
    names: async () => {
      kinds = new Map(((await list(folder)) ?? []).map((entry) => [entry.name, entry.kind]));
      return [...kinds.keys()];
    },
    entryKind: (name) => kinds.get(name) ?? 'other',
    size: async (name) => (await read(name)).length,
    read,
  };
}
