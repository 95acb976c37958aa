/**
 * What the workflow of a job takes in and gives out. Invariant: no content and no credential; names and shapes here are an
 * interface to users and scripts, and only grow.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { JOB_CHANGED_SIGNAL, SUBMIT_UPDATE } from '../activities/launch-contract';
import type { JobReason, JobState } from '../rules/verification/job-states';

export type { AuthorizedJobInput, HandedOff } from '../activities/launch-contract';

export interface JobStatus {
  readonly run_id: string;
  readonly job_id: string;
  readonly journal_id: string | null;
  readonly state: JobState;
  readonly reason: JobReason | null;
  /** The provider's own word, of `provider_refused`. */
  readonly refusal: string | null;
  /** Why it was turned down, or not taken anywhere, in the words of the worker that said so. */
  readonly message: string | null;
  /** Whether the provider was ever asked. `unknown` may have been paid for. */
  readonly launched: 'no' | 'yes' | 'unknown';
  /** Digest of what was submitted, in the content store. */
  readonly submission: string | null;
  /** Unix milliseconds: the exclusive end of its authorization. */
  readonly expires_at: number;
  /** Somebody before this execution had launched it. */
  readonly replayed: boolean;
}

export interface Submitted {
  readonly job_id: string;
  readonly submission: string;
}

export const jobStatusQuery = defineQuery<JobStatus>('job_status');
/** That this is stored as the job's submission: the workflow reads the journal, and takes what stands there. */
export const submitUpdate = defineUpdate<JobStatus, [Submitted]>(SUBMIT_UPDATE);
/** That something about the job is new in the journal. */
export const jobChangedSignal = defineSignal(JOB_CHANGED_SIGNAL);
