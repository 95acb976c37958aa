/**
 * Erasing what a plan was about. Invariant: nobody has to know the digest of a result for it to go: those that no slot names are told by
 * their salt; what leads to others goes last.
 */
import { schemaPath } from './activities/contents';
import { Journal, lineageFolder } from './activities/journal';
import type { ContentStore, Store } from './ports';
import { resultsOf } from './rules/plans/envelope';
import { isTerminalPhase } from './rules/recovery';
import { Refusal } from './rules/refusal';
import { contentPaths, readable } from './transfer';

/**
 * The salt goes as soon as nothing is found by it alone: from then on nothing of the run can be made again. What leads to other
 * entries goes last.
 */
const ORDER = ['salts/', 'operations/', 'results/', 'recalled/'];
/** Results that are looked into at once. */
const SIDE_BY_SIDE = 32;

/** Answers the paths, in the order in which they went. */
export async function erasePlan(journal: Store, contents: ContentStore, runId: string): Promise<readonly string[]> {
  const paths = await contentPaths(journal, (path) => readable(contents, path), runId);
  const rank = (path: string): number => ORDER.findIndex((folder) => path.startsWith(folder));
  const unnamed = await unnamedResults(journal, contents, runId, new Set(paths));
  const schema = (await readable(contents, schemaPath(runId))) === null ? [] : [schemaPath(runId)];
  const inOrder = [...schema, ...unnamed, ...[...paths].sort((a, b) => rank(a) - rank(b))];
  for (const path of inOrder) await contents.delete(path);
  return inOrder;
}

/** A run is over when the newest of its lineages is. */
export async function refuseOpen(store: Store, runId: string): Promise<void> {
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

/**
 * Results that no slot names, as their senders died before the end of it, or that somebody who asked again did not live to name.
 * Only their salt says whose they are, so where there may be any, all results of the store are looked into.
 */
async function unnamedResults(
  journal: Store,
  contents: ContentStore,
  runId: string,
  named: ReadonlySet<string>,
): Promise<readonly string[]> {
  const salt = await readable(contents, `salts/${runId}`);
  const keys = await unsettledKeys(journal, contents, runId);
  if (salt === null || keys.length === 0) return [];
  const isOurs = resultsOf(new TextDecoder().decode(salt), keys);
  const found: string[] = [];
  const names = (await contents.list('results')).map((name) => `results/${name}`).filter((path) => !named.has(path));
  for (let from = 0; from < names.length; from += SIDE_BY_SIDE) {
    const batch = names.slice(from, from + SIDE_BY_SIDE);
    const texts = await Promise.all(batch.map((path) => readable(contents, path)));
    found.push(...batch.filter((_path, index) => isOurs(texts[index] ?? new Uint8Array())));
  }
  return found;
}

/** Of effects that were sent or asked for by somebody who may have left more than one result. */
async function unsettledKeys(journal: Store, contents: ContentStore, runId: string): Promise<readonly string[]> {
  const from = new Journal(journal);
  const keys: string[] = [];
  for (const key of await from.keysWithSlots(runId)) {
    const slots = await from.slots(runId, key);
    const lost = slots.some(({ record, end }) => record.state === 'begun' && end === null);
    if (lost || (await readable(contents, `recalled/${key}`)) !== null) keys.push(key);
  }
  return keys;
}
