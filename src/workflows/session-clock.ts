/**
 * The wall clock of a session, by its server's time. Invariant: it counts from the start of the session and stands still while people
 * are waited for; what was counted is carried through continue-as-new.
 */
import { CancellationScope, condition, sleep } from '@temporalio/workflow';

export class SessionClock {
  private pausedAt: number | null = null;

  constructor(
    readonly startedAt: number,
    private waitedBefore: number,
  ) {}

  get waitedMs(): number {
    return this.waitedBefore + (this.pausedAt === null ? 0 : Date.now() - this.pausedAt);
  }

  get runMs(): number {
    return Date.now() - this.startedAt - this.waitedMs;
  }

  /** Stands still, or goes on. */
  pause(paused: boolean): void {
    if (paused === (this.pausedAt !== null)) return;
    if (paused) {
      this.pausedAt = Date.now();
    } else {
      this.waitedBefore = this.waitedMs;
      this.pausedAt = null;
    }
  }

  /** Calls `over` whenever nothing is left, until that answers false. What this answers ends the watch. */
  watch(leftMs: () => number | null, over: () => Promise<boolean>): () => void {
    const scope = new CancellationScope();
    const watching = scope.run(async () => {
      for (let left = leftMs(); left !== null; left = leftMs()) {
        // A timer that ends during a pause finds time left: what was waited for does not count.
        if (this.pausedAt !== null) await condition(() => this.pausedAt === null);
        else if (left > 0) await Promise.race([sleep(left), condition(() => this.pausedAt !== null)]);
        else if (!(await over())) return;
      }
    });
    watching.catch(() => undefined);
    return () => scope.cancel();
  }
}
