/**
 * Erasing what a verification run was about. Invariant: what another run of the same document was asked, too, stays until that is
 * erased, and so does the salt that both share; nothing of the journal goes.
 */
import { Journal } from './activities/journal';
import { readRuns } from './activities/read-runs';
import { answerKey, documentScope } from './activities/run-contents';
import type { ContentStore, Store } from './ports';
import { Refusal } from './rules/refusal';
import type { RunBook } from './rules/verification/run-book';
import { ownOf, readable, sharedBy } from './transfer';

export const resultPath = (digest: string): string => `results/${digest.slice(digest.indexOf(':') + 1)}`;

/** Answers the paths, in the order in which they went: what leads to others goes last. */
export async function eraseRun(
  store: Store,
  contents: ContentStore,
  runId: string,
  force: boolean,
): Promise<readonly string[]> {
  const journal = new Journal(store);
  const book = await journal.run(runId).book(await journal.id());
  if (book.outcome === null && !force) {
    const reason = 'is not over: without its contents it cannot go on. Cancel it first, or force it';
    throw new Refusal('run_open', reason, runId);
  }
  const { source } = book.must.run.snapshot.selector;
  const sharing = await readRuns(journal, (first) => first.must.run.snapshot.selector.source === source);
  const others: RunBook[] = [];
  for (const one of sharing.values()) if (one.runId !== runId && (await isKept(contents, one))) others.push(one);
  const kept = new Set(others.flatMap(sharedBy));
  const results = new Set([...sharedBy(book).filter((digest) => !kept.has(digest)), ...ownOf(book)]);
  const recalled: string[] = [];
  for (const place of book.must.run.plan.checks.keys()) {
    const path = `recalled/${answerKey(runId, place)}`;
    const named = await readable(contents, path);
    if (named === null) continue;
    recalled.push(path);
    results.add(new TextDecoder().decode(named));
  }
  const salts = [`salts/${runId}`, ...(others.length === 0 ? [`salts/${documentScope(source)}`] : [])];
  const paths = [...salts, ...[...results].map(resultPath), ...recalled];
  for (const path of paths) await contents.delete(path);
  return paths;
}

/** Not erased: it has its salt, or has not come to need one. */
async function isKept(contents: Store, { runId, records }: RunBook): Promise<boolean> {
  return records.length === 1 || (await readable(contents, `salts/${runId}`)) !== null;
}
