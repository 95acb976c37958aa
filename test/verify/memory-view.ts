/** Files in memory as `verify` sees a store. */
import type { Store } from '../../src/ports';
import { storeView, type JournalView } from '../../src/verify';

export function memoryView(files: ReadonlyMap<string, Uint8Array>): JournalView {
  const never = (): Promise<never> => Promise.reject(new Error('verifying never writes'));
  const store: Store = {
    scope: 'shared',
    create: never,
    read: (name) => Promise.resolve(files.get(name) ?? null),
    list: (folder) => Promise.resolve(namesIn(files.keys(), folder === '' ? '' : `${folder}/`)),
  };
  return storeView(store);
}

function namesIn(paths: Iterable<string>, prefix: string): readonly string[] {
  const names = new Set<string>();
  for (const path of paths) {
    if (!path.startsWith(prefix)) continue;
    const rest = path.slice(prefix.length);
    const slash = rest.indexOf('/');
    names.add(slash < 0 ? rest : rest.slice(0, slash + 1));
  }
  return [...names].sort();
}
