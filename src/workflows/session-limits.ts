/**
 * A session at its limits. Invariant: at a limit it fails, unless a policy asks people, who may let it have as much again; while they are
 * asked the model is not, and no time of the session passes; calls that are under way go on.
 */
import { CancellationScope, isCancellation, proxyActivities } from '@temporalio/workflow';
import { SESSION_LIMIT_ACTIVITY, type PlannedToolCall, type SessionActivities } from '../activities/session-contract';
import {
  LIMIT_FAILURES,
  limitReached,
  wallClockLeftMs,
  type OfLimits,
  type Spending,
} from '../rules/invocations/limits';
import type { SessionFailure, SessionLimit } from '../rules/invocations/vocabulary';
import { carrierWorkflowId } from '../rules/plans/identity';
import { answeredAt } from './call-carrier';
import { CallApproval } from './call-approval';
import type { Say } from './call-moves';
import { ChainKeeper } from './chain-keeper';
import { DriveLoop } from './drive-loop';
import { guestOf } from './story';

const ACTIVITY = {
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
} as const;

/** What the limits need of their session. */
export interface LimitHost {
  readonly session: string;
  readonly journalId: () => string | null;
  readonly say: Say;
  readonly limits: OfLimits<number | null>;
  spent(): OfLimits<number>;
  fail(failure: SessionFailure): void;
  /** People are asked now, or no longer. */
  changed(): void;
}

export class SessionLimits {
  readonly granted: Record<SessionLimit, number>;
  /** Workflow at which people answer; null while nobody is asked. */
  review: string | null = null;
  private lifting: Promise<boolean> | null = null;
  private scope: CancellationScope | null = null;

  constructor(
    private readonly host: LimitHost,
    granted: Partial<Record<SessionLimit, number>> = {},
  ) {
    this.granted = { tokens: 0, rounds: 0, wall_clock: 0, ...granted };
  }

  private get spending(): Spending {
    const { limits } = this.host;
    return { limits, spent: this.host.spent(), granted: this.granted };
  }

  get wallClockLeftMs(): number | null {
    return wallClockLeftMs(this.spending);
  }

  /** False when the session has to end. */
  async mayGoOn(): Promise<boolean> {
    for (;;) {
      if (!(await this.settled())) return false;
      const limit = limitReached(this.spending);
      if (limit === null) return true;
      this.lifting = this.lifted(limit).finally(() => (this.lifting = null));
    }
  }

  /** Nobody is asked any more. False when that ended the session. */
  async settled(): Promise<boolean> {
    return (await this.lifting) ?? true;
  }

  /** Whatever people are asked, nobody wants to know any more. */
  cancel(): void {
    this.scope?.cancel();
  }

  private async lifted(limit: SessionLimit): Promise<boolean> {
    const { host } = this;
    const asked = await this.asked(limit);
    if (asked !== null && (await this.answered(limit, asked))) {
      this.granted[limit] += asked.terms.length;
      return true;
    }
    host.fail(LIMIT_FAILURES[limit]);
    return false;
  }

  private async asked(limit: SessionLimit): Promise<PlannedToolCall | null> {
    const { session, journalId } = this.host;
    const activities = proxyActivities<SessionActivities>({ ...ACTIVITY, summary: `limit: ${limit}` });
    const question = this.granted[limit] + 1;
    const request = { session_id: session, journal_id: journalId(), limit, question };
    return (await CancellationScope.nonCancellable(() => activities[SESSION_LIMIT_ACTIVITY](request))).asked;
  }

  private async answered(limit: SessionLimit, { plan, terms, demand }: PlannedToolCall): Promise<boolean> {
    const { session, journalId, say } = this.host;
    const keeper = (): ChainKeeper => new ChainKeeper(plan, null, journalId());
    const chain = keeper();
    const about = { callId: null, argsDigest: null, limit } as const;
    const question = this.granted[limit] + 1;
    const approval = new CallApproval({ session, about, chain, journalId, say, demand, question });
    const scope = new CancellationScope({ cancellable: true });
    this.scope = scope;
    this.review = carrierWorkflowId(chain.plan.runId);
    this.host.changed();
    try {
      const end = await scope.run(() => approval.decided('limit:escalate', terms, () => answeredAt(chain, keeper)));
      return end === 'permitted';
    } catch (fault) {
      if (!isCancellation(fault)) throw fault;
      return false;
    } finally {
      this.scope = null;
      await CancellationScope.nonCancellable(() => this.ended(keeper()));
      this.review = null;
      this.host.changed();
    }
  }

  /** What was asked is answered, and there is nothing to send. */
  private async ended(chain: ChainKeeper): Promise<void> {
    const loop = new DriveLoop(chain, undefined, undefined, guestOf('session-limit'));
    loop.cancel();
    await loop.run();
  }
}
