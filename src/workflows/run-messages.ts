/**
 * What the workflow of a run takes in and gives out. Invariant: no content; names and shapes here are an interface to users and
 * scripts, and only grow.
 */
import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { Dict } from '../rules/fields';
import type { JobReason, JobState } from '../rules/verification/job-states';
import type { JobRole } from '../rules/verification/names';
import type { CheckOutcome } from '../rules/verification/results';

export interface VerificationRunInput {
  readonly run_id: string;
  /** The run, as `runToRecord` writes it. Absent: the journal has it already. */
  readonly run?: Dict;
  /** Digest of the person who starts it. */
  readonly person?: string;
  /** When the snapshot was captured, unix milliseconds. */
  readonly captured_at?: number;
  /** The journal that the run belongs to. @default the first worker's */
  readonly journal_id?: string;
  /** How long a worker may take, from the moment that it was seen to run. @default 600000 */
  readonly running_deadline_ms?: number;
  /** How long until the outcome of a launch must be known. @default 120000 */
  readonly launch_lease_ms?: number;
  /** How long a job waits for its receipt. @default 24 hours */
  readonly authorization_ms?: number;
  /** Task queue of the workers that have the checks and launchers. @default the workflow's own */
  readonly task_queue?: string;
}

export const RUN_PHASES = ['advancing', 'waiting_for_receipt', 'launched', 'closed'] as const;
export type RunPhase = (typeof RUN_PHASES)[number];

/** A job of the run, in the order of the chain; `planned`: nothing is recorded of it yet. */
export interface RunJob {
  readonly job_id: string;
  readonly role: JobRole;
  readonly parent: string | null;
  readonly criterion: string | null;
  /** The check of a specialist. */
  readonly check: string | null;
  readonly provider: string;
  readonly model: string;
  readonly state: JobState | 'planned';
  readonly reason: JobReason | null;
  /** The provider's own word, of `provider_refused`. */
  readonly refusal: string | null;
  /** Digest of what was submitted, in the content store. */
  readonly output: string | null;
}

export interface RunResult {
  readonly criterion: string;
  readonly check: string;
  readonly outcome: CheckOutcome;
  readonly digest: string;
  readonly job_id: string | null;
}

/** What a person is to authorize: the claims of a launch receipt but for role, nonce and times. */
export interface WantedReceipt {
  readonly job_id: string;
  readonly claims: Dict;
  /** Unix milliseconds: the exclusive end of the wait. */
  readonly until: number;
}

export interface RunStatus {
  readonly run_id: string;
  readonly journal_id: string | null;
  readonly phase: RunPhase;
  /** Null until it is closed. */
  readonly outcome: 'completed' | 'incomplete' | null;
  /** Digest of the person who started it; null before it is opened. */
  readonly person: string | null;
  readonly head: { readonly sequence: number; readonly digest: string } | null;
  readonly results: readonly RunResult[];
  readonly jobs: readonly RunJob[];
  /** Null while no receipt is waited for. */
  readonly wants: WantedReceipt | null;
  /** Proposals of the coordinator, and the digests of the results that they address. */
  readonly proposals: readonly { readonly proposal_id: string; readonly addresses: readonly string[] }[];
  /** Why it stays where it is, in the words of the worker that said so. */
  readonly message: string | null;
  /** The run had been finished before this execution: nothing was done for this request. */
  readonly replayed: boolean;
}

/** What has to be checked again of this run, as of the moment that the journal was read. */
export interface RunObligations {
  /** Unix milliseconds; null while the run is open. */
  readonly read_at: number | null;
  /** Records of `obligationToRecord`. */
  readonly obligations: readonly Dict[];
}

export const runStatusQuery = defineQuery<RunStatus>('run_status');
export const obligationsQuery = defineQuery<RunObligations>('obligations');

/** Answers once the run is opened, or was before. Refused as the opening is. */
export const openedUpdate = defineUpdate<RunStatus>('opened');
/** The receipt of the job that is waited for, as compact JWS. Refused with the code of the reason. */
export const authorizeUpdate = defineUpdate<RunStatus, [token: string]>('authorize');
/** Reads keys and journal again. */
export const refreshUpdate = defineUpdate<RunStatus>('refresh');
/** Nothing more is launched; what was launched is waited for. */
export const cancelRunUpdate = defineUpdate<RunStatus>('cancel');
/** A sitting in which a person applied proposals of this run: the record of `sittingToRecord`. */
export const applyUpdate = defineUpdate<RunObligations, [sitting: Dict]>('apply');
/** A person's confirmation of a new target: the record of `affirmationToRecord`. Answers its digest. */
export const affirmUpdate = defineUpdate<string, [affirmation: Dict]>('affirm');
