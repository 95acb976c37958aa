/**
 * State that belongs to one execution of a workflow. Invariant: it is found by the root scope, which is an object of that very execution;
 * what one that was evicted left is never found.
 */
import { CancellationScope } from '@temporalio/workflow';

export function perWorkflow<T>(make: () => T): () => T {
  const kept = new WeakMap<CancellationScope, T>();
  return () => {
    let root = CancellationScope.current();
    while (root.parent !== undefined) root = root.parent;
    const own = kept.get(root) ?? make();
    kept.set(root, own);
    return own;
  };
}
