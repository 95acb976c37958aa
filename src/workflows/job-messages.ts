/**
 * What the workflow of a job takes in and gives out. Invariant: no content and no credential; names and shapes here are an
 * interface to users and scripts, and only grow.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { JOB_CHANGED_SIGNAL, SUBMIT_UPDATE } from '../activities/launch-contract';
import type { Dict } from '../rules/fields';
import type { JobReason, JobState } from '../rules/verification/job-states';

export interface AuthorizedJobInput {
  readonly order: Dict;
  /** The journal that the job belongs to. @default the first worker's */
  readonly journal_id?: string;
  /** A launch receipt as compact JWS. */
  readonly receipt: string;
  /** How long the worker may take, from the moment that it was seen to run. */
  readonly running_deadline_ms: number;
  /** How long until the outcome of the launch must be known. @default 120000 */
  readonly launch_lease_ms?: number;
  /** Task queue of the workers that have the launcher. @default the workflow's own */
  readonly task_queue?: string;
  /** A submission ends this workflow, and the run makes of it what follows. @default false */
  readonly projected_by_run?: boolean;
  /** The hand-off that whoever starts this workflow has made. @default it has made none */
  readonly handed_off?: HandedOff;
}

export interface HandedOff {
  /** `no`: proven to have launched nothing, so it may be handed off again. */
  readonly launched: 'no' | 'unknown';
  /** How long ago it began. */
  readonly ms_ago: number;
}

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
