/**
 * A store that tells how long its calls take. Invariant: it answers exactly what the store answers, when the store answers; the
 * time is taken beside the call and never in its way.
 */
import type { ContentStore, Store } from '../ports';
import type { LabelsOf } from '../rules/measurements';
import type { Meter } from './engine';

type Labels = LabelsOf<'storeLatency'>;

export function measuredStore(
  store: Store & Partial<ContentStore>,
  which: Labels['store'],
  meter: Meter,
  monotonic: () => number,
): Store & Partial<ContentStore> {
  const timed = (operation: Labels['operation']): (<T>(call: () => Promise<T>) => Promise<T>) => {
    const ok: Labels = { store: which, operation, outcome: 'ok' };
    const failed: Labels = { store: which, operation, outcome: 'failed' };
    return (call) => {
      const started = monotonic();
      const answer = call();
      answer.then(
        () => meter.record('storeLatency', monotonic() - started, ok),
        () => meter.record('storeLatency', monotonic() - started, failed),
      );
      return answer;
    };
  };
  const [create, createInOrder, read, list] = [
    timed('create'),
    timed('create_in_order'),
    timed('read'),
    timed('list'),
  ] as const;
  return {
    scope: store.scope,
    create: (path, bytes) => create(() => store.create(path, bytes)),
    ...(store.createInOrder === undefined
      ? {}
      : { createInOrder: (entries) => createInOrder(() => store.createInOrder!(entries)) }),
    ...(store.delete === undefined ? {} : { delete: (path) => store.delete!(path) }),
    read: (path) => read(() => store.read(path)),
    list: (prefix, after) => list(() => store.list(prefix, after)),
  };
}
