/**
 * The jobs of a run: one specialist a launched check, one after the other, the coordinator last. Invariant: the whole chain follows
 * from the run alone, so a successor is never chosen: whoever asks, after whatever crash, finds the same one.
 */
import type { Launch } from '../receipts/launch-claims';
import { Refusal } from '../refusal';
import { checkPlanDigest, type Check } from './check-plan';
import { executorOf, type LaunchedExecutor } from './executors';
import { jobIdOf, launchActionId, operationIdOf } from './job-identity';
import type { JobRole } from './names';
import { runDigest, runIdOf, type VerificationRun } from './run';
import { snapshotDigest } from './snapshot';

/** What one specialist is bound to. */
export interface Assignment extends Check {
  /** From 1 to `total`. */
  readonly sequence: number;
  readonly total: number;
}

export interface PlannedJob {
  readonly jobId: string;
  readonly runId: string;
  readonly role: JobRole;
  /** The specialist before; null of the first, and of the coordinator. */
  readonly parent: string | null;
  /** Null of a specialist. */
  readonly stage: 'initial' | null;
  /** Null of the coordinator. */
  readonly assignment: Assignment | null;
  readonly executor: LaunchedExecutor;
  /** The hand-off of the job. */
  readonly operationId: string;
  /** The action of its send slot. */
  readonly actionId: string;
}

/** All jobs of a run, in order. */
export function plannedJobs(run: VerificationRun): readonly PlannedJob[] {
  const runId = runIdOf(runDigest(run));
  const checks = launchedChecks(run);
  const jobs: PlannedJob[] = [];
  for (const [index, { check, executor }] of checks.entries()) {
    const parent = jobs.at(-1)?.jobId ?? null;
    const assignment = { ...check, sequence: index + 1, total: checks.length };
    jobs.push(planned(runId, 'specialist', parent, executor, assignment));
  }
  const { coordinator } = run.executors;
  if (coordinator !== null) jobs.push(planned(runId, 'coordinator', null, coordinator, null));
  return jobs;
}

/** Places in the plan of the checks that run in the process; they come first. */
export function inProcessChecks({ plan, executors }: VerificationRun): readonly number[] {
  return plan.checks.flatMap(({ binding }, place) =>
    executorOf(executors, binding)?.mode === 'in_process' ? [place] : [],
  );
}

/** The one job that may follow; null of the coordinator. Throws for a job that the run does not have. */
export function successorOf(run: VerificationRun, jobId: string): PlannedJob | null {
  const jobs = plannedJobs(run);
  const place = jobs.findIndex((job) => job.jobId === jobId);
  if (place < 0) throw new Refusal('invalid_arguments', 'is no job of this run', 'job_id');
  return jobs[place + 1] ?? null;
}

/** What the receipt of a job has to permit. `contextDigest`: of what its worker will be shown. */
export function launchOf(run: VerificationRun, { jobId, runId, executor }: PlannedJob, contextDigest: string): Launch {
  const { provider, model, contentBoundary, costCeiling } = executor;
  const of = { runId, jobId, snapshotDigest: snapshotDigest(run.snapshot), planDigest: checkPlanDigest(run.plan) };
  return { ...of, provider, model, contextDigest, contentBoundary, costCeiling };
}

function launchedChecks({
  plan,
  executors,
}: VerificationRun): readonly { readonly check: Check; readonly executor: LaunchedExecutor }[] {
  return plan.checks.flatMap((check) => {
    const executor = executorOf(executors, check.binding);
    return executor?.mode === 'launched' ? [{ check, executor }] : [];
  });
}

function planned(
  runId: string,
  role: JobRole,
  parent: string | null,
  executor: LaunchedExecutor,
  assignment: Assignment | null,
): PlannedJob {
  const jobId = jobIdOf({ runId, role, parent });
  const stage = role === 'coordinator' ? 'initial' : null;
  const names = { operationId: operationIdOf(jobId), actionId: launchActionId(jobId) };
  return { jobId, runId, role, parent, stage, assignment, executor, ...names };
}
