/**
 * The limits of a session. Invariant: a limit is asked before the model is, and reached at its very number; time for which people were
 * waited for does not count; each time that people say so, a limit is as much again.
 */
import { SESSION_LIMITS, type SessionFailure, type SessionLimit } from './vocabulary';

/** Of each limit, a number; null is none. */
export type OfLimits<T> = Readonly<Record<SessionLimit, T>>;

/** What a session may take, has taken, and how often people have said that it may take as much again. */
export interface Spending {
  readonly limits: OfLimits<number | null>;
  readonly spent: OfLimits<number>;
  readonly granted: OfLimits<number>;
}

/** How a session fails at a limit that nobody lifts. */
export const LIMIT_FAILURES: OfLimits<SessionFailure> = {
  tokens: 'limit:tokens',
  rounds: 'limit:rounds',
  wall_clock: 'limit:wall_clock',
};

/** The limit that forbids asking the model once more; null when none does. */
export function limitReached(spending: Spending): SessionLimit | null {
  return SESSION_LIMITS.find((limit) => spending.spent[limit] >= allowed(spending, limit)) ?? null;
}

/** Milliseconds until the wall clock ends the session, if nobody has to be waited for meanwhile; null when it never does. */
export function wallClockLeftMs(spending: Spending): number | null {
  const most = allowed(spending, 'wall_clock');
  return most === Infinity ? null : Math.max(0, most - spending.spent.wall_clock);
}

function allowed({ limits, granted }: Spending, limit: SessionLimit): number {
  return (limits[limit] ?? Infinity) * (1 + granted[limit]);
}
