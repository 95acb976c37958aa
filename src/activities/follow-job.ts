/**
 * What the journal's files of a job mean to the records of its run. Invariant: a launch is recorded only where its slot was begun, and
 * an end only where the job has one outcome; what is in between waits.
 */
import type { PlannedJob } from '../rules/verification/chain';
import type { Job } from '../rules/verification/job';
import { ENDINGS, mayMove, type JobReason, type JobState } from '../rules/verification/job-states';
import type { LifecycleEvent } from '../rules/verification/lifecycle-record';
import type { JobFacts } from './launch-contract';
import type { JobFiles } from './job-files';
import { slotOf } from './launch';
import type { RunEngine } from './run-engine';
import { orderOfJob } from '../rules/launches/job-of-run';
import type { RunBook } from '../rules/verification/run-book';

/** Null: the job is where the records say. */
export function eventOfFacts(job: Job, { slot, end, outcome }: JobFacts): LifecycleEvent | null {
  const { jobId, state: from } = job;
  const forward = (): LifecycleEvent | null => {
    if (slot !== 'begun') return null;
    if (from === 'prepared') return moved(jobId, from, 'launching');
    return from === 'launching' && end === 'acked' ? moved(jobId, from, 'running') : null;
  };
  if (outcome === null) return forward();
  if (outcome.outcome === 'submitted') {
    if (from === 'prepared') return forward();
    const submission = { jobId, contextDigest: job.contextDigest, outputDigest: outcome.submission };
    return { type: 'job_submitted', from, submission };
  }
  const { reason, refusal } = outcome;
  if (mayMove(from, ENDINGS[reason].to, reason)) return moved(jobId, from, ENDINGS[reason].to, reason, refusal);
  // The reason belongs to a later state than the one that is recorded, which it went through.
  if (from === 'prepared' && slot === 'begun') return moved(jobId, from, 'launching');
  return from === 'launching' ? moved(jobId, from, 'running') : null;
}

/** Ends a job that nobody carries any more: takes its slot for nobody, or calls what somebody began unknown. */
export async function endUncarried(
  engine: RunEngine,
  files: JobFiles,
  book: RunBook,
  planned: PlannedJob,
  reason: 'authorization_expired' | 'authorization_invalid' | 'dispatch_exhausted',
): Promise<void> {
  const job = book.jobs.get(planned.jobId);
  if (job === undefined) return;
  const order = orderOfJob(book.must.run, planned, job.contextDigest);
  await files.close(slotOf(order, engine.newOwner(), engine.now(), 0));
  const { slot } = await files.facts();
  const { jobId } = planned;
  const known = slot === 'begun' ? 'launch_outcome_unknown' : reason;
  await files.settle({ outcome: 'ended', jobId, reason: known, refusal: null });
}

function moved(
  jobId: string,
  from: JobState,
  to: JobState,
  reason: JobReason | null = null,
  refusal: string | null = null,
): LifecycleEvent {
  return { type: 'job_moved', jobId, from, to, reason, refusal };
}
