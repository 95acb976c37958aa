/** What a run of a journal carries, told by what its folder holds. Invariant: a run is of one kind for ever. */
import type { Store } from '../ports';
import { LIFECYCLE_FOLDER } from './run-files';

export const RUN_KINDS = ['plan', 'verification', 'launch'] as const;
export type RunKind = (typeof RUN_KINDS)[number];

/** Null where the journal holds no such run. */
export async function runKind(store: Pick<Store, 'list'>, runId: string): Promise<RunKind | null> {
  return kindOf(await store.list(runId));
}

/** `names` as `Store.list` gives them. */
export function kindOf(names: readonly string[]): RunKind | null {
  if (names.includes('plan.json')) return 'plan';
  if (names.includes(`${LIFECYCLE_FOLDER}/`)) return 'verification';
  return names.includes('jobs/') ? 'launch' : null;
}
