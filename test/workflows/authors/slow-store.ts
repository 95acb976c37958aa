/** A store whose entries take long, and not always as long: three of them longer than a task of one second is kept open. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../../src';

export function slowStore(store: Store): Store {
  let nr = 0;
  return {
    scope: store.scope,
    create: async (name, bytes) => {
      nr += 1;
      await sleep(300 + (nr % 5) * 150);
      return store.create(name, bytes);
    },
    read: (name) => store.read(name),
    list: (prefix, after) => store.list(prefix, after),
  };
}
