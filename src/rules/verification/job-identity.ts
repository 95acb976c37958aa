/**
 * The names of a job and of its hand-off. Invariant: a job's id follows from its run, its role and the job before it, so whoever
 * prepares a successor, however often, prepares the same one.
 */
import { shortIdentity, type JobRole } from './names';

export const JOB_DOMAIN = 'countersign.job.v1';
export const OPERATION_DOMAIN = 'countersign.internal_operation.v1';
/** The one handler of internal operations: a closed type, which nobody can name from outside. */
export const LAUNCH_HANDLER = 'launch';

export interface JobIdentity {
  readonly runId: string;
  readonly role: JobRole;
  /** The specialist before this one; null of the first, and of the coordinator. */
  readonly parent: string | null;
}

/** 32 hex digits. */
export function jobIdOf({ runId, role, parent }: JobIdentity): string {
  return shortIdentity(JOB_DOMAIN, { run: runId, role, parent_job: parent });
}

/** `op_internal_` and 32 hex digits: the hand-off of a job, one however often it is tried. */
export function operationIdOf(jobId: string): string {
  return `op_internal_${shortIdentity(OPERATION_DOMAIN, { handler: LAUNCH_HANDLER, job: jobId })}`;
}

/** The action under which the send slot of a job stands. */
export function launchActionId(jobId: string): string {
  return `act_${jobId}`;
}
