/**
 * The entries of a run, as the inbox sent them, as a journal to verify. Invariant: it holds what was sent and nothing else; whether that is
 * a journal at all is for the verifier to say.
 */
import type { Entry, JournalView } from '../../verify/view';

export interface SentRun {
  readonly journal_id: string;
  readonly run_id: string;
  readonly entries: readonly (readonly [path: string, text: string])[];
}

export function entriesView({ entries }: SentRun): JournalView {
  const files = new Map(entries.map(([path, text]) => [path, new TextEncoder().encode(text)]));
  const folders = new Map<string, Map<string, Entry>>();
  for (const path of files.keys()) {
    const parts = path.split('/');
    for (const [depth, name] of parts.entries()) {
      const folder = parts.slice(0, depth).join('/');
      const within = folders.get(folder) ?? new Map<string, Entry>();
      within.set(name, { name, kind: depth === parts.length - 1 ? 'file' : 'directory' });
      folders.set(folder, within);
    }
  }
  const list = (folder: string): readonly Entry[] | null => [...(folders.get(folder)?.values() ?? [])];
  const read = (path: string): Uint8Array => {
    const bytes = files.get(path);
    if (bytes === undefined) throw new Error('an entry that was listed is gone');
    return bytes;
  };
  return {
    list: (folder) => (folders.has(folder) ? list(folder) : null),
    read,
    checkpoints: (folder) => ({
      names: () => [...(folders.get(folder)?.keys() ?? [])],
      entryKind: (name) => folders.get(folder)?.get(name)?.kind ?? 'other',
      size: (name) => read(`${folder}/${name}`).length,
      read: (name) => read(`${folder}/${name}`),
    }),
  };
}
