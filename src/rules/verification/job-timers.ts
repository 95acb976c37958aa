/**
 * How long a job may stay where it is. Invariant: every state that is not terminal has one durable timer and what follows when it
 * fires, so no job waits for ever; all are durations, and no clock is compared with another.
 */
import type { Job, JobCommand } from './job';
import type { JobState } from './job-states';

export const LAUNCH_LEASE_MS = 120_000;
export const PROJECTION_LEASE_MS = 600_000;
export const DISPATCH_PAUSE_MS = 10_000;
/** For whoever had a job launched, to give it a workflow of its own, before somebody else does. */
export const HEAD_START_MS = 5_000;

export interface JobDurations {
  /** @default LAUNCH_LEASE_MS */
  readonly launchLeaseMs?: number;
  /** @default PROJECTION_LEASE_MS */
  readonly projectionLeaseMs?: number;
  /** How long the worker may take, from the moment that it was seen to run. */
  readonly runningDeadlineMs: number;
}

export interface JobTimer {
  readonly ms: number;
  /** What to do when it fires. `now` is then the time of the one who does it. */
  readonly then: (now: number) => JobCommand;
}

type Timer = (job: Job, durations: JobDurations, now: number) => JobTimer | null;
const TIMERS: Record<JobState, Timer> = {
  // From what is left by the clock that schedules; whoever fires it asks again, by its own.
  prepared: ({ expiresAt }, _durations, now) => ({
    ms: Math.max(0, expiresAt - now),
    then: (later) => ({ does: 'expire', now: later }),
  }),
  launching: (_job, { launchLeaseMs = LAUNCH_LEASE_MS }) => ({
    ms: launchLeaseMs,
    then: () => ({ does: 'launch_lapsed' }),
  }),
  running: (_job, { runningDeadlineMs }) => ({ ms: runningDeadlineMs, then: () => ({ does: 'deadline_passed' }) }),
  // Without a lease there is nothing to wait for: it can be projected at once.
  submitted: ({ lease }, { projectionLeaseMs = PROJECTION_LEASE_MS }) =>
    lease === null ? null : { ms: projectionLeaseMs, then: () => ({ does: 'lease_lapsed', owner: lease }) },
  completed: () => null,
  unavailable: () => null,
  failed: () => null,
};

/** Counted from the moment that the job came into its state, or its lease was taken. */
export function timerOf(job: Job, durations: JobDurations, now: number): JobTimer | null {
  return TIMERS[job.state](job, durations, now);
}
