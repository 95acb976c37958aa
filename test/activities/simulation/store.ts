/**
 * A store in memory, and the same store as one process sees it. Invariant: put-if-absent and read-your-writes always hold;
 * a call may be slow, may fail, and may fail although it happened.
 */
import { StoreError, type CreateOutcome, type Store } from '../../../src/ports';
import type { Process, Scheduler } from './scheduler';

/** The truth. Also good as a plain store in tests without faults. */
export class MemoryStore implements Store {
  readonly scope = 'shared';
  readonly entries = new Map<string, Uint8Array>();

  put(path: string, bytes: Uint8Array): CreateOutcome {
    const stored = this.entries.get(path);
    if (stored !== undefined) return Buffer.compare(stored, bytes) === 0 ? 'identical' : 'conflict';
    this.entries.set(path, bytes);
    return 'created';
  }

  names(prefix: string, after = ''): readonly string[] {
    const start = prefix === '' ? '' : `${prefix}/`;
    const names = new Set<string>();
    for (const path of this.entries.keys()) {
      if (!path.startsWith(start)) continue;
      const rest = path.slice(start.length);
      const slash = rest.indexOf('/');
      names.add(slash === -1 ? rest : rest.slice(0, slash + 1));
    }
    return [...names].filter((name) => name > after).sort();
  }

  create(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    return Promise.resolve(this.put(path, bytes));
  }
  read(path: string): Promise<Uint8Array | null> {
    return Promise.resolve(this.entries.get(path) ?? null);
  }
  list(prefix: string, after?: string): Promise<readonly string[]> {
    return Promise.resolve(this.names(prefix, after));
  }
}

export type Created = (process: Process, path: string, bytes: Uint8Array) => void;

/** `onCreated` hears of every entry at the moment at which it comes into being. */
export function storeOf(scheduler: Scheduler, process: Process, truth: MemoryStore, onCreated: Created): Store {
  const failed = (): StoreError => new StoreError('store_unavailable', 'the store did not answer');
  const reading = <T>(look: () => T): Promise<T> =>
    scheduler.step(process, 'read', (fault) => {
      if (fault !== null) throw failed();
      return look();
    });
  return {
    scope: 'shared',
    create: (path, bytes) =>
      scheduler.step(
        process,
        'create',
        (fault) => {
          if (fault !== null && fault % 2 === 0) throw failed();
          const outcome = truth.put(path, bytes);
          if (outcome === 'created') onCreated(process, path, bytes);
          if (fault !== null) throw failed();
          return outcome;
        },
        path,
      ),
    read: (path) => reading(() => truth.entries.get(path) ?? null),
    list: (prefix, after) => reading(() => truth.names(prefix, after)),
  };
}
