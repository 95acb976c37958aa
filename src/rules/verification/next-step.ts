/**
 * What is to be done next in a run, from whatever half-written state it was left in. Invariant: at any moment at most one job of a run
 * is open; a job that ended without a result has no successor, and a completed one has exactly the one that was planned.
 */
import { Refusal } from '../refusal';
import { inProcessChecks, plannedJobs, type PlannedJob } from './chain';
import type { Job } from './job';
import { isTerminal, type JobReason } from './job-states';
import type { VerificationRun } from './run';

export interface RunState {
  readonly run: VerificationRun;
  /** Places in the plan of the in-process checks whose results are committed. */
  readonly executed: ReadonlySet<number>;
  /** The jobs that are recorded, by id. */
  readonly jobs: ReadonlyMap<string, Job>;
}

export type RunStep =
  /** Run a check in the process, and commit its result. */
  | { readonly does: 'execute'; readonly place: number }
  /** Record the job. Only with its receipt. */
  | { readonly does: 'prepare'; readonly job: PlannedJob }
  /** Hand it off: it was prepared, and nobody has claimed it. */
  | { readonly does: 'hand_off'; readonly job: PlannedJob }
  /** Claimed: nothing may be done but wait for its worker, or for its timer. */
  | { readonly does: 'wait'; readonly job: PlannedJob }
  /** From the stored submission: commit what it says, prepare `next`, complete the job naming `next`. No call. */
  | { readonly does: 'project'; readonly job: PlannedJob; readonly next: PlannedJob | null }
  /** Prepared, but the job before it ended without a result: end it, nobody may claim it (`refuse_receipt`). */
  | { readonly does: 'withdraw'; readonly job: PlannedJob }
  | { readonly does: 'end'; readonly outcome: 'completed' }
  | { readonly does: 'end'; readonly outcome: 'incomplete'; readonly job: PlannedJob; readonly reason: JobReason };

export function nextStep({ run, executed, jobs }: RunState): RunStep {
  const chain = plannedJobs(run);
  refuseStrangers(chain, jobs);
  const place = inProcessChecks(run).find((check) => !executed.has(check));
  if (place !== undefined) {
    if (jobs.size > 0) broken('has jobs before its own checks are done');
    return { does: 'execute', place };
  }
  for (const [index, planned] of chain.entries()) {
    const job = jobs.get(planned.jobId);
    const next = chain[index + 1] ?? null;
    if (job === undefined) return { does: 'prepare', job: planned };
    const follows = next === null ? undefined : jobs.get(next.jobId);
    const step = stepOf(planned, job, next);
    const lost = step?.does === 'end' && follows?.state === 'prepared';
    if (lost && next !== null) return { does: 'withdraw', job: next };
    if (step !== null) return step;
  }
  return { does: 'end', outcome: 'completed' };
}

/** Null: the job is completed, and the next one has its turn. */
function stepOf(planned: PlannedJob, job: Job, next: PlannedJob | null): RunStep | null {
  switch (job.state) {
    case 'prepared':
      return { does: 'hand_off', job: planned };
    case 'launching':
    case 'running':
      return { does: 'wait', job: planned };
    case 'submitted':
      return { does: 'project', job: planned, next };
    case 'completed':
      return job.next === (next?.jobId ?? null) ? null : broken('names another job that follows than its plan');
    case 'unavailable':
    case 'failed':
      return { does: 'end', outcome: 'incomplete', job: planned, reason: job.reason as JobReason };
  }
}

/** Before its parent is completed, a successor may have been prepared, and have ended, but nobody can have claimed it. */
function mayBeFollowed(parent: Job, child: Job): boolean {
  if (parent.state === 'completed') return true;
  return parent.submission !== null && child.claim === null && child.submission === null;
}

/** States that no order of writing leaves behind. */
function refuseStrangers(chain: readonly PlannedJob[], jobs: ReadonlyMap<string, Job>): void {
  const recorded = chain.filter(({ jobId }) => jobs.has(jobId)).length;
  if (recorded !== jobs.size) broken('has a job that its plan does not have');
  const gap = chain.findIndex(({ jobId }) => !jobs.has(jobId));
  if (gap >= 0 && gap < recorded) broken('lacks a job before one that it has');
  for (const [index, { jobId }] of chain.slice(1).entries()) {
    const [parent, child] = [jobs.get((chain[index] as PlannedJob).jobId), jobs.get(jobId)];
    if (parent !== undefined && child !== undefined && !mayBeFollowed(parent, child)) {
      broken('has a job that follows one without a result');
    }
  }
}

/** Whether nothing more can happen to any job of the run. */
export function isSettled(jobs: ReadonlyMap<string, Job>): boolean {
  return [...jobs.values()].every(({ state }) => isTerminal(state));
}

function broken(reason: string): never {
  throw new Refusal('journal_invalid', reason, 'run');
}
