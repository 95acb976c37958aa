/** The order of a job of a run. Invariant: it follows from the run, its plan and the context, so every door compares with the same. */
import { workflowIdDigest } from '../plans/identity';
import { launchOf, type PlannedJob } from '../verification/chain';
import type { VerificationRun } from '../verification/run';
import { runWorkflowId } from '../verification/run-workflow';
import type { JobOrder } from './job-order';

export function orderOfJob(run: VerificationRun, planned: PlannedJob, contextDigest: string): JobOrder {
  const { role, parent, runId } = planned;
  return { ...launchOf(run, planned, contextDigest), role, parent, origin: workflowIdDigest(runWorkflowId(runId)) };
}
