/**
 * For what a plan waits for people, and since when. Invariant: looked at again and no further than before, it has waited all the
 * while; each wait is counted once when it begins, and measured once when it is over.
 */
import { measure } from './measure';
import type { ParkedSince, PlanState, PlanStatus } from './messages';

/** Between two tries to have the reviewers' keys. */
const FIRST_RECHECK_MS = 30_000;
const LONGEST_RECHECK_MS = 30 * 60_000;

export class Parking {
  /** For what a person is, or was last, waited for. */
  since: ParkedSince | null = null;
  /** When it went on from there, or tried to. */
  private leftAt = 0;
  private recheckMs = FIRST_RECHECK_MS;

  /** The run before this one was parked. */
  inherit(since: ParkedSince): void {
    [this.since, this.leftAt] = [since, Date.now()];
  }

  /** `counts` is false where another workflow will do the waiting. */
  begin(reason: ParkedSince['reason'], committed: number, counts: boolean): void {
    if (this.since?.reason === reason && this.since.committed === committed) return;
    this.over();
    this.since = { reason, committed, at: Date.now() };
    if (counts) measure('parked', 1, { reason });
  }

  /** Null: only people can change it. Keys that could not be had may be there by then, ever less likely. */
  nextLookMs(reason: PlanStatus['reason']): number | null {
    if (reason !== 'reviewers_unavailable') {
      this.recheckMs = FIRST_RECHECK_MS;
      return null;
    }
    const ms = this.recheckMs;
    this.recheckMs = Math.min(2 * ms, LONGEST_RECHECK_MS);
    return ms;
  }

  left(): void {
    this.leftAt = Date.now();
  }

  /** The plan is further than where it was parked. */
  over(): void {
    const { since } = this;
    if (since !== null && this.leftAt >= since.at) {
      measure('parkedAge', this.leftAt - since.at, { reason: since.reason });
    }
    this.since = null;
  }
}

const LOOKED_AT: ReadonlySet<PlanStatus['reason']> = new Set([
  'approval_missing',
  'approval_expired',
  'approval_revoked',
  'ambiguous_effect',
  'effect_mismatch',
]);

/** Parked for what its effects were seen to be, or for want of permission: nothing can have been sent since they were looked at. */
export function isLookedAt(state: PlanState, reason: PlanStatus['reason']): boolean {
  return state === 'parked' && LOOKED_AT.has(reason);
}
