/**
 * The verification runs of a journal, for what follows from all of them. Invariant: nothing is remembered between two readings, so the
 * answer is that of the journal; a run that does not read is a fault of the journal, not a run that is not there.
 */
import { isRunId } from '../rules/recovery';
import type { RunBook } from '../rules/verification/run-book';
import type { Journal } from './journal';

/** Folders that are read at once. */
const SIDE_BY_SIDE = 16;

/** By their ids. `only`: those for which it holds, told by their first record. */
export async function readRuns(
  journal: Journal,
  only: (first: RunBook) => boolean = () => true,
): Promise<ReadonlyMap<string, RunBook>> {
  const journalId = await journal.id();
  const ids = await runIdsOf(journal);
  const books = new Map<string, RunBook>();
  for (let at = 0; at < ids.length; at += SIDE_BY_SIDE) {
    const read = ids.slice(at, at + SIDE_BY_SIDE).map(async (runId) => {
      const files = journal.run(runId);
      const first = await files.opening(journalId);
      if (first.opened === null || !only(first)) return null;
      return files.book(journalId);
    });
    for (const book of await Promise.all(read)) if (book !== null) books.set(book.runId, book);
  }
  return books;
}

/** Those that have records; others are runs of plans, or launches by themselves. */
export async function verificationRunIds(journal: Journal): Promise<readonly string[]> {
  const journalId = await journal.id();
  const ids: string[] = [];
  for (const runId of await runIdsOf(journal)) {
    if ((await journal.run(runId).opening(journalId)).opened !== null) ids.push(runId);
  }
  return ids;
}

async function runIdsOf(journal: Journal): Promise<readonly string[]> {
  return (await journal.names()).map((name) => name.replace(/\/$/, '')).filter(isRunId);
}
