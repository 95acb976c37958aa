/**
 * Erasing what a run was about. Invariant: only contents go, never an entry of the journal, so the chain verifies as before;
 * what is left of an erasure that was cut short leads to the rest of it.
 */
import { schemaPath } from './activities/contents';
import { Journal, lineageFolder } from './activities/journal';
import { runKind } from './activities/run-kind';
import { eraseRun, readable, resultPath } from './erase-run';
import type { ContentStore, Store } from './ports';
import { resultsOf } from './rules/plans/envelope';
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

/**
 * The salt goes as soon as nothing is found by it alone: from then on nothing of the run can be made again. What leads to other
 * entries goes last.
 */
const ORDER = ['salts/', 'operations/', 'results/', 'recalled/'];
/** Results that are looked into at once. */
const SIDE_BY_SIDE = 32;

export async function eraseContents(
  journal: Store,
  contents: ContentStore,
  runId: string,
  { force = false }: EraseOptions = {},
): Promise<Erased> {
  const id = await new Journal(journal).id();
  const kind = await runKind(journal, runId);
  if (kind === 'launch') return eraseLaunches(journal, contents, runId, force);
  if (kind === 'verification') return { runId, paths: await eraseRun(journal, contents, runId, force) };
  if ((await new Journal(journal).plan(runId)) === null) {
    throw new Refusal('unknown_run', `journal ${id} holds no such run`, runId);
  }
  if (!force) await refuseOpen(journal, runId);
  const paths = await contentPaths(journal, (path) => readable(contents, path), runId);
  const rank = (path: string): number => ORDER.findIndex((folder) => path.startsWith(folder));
  const unnamed = await unnamedResults(journal, contents, runId, new Set(paths));
  const schema = (await readable(contents, schemaPath(runId))) === null ? [] : [schemaPath(runId)];
  const inOrder = [...schema, ...unnamed, ...[...paths].sort((a, b) => rank(a) - rank(b))];
  for (const path of inOrder) await contents.delete(path);
  return { runId, paths: inOrder };
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

/**
 * Of launches: the context where it was stored for this launch, what was submitted, and the salts of both. What says which launch the call
 * is stays, so that the same id with anything else is refused as before; a Ref that an author gave is the author's.
 */
async function eraseLaunches(journal: Store, contents: ContentStore, runId: string, force: boolean): Promise<Erased> {
  const from = new Journal(journal);
  const jobs = (await journal.list(`${runId}/jobs`)).map((name) => from.job(runId, name.replace(/\/$/, '')));
  const paths = [`salts/${runId}`];
  const contexts: string[] = [];
  for (const files of jobs) {
    const [order, outcome] = await Promise.all([files.order(), files.outcome()]);
    if (outcome === null && !force) {
      throw new Refusal('run_open', 'is not over: its worker may still hand in. Wait for its end, or force it', runId);
    }
    if (order !== null) contexts.push(order.contextDigest);
    if (outcome?.outcome === 'submitted') paths.push(resultPath(outcome.submission));
  }
  for (const captureId of await contents.list('launches')) {
    const named = await readable(contents, `launches/${captureId}`);
    if (named === null || new TextDecoder().decode(named) !== runId) continue;
    const salt = await readable(contents, `salts/${captureId}`);
    if (salt === null) continue;
    const isOurs = resultsOf(new TextDecoder().decode(salt), ['context']);
    paths.push(`salts/${captureId}`);
    for (const digest of contexts) {
      if (isOurs((await readable(contents, resultPath(digest))) ?? new Uint8Array())) paths.unshift(resultPath(digest));
    }
  }
  const inOrder = [...paths].sort((a, b) => Number(a.startsWith('salts/')) - Number(b.startsWith('salts/')));
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
