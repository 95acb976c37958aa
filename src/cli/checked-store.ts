/**
 * A store that is looked at before its first use. Invariant: nothing is read from it or written to it until the check has passed;
 * that is once, and a check that failed is made again.
 */
import type { Store } from '../ports';

export function checkedStore<S extends Store>(store: S, check: () => Promise<void>): S {
  let passed: Promise<void> | null = null;
  const checked = async (): Promise<void> => {
    passed ??= check();
    try {
      await passed;
    } catch (fault) {
      passed = null;
      throw fault;
    }
  };
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]) => {
        await checked();
        return value.apply(target, given) as unknown;
      };
    },
  });
}
