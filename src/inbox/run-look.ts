/**
 * All that the page of a verification run says: what the journal holds of it and its jobs, and what its execution asks. Invariant: it reads
 * and asks only; a time is told where the journal has one, and never guessed; no content is in it.
 */
import { Journal } from '../activities/journal';
import type { Service } from '../cli/service';
import { verificationRuns } from '../cli/service';
import { statusOf } from '../cli/verify-run/follow-run';
import type { RunStatus } from '../client';
import type { Store } from '../ports';
import { attemptName, slotFromBytes, type SlotRecord } from '../rules/sends/slot';
import { plannedJobs, type PlannedJob } from '../rules/verification/chain';
import type { RunBook } from '../rules/verification/run-book';

export interface LookedJob {
  readonly planned: PlannedJob;
  /** Of its one launch: taken when, and for how long. Null while nobody has taken it. */
  readonly slot: SlotRecord | null;
}

export interface RunLook {
  readonly runId: string;
  readonly book: RunBook;
  readonly jobs: readonly LookedJob[];
  /** Null while no worker answers for it. */
  readonly status: RunStatus | null;
}

/** Null of what is no verification run of this journal. */
export async function lookAtRun(service: Service, store: Store, runId: string): Promise<RunLook | null> {
  const journal = new Journal(store);
  const book = await journal.run(runId).book(await journal.id());
  if (book.opened === null) return null;
  const jobs = plannedJobs(book.must.run).map(async (planned) => ({
    planned,
    slot: await journal.entries.read(`${runId}/jobs/${planned.jobId}/${attemptName(1)}`, slotFromBytes),
  }));
  const handle = verificationRuns(service, '', {}).handle(runId);
  const status = book.outcome === null ? await statusOf(service, handle) : null;
  return { runId, book, jobs: await Promise.all(jobs), status };
}
