/**
 * The states of a job, how it may move between them, and why one ends without a result. Invariant: these tables are all there is;
 * a move that none of them names never happens, and none leads out of a terminal state.
 */
export const JOB_STATES = [
  'prepared',
  'launching',
  'running',
  'submitted',
  'completed',
  'unavailable',
  'failed',
] as const;
export type JobState = (typeof JOB_STATES)[number];

/** States in which a job has no submission yet, and may get one. */
export const OPEN_STATES = ['prepared', 'launching', 'running'] as const;
export type OpenState = (typeof OPEN_STATES)[number];
export const TERMINAL_STATES = ['completed', 'unavailable', 'failed'] as const;
export type TerminalState = (typeof TERMINAL_STATES)[number];

export const JOB_REASONS = [
  'authorization_expired',
  'authorization_invalid',
  'dispatch_exhausted',
  'provider_refused',
  'launch_outcome_unknown',
  'worker_exited_before_submission',
  'running_deadline_exceeded',
  'context_integrity_failed',
  'job_processing_failed',
  'submission_integrity_failed',
] as const;
export type JobReason = (typeof JOB_REASONS)[number];

interface Ending {
  readonly from: readonly JobState[];
  readonly to: 'unavailable' | 'failed';
}

/** What each reason ends. `provider_refused` comes with the provider's own word. */
export const ENDINGS: Record<JobReason, Ending> = {
  // At hand-off, claim or submission of a job that never ran; at the worker's fetch.
  authorization_expired: { from: ['prepared', 'launching', 'running'], to: 'unavailable' },
  authorization_invalid: { from: ['prepared', 'launching'], to: 'unavailable' },
  dispatch_exhausted: { from: ['prepared'], to: 'unavailable' },
  provider_refused: { from: ['prepared', 'launching'], to: 'unavailable' },
  launch_outcome_unknown: { from: ['launching', 'running'], to: 'unavailable' },
  worker_exited_before_submission: { from: ['running'], to: 'unavailable' },
  running_deadline_exceeded: { from: ['running'], to: 'unavailable' },
  context_integrity_failed: { from: ['prepared', 'launching', 'running'], to: 'failed' },
  job_processing_failed: { from: ['submitted'], to: 'failed' },
  submission_integrity_failed: { from: ['submitted'], to: 'failed' },
};

/** Moves that need no reason. */
const FORWARD: Record<JobState, readonly JobState[]> = {
  prepared: ['launching', 'submitted'],
  launching: ['running', 'submitted'],
  running: ['submitted'],
  submitted: ['completed'],
  completed: [],
  unavailable: [],
  failed: [],
};

export function isTerminal(state: JobState): state is TerminalState {
  return (TERMINAL_STATES as readonly JobState[]).includes(state);
}

export function isOpen(state: JobState): state is OpenState {
  return (OPEN_STATES as readonly JobState[]).includes(state);
}

/** Whether the tables name this move; `reason` is null exactly where none is needed. */
export function mayMove(from: JobState, to: JobState, reason: JobReason | null): boolean {
  if (reason === null) return FORWARD[from].includes(to);
  const ending = ENDINGS[reason];
  return ending.to === to && ending.from.includes(from);
}
