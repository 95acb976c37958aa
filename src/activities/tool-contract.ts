/**
 * What a tool's queue and its callers ask of activities. Invariant: wire types only, and no content.
 */

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

/** Which workers of a tool may send. Both lists, where given, must hold the worker. */
export interface AllowedWorkers {
  readonly identities?: readonly string[];
  /** Hashes of a tool's input schema and class; see `descriptorHash`. */
  readonly descriptor_hashes?: readonly string[];
}

export interface TellRequest {
  readonly workflow_id: string;
  readonly signal: string;
  readonly message: unknown;
  /** How the workflow is started first where it is not there, on the caller's own task queue. */
  readonly start: { readonly workflow_type: string; readonly input: unknown; readonly summary: string };
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
