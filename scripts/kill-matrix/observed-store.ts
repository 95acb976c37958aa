/**
 * The journal of a worker with the appends of checkpoints as moments. Invariant: the moment is the first one at which another
 * process could see the checkpoint: on files when its name is there, on S3 when it was put, in PostgreSQL when its transaction has
 * committed, and so all that was written with it.
 */
import { type Closable, fileStore, openStore } from '../../src/adapters/stores';
import { isFolderAddress } from '../../src/adapters/stores/open-store';
import type { CreateOutcome, Store } from '../../src/ports';

const isCheckpoint = (entry: string | undefined): boolean => entry?.includes('/checkpoint-') === true;

export function observedStore(address: string, appended: () => void): Store {
  if (isFolderAddress(address)) {
    return fileStore(address, {
      onStep: (step, entry) => void (step === 'linked' && isCheckpoint(entry) && appended()),
    });
  }
  const store: Store & Closable = openStore(address);
  const told = (entries: readonly (readonly [string, Uint8Array])[], outcomes: readonly CreateOutcome[]): void => {
    for (const [index, [entry]] of entries.entries()) {
      if (outcomes[index] === 'created' && isCheckpoint(entry)) appended();
    }
  };
  return {
    scope: store.scope,
    read: (entry) => store.read(entry),
    list: (prefix, after) => store.list(prefix, after),
    create: async (entry, bytes) => {
      const outcome = await store.create(entry, bytes);
      told([[entry, bytes]], [outcome]);
      return outcome;
    },
    ...(store.createInOrder === undefined
      ? {}
      : {
          createInOrder: async (entries) => {
            const outcomes = (await store.createInOrder?.(entries)) ?? [];
            told(entries, outcomes);
            return outcomes;
          },
        }),
  };
}
