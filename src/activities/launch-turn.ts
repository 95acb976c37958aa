/**
 * Whether it is a job's turn in its run. Invariant: a run that has records launches only the job that its records have come to, on the
 * receipt that they hold; a launch by itself has no records, and needs none.
 */
import type { JobOrder } from '../rules/launches/job-order';
import { Refusal } from '../rules/refusal';
import type { Journal } from './journal';

/** The person of the run; null of a launch by itself. */
export async function refuseOutOfTurn(
  journal: Journal,
  journalId: string,
  { runId, jobId }: JobOrder,
  token: string,
): Promise<string | null> {
  const files = journal.run(runId);
  if ((await files.opening(journalId)).opened === null) return null;
  const book = await files.book(journalId);
  const step = book.next();
  if (step?.does !== 'hand_off' || step.job.jobId !== jobId) {
    throw new Refusal('receipt_not_wanted', 'it is not the turn of this job in its run', 'job_id');
  }
  if (book.receipts.get(jobId)?.token !== token) {
    throw new Refusal('receipt_not_wanted', 'is not the receipt that the run holds for this job', 'receipt');
  }
  return book.must.person;
}
