/**
 * Erasing what a run was about. Invariant: only contents go, never an entry of the journal, so the chain verifies as before;
 * what is left of an erasure that was cut short leads to the rest of it.
 */
import { Journal, lineageFolder } from './activities/journal';
import { type ContentStore, StoreError, type Store } from './ports';
import { isTerminalPhase } from './rules/recovery';
import { Refusal } from './rules/refusal';
import { contentPaths } from './transfer';

export interface EraseOptions {
  /** Also erase the contents of a run that is not over: it then stops as `content_missing`, and cannot go on. @default false */
  readonly force?: boolean;
}

export interface Erased {
  readonly runId: string;
  /** Entries of the content store that are not there any more. */
  readonly paths: readonly string[];
}

/** The salt goes first: from then on nothing of the run can be made again. What leads to other entries goes last. */
const ORDER = ['salts/', 'operations/', 'results/', 'recalled/'];

export async function eraseContents(
  journal: Store,
  contents: ContentStore,
  runId: string,
  { force = false }: EraseOptions = {},
): Promise<Erased> {
  const id = await new Journal(journal).id();
  if ((await new Journal(journal).plan(runId)) === null) {
    throw new Refusal('unknown_run', `journal ${id} holds no such run`, runId);
  }
  if (!force) await refuseOpen(journal, runId);
  const paths = await contentPaths(journal, (path) => readable(contents, path), runId);
  const rank = (path: string): number => ORDER.findIndex((folder) => path.startsWith(folder));
  const inOrder = [...paths].sort((a, b) => rank(a) - rank(b));
  for (const path of inOrder) await contents.delete(path);
  return { runId, paths: inOrder };
}

/** A run is over when the newest of its lineages is. */
async function refuseOpen(store: Store, runId: string): Promise<void> {
  const names = await store.list(runId);
  const numbers = names.map((name) => Number(/^lineage-([0-9]{4,})\/$/.exec(name)?.[1] ?? 0));
  const newest = Math.max(0, ...numbers);
  const opened = (await store.list(`${runId}/lineages`)).length + 1;
  const journal = new Journal(store);
  const head = newest === 0 ? undefined : (await journal.chain(runId, newest)).at(-1);
  if (head !== undefined && newest >= opened && isTerminalPhase(head.phase)) return;
  const where = head === undefined ? 'has not begun' : `stands at ${head.phase} in ${lineageFolder(newest)}`;
  const reason = `is not over: it ${where}; without its contents it cannot go on. Cancel it first, or force it`;
  throw new Refusal('run_open', reason, runId);
}

/** Where a result stands can be read from a slot, too: what does not open any more is erased all the same. */
async function readable(contents: Store, path: string): Promise<Uint8Array | null> {
  try {
    return await contents.read(path);
  } catch (fault) {
    if (fault instanceof StoreError && fault.code === 'store_unsafe_entry') return null;
    throw fault;
  }
}
