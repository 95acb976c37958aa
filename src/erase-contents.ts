/**
 * Erasing what a run was about. Invariant: only contents go, never an entry of the journal, so the chain verifies as before;
 * what is left of an erasure that was cut short leads to the rest of it.
 */
import { Journal } from './activities/journal';
import { runKind } from './activities/run-kind';
import { isSession } from './activities/session-files';
import { erasePlan, refuseOpen } from './erase-plan';
import { eraseRun, resultPath } from './erase-run';
import { eraseSession } from './erase-session';
import type { ContentStore, Store } from './ports';
import { resultsOf } from './rules/plans/envelope';
import { Refusal } from './rules/refusal';
import { readable } from './transfer';

export interface EraseOptions {
  /** Also erase the contents of a run that is not over: it then stops as `content_missing`, and cannot go on. @default false */
  readonly force?: boolean;
}

export interface Erased {
  readonly runId: string;
  /** Entries of the content store that are not there any more. */
  readonly paths: readonly string[];
}

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
  if (isSession(await journal.list(runId))) {
    return { runId, paths: await eraseSession(journal, contents, runId, force) };
  }
  if ((await new Journal(journal).plan(runId)) === null) {
    throw new Refusal('unknown_run', `journal ${id} holds no such run`, runId);
  }
  if (!force) await refuseOpen(journal, runId);
  return { runId, paths: await erasePlan(journal, contents, runId) };
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
