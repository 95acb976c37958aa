/**
 * What a tool's queue and its callers ask of activities. Invariant: wire types only, and no content.
 */
import type { AllowedWorkers } from '../rules/invocations/allowed-workers';
import type { DriveResult } from './contract';

export type { AllowedWorkers };

/** The activity that hands a message to the queue of a tool; see `queue-messages`. */
export const TELL_ACTIVITY = 'countersign.tell';
/** Signals of a queue, and `report` of those who ask it. */
export const ENQUEUE_SIGNAL = 'enqueue';
export const WITHDRAW_SIGNAL = 'withdraw';
export const REGISTER_SIGNAL = 'register';
export const REPORT_SIGNAL = 'report';

/** The activity that says who is there to take a tool's calls. */
export const DESCRIBE_WORKERS_ACTIVITY = 'countersign.describe_workers';

/** The activity that says whether any worker of a tool has ever registered with its queue. */
export const EVER_REGISTERED_ACTIVITY = 'countersign.ever_registered';

/** Type of the failure of a `drive` that came to a worker which may not send the call: nothing of it was begun. */
export const WORKER_NOT_ALLOWED = 'worker_not_allowed';

export interface TellRequest {
  readonly workflow_id: string;
  readonly signal: string;
  /** The arguments of the signal. */
  readonly messages: readonly unknown[];
  /** How the workflow is started first where it is not there, on the caller's own task queue. */
  readonly start: {
    readonly workflow_type: string;
    readonly input: unknown;
    readonly summary: string;
    /** The namespace knows our search attributes. @default false */
    readonly search?: boolean;
  };
}

/**
 * `settled`: the call's chain in the journal has ended, and `result` says how. `failed`: it was never sent and will not be, for
 * the reason in `code`. `unknown`: it was given to a worker, and what became of it takes time or a person to find out.
 */
export type CallReportStatus = 'settled' | 'failed' | 'unknown';

/** The one word about one request of a call: the worker's, where it has settled it, or the queue's. */
export interface CallReport {
  readonly call_id: string;
  readonly run_id: string;
  readonly request: number;
  readonly status: CallReportStatus;
  /** Null when settled; otherwise as `dispatch:capacity_exhausted`, or the code of a `Refusal` of `drive`. */
  readonly code: string | null;
  /** The worker that answered last. */
  readonly worker_identity: string | null;
  /** Times that a worker was given the call. */
  readonly attempts: number;
  /** Unix milliseconds of the server. */
  readonly queued_at: number;
  /** When a worker took it, the last time; null when none is known to have. */
  readonly dispatched_at: number | null;
  /** By the clock of whoever says so. */
  readonly completed_at: number;
  readonly head: { readonly sequence: number; readonly digest: string } | null;
  /**
   * What `drive` answered last, with every step from the first checkpoint. Null when nothing came back, and when the report is
   * repeated: then `drive` with the intent `follow` reads it from the journal.
   */
  readonly result: DriveResult | null;
}

/** Who hears of the end of a call from the worker that did it, and what that worker has to say beside it. */
export interface ReportTo {
  readonly workflow_id: string;
  readonly request: number;
  readonly attempts: number;
  readonly queued_at: number;
}

export interface DescribeWorkersRequest {
  readonly task_queue: string;
  /** Who has not asked for work for longer, nor given a sign of life for some that it has, is not seen. */
  readonly within_ms: number;
}

export interface SeenWorkers {
  /** As workers name themselves to the server. */
  readonly identities: readonly string[];
}

export interface ToolActivities {
  [TELL_ACTIVITY](request: TellRequest): Promise<void>;
  [DESCRIBE_WORKERS_ACTIVITY](request: DescribeWorkersRequest): Promise<SeenWorkers>;
  [EVER_REGISTERED_ACTIVITY](request: { readonly workflow_id: string }): Promise<boolean>;
}
