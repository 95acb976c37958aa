/**
 * The limits of a session. Invariant: a limit is asked before the model is, and reached at its very number; time for which people were
 * waited for does not count; each time that people say so, a limit is as much again.
 */
import type { SessionView } from './session-view';
import { SESSION_LIMITS, type SessionFailure, type SessionLimit } from './vocabulary';

/** How a session fails at a limit that nobody lifts. */
export const LIMIT_FAILURES: Record<SessionLimit, SessionFailure> = {
  tokens: 'limit:tokens',
  rounds: 'limit:rounds',
  wall_clock: 'limit:wall_clock',
};

const USED: Record<SessionLimit, (view: SessionView, now: number) => number> = {
  tokens: (view) => view.tokens,
  rounds: (view) => view.round?.round ?? 0,
  wall_clock: (view, now) => view.elapsedMs(now),
};

/** The limit that forbids asking the model once more; null when none does. */
export function limitReached(view: SessionView, now: number): SessionLimit | null {
  return SESSION_LIMITS.find((limit) => USED[limit](view, now) >= allowed(view, limit)) ?? null;
}

/** Milliseconds until the wall clock ends the session, if nobody has to be waited for meanwhile; null when it never does. */
export function wallClockLeftMs(view: SessionView, now: number): number | null {
  const most = allowed(view, 'wall_clock');
  return most === Infinity ? null : Math.max(0, most - view.elapsedMs(now));
}

function allowed(view: SessionView, limit: SessionLimit): number {
  const { started } = view;
  const limits = started?.limits;
  const once: Record<SessionLimit, number | null | undefined> = {
    tokens: limits?.tokens,
    rounds: limits?.rounds,
    wall_clock: limits?.wallClockMs,
  };
  const granted = [...view.approvals.values()].filter((one) => one.limit === limit && one.status === 'approved').length;
  return (once[limit] ?? Infinity) * (1 + granted);
}
