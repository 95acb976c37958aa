/**
 * What a workflow does that stands by a job: it starts when somebody else should have the job in hand. Invariant: it launches
 * nothing and ends nothing; a job that is still open has a workflow of its own when this is over, as it would have had from its author.
 */
import { sleep, startChild, workflowInfo } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { JOB_WORKFLOW } from '../activities/launch-contract';
import { jobWorkflowId } from '../rules/launches/job-order';
import { isOpen } from '../rules/verification/job-states';
import { HEAD_START_MS } from '../rules/verification/job-timers';
import type { authorizedJob } from './authorized-job';
import type { JobLoop } from './job-loop';
import type { AuthorizedJobInput, JobStatus } from './job-messages';

export async function standBy(loop: JobLoop, input: AuthorizedJobInput): Promise<JobStatus> {
  if (elapsedMs() < (input.stands_by?.in_ms ?? 0)) await sleep(HEAD_START_MS);
  await loop.look();
  if (isOpen(loop.job.state)) await giveWorkflow(loop.job.jobId, input);
  else loop.complete();
  return loop.status();
}

async function giveWorkflow(jobId: string, { stands_by: _mine, ...input }: AuthorizedJobInput): Promise<void> {
  const ms_ago = (input.handed_off?.ms_ago ?? 0) + elapsedMs();
  try {
    await startChild<typeof authorizedJob>(JOB_WORKFLOW, {
      workflowId: jobWorkflowId(jobId),
      args: [{ ...input, handed_off: { launched: 'unknown', ms_ago } }],
      parentClosePolicy: 'ABANDON',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    });
  } catch (fault) {
    // Then it is in the hands of its own workflow, as it should be.
    if (!(fault instanceof WorkflowExecutionAlreadyStartedError)) throw fault;
  }
}

/** By the clock of the server; what it was told to wait counts. */
function elapsedMs(): number {
  return Date.now() - workflowInfo().startTime.getTime();
}
