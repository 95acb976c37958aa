/**
 * The questions to people about one call, until each is answered. Invariant: nothing of the call is sent while a question is open; a
 * question ends at its very expiry, by a durable timer, and then others are asked, or it is denied, as its rule says; what people
 * said is read from their receipts.
 */
import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import {
  SESSION_DEMAND_ACTIVITY,
  SESSION_VOTES_ACTIVITY,
  type DemandRequest,
  type PreparedCall,
  type SessionActivities,
  type TermsRecord,
  type VoteRecord,
} from '../activities/session-contract';
import {
  askApproval,
  castVote,
  expireApproval,
  type Approval,
  type ApprovalTerms,
} from '../rules/invocations/approval';
import { callPlace } from '../rules/invocations/names';
import { approvalRuleOf } from '../rules/invocations/policy';
import type { AskedApproval } from '../rules/invocations/approval-record';
import type { Trigger } from '../rules/invocations/vocabulary';
import { carrierWorkflowId } from '../rules/plans/identity';
import type { GovernedPlan } from '../rules/plans/plan';
import { ruleToRecord } from '../rules/receipts/approval-rule';
import type { Say } from './call-moves';
import { takeTurnSignal } from './messages';

const ACTIVITY = {
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
} as const;

/** `permitted`: it may be sent. `closed`: its chain has ended. `expired`: nobody has answered in time. */
export type ApprovalEnd = 'permitted' | 'closed' | 'expired';

export class CallApproval {
  /** Of each line of questions the last one. */
  private asked: Approval[] = [];
  private questions = 0;
  private demands = 1;
  private readonly session: string;

  constructor(
    private readonly prepared: PreparedCall,
    private readonly plan: GovernedPlan,
    private readonly journalId: () => string | null,
    private readonly say: Say,
  ) {
    this.session = callPlace(prepared.call_id).session;
  }

  /** Whether a rejection ends the whole session. */
  get endsSession(): boolean {
    return this.asked.some(({ status, onRejection }) => status !== 'approved' && onRejection === 'fail');
  }

  /** Whom a policy asks of a call that stands still; null for nobody. */
  async termsAt(trigger: Trigger): Promise<readonly TermsRecord[] | null> {
    this.demands += 1;
    return (await this.demand({ trigger })).terms;
  }

  /** `carried` starts the workflow at which people answer, and follows it to its end. */
  async decided(
    reason: Approval['reason'],
    terms: readonly TermsRecord[],
    carried: () => Promise<'permitted' | 'closed'>,
  ): Promise<ApprovalEnd> {
    this.asked = [];
    for (const one of terms) this.open(this.question(reason, termsOf(one)));
    const scope = new CancellationScope();
    let end: ApprovalEnd | null = null;
    let fault: unknown = null;
    const carrying = scope
      .run(carried)
      .then((answer) => void (end ??= answer))
      .catch((reasonOf: unknown) => void (fault = reasonOf));
    const over = (): boolean => end !== null || fault !== null;
    while (!over()) {
      const ms = this.nextExpiryMs();
      if (ms === null) await condition(over);
      else if (ms > 0) await condition(over, ms);
      if (!over() && (await this.overdue())) end = 'expired';
    }
    if (end === 'expired') {
      scope.cancel();
      await carrying;
      return 'expired';
    }
    if (fault !== null) throw fault;
    await this.hear();
    return end ?? 'closed';
  }

  private question(reason: Approval['reason'], terms: ApprovalTerms): Approval {
    const { call_id: callId, args_digest: argsDigest } = this.prepared;
    this.questions += 1;
    const subject = { callId, argsDigest, limit: null };
    return askApproval({ session: this.session, subject, reason, terms, question: this.questions, at: Date.now() });
  }

  private open(approval: Approval): void {
    this.asked.push(approval);
    this.say({ type: 'approval.required', approval: approval as AskedApproval });
  }

  private nextExpiryMs(): number | null {
    const open = this.asked.filter(({ status, expiresAt }) => status === 'pending' && expiresAt !== null);
    return open.length === 0 ? null : Math.min(...open.map(({ expiresAt }) => (expiresAt ?? 0) - Date.now()));
  }

  /** What follows from silence. True when that ends it. */
  private async overdue(): Promise<boolean> {
    let changed = false;
    for (const [index, approval] of this.asked.entries()) {
      const timeout = expireApproval(approval, Date.now());
      const { approvalId } = approval;
      if (timeout.becomes === 'pending') continue;
      if (timeout.becomes === 'expired') {
        this.say({ type: 'approval.expired', approvalId });
        this.asked[index] = timeout.approval;
        return true;
      }
      changed = true;
      if (timeout.becomes === 'escalated') {
        this.say({ type: 'approval.escalated', approvalId, next: timeout.next.approvalId });
        this.say({ type: 'approval.required', approval: timeout.next as AskedApproval });
        this.asked[index] = timeout.next;
      } else {
        this.say({ type: 'approval.decided', approvalId, decision: 'approved', by: 'timeout' });
        this.asked[index] = timeout.approval;
      }
    }
    if (changed) await this.askAnew();
    return false;
  }

  /** Others are asked now, or fewer: the workflow at which they answer looks again. */
  private async askAnew(): Promise<void> {
    this.demands += 1;
    const rules = this.asked.filter(({ status }) => status === 'pending').map(approvalRuleOf);
    await this.demand({ rules: rules.map(ruleToRecord) });
    try {
      await getExternalWorkflowHandle(carrierWorkflowId(this.plan.runId)).signal(takeTurnSignal);
    } catch (fault) {
      if (isCancellation(fault)) throw fault;
    }
  }

  private demand(asked: DemandRequest['for']): Promise<{ readonly terms: readonly TermsRecord[] | null }> {
    const { call_id: callId, index } = this.prepared;
    const { turn, round } = callPlace(callId);
    const { runId: run_id, planDigest: plan_digest } = this.plan;
    const activities = proxyActivities<SessionActivities>({
      ...ACTIVITY,
      summary: `whom to ask: ${this.prepared.tool}`,
    });
    return activities[SESSION_DEMAND_ACTIVITY]({
      ...{ session_id: this.session, journal_id: this.journalId(), turn, round, index, run_id, plan_digest },
      demand: this.demands,
      for: asked,
    });
  }

  /** What people have said, for the log. */
  private async hear(): Promise<void> {
    const activities = proxyActivities<SessionActivities>({ ...ACTIVITY, summary: `votes: ${this.prepared.tool}` });
    const { votes } = await activities[SESSION_VOTES_ACTIVITY]({
      ...{ session_id: this.session, journal_id: this.journalId() },
      ...{ call_id: this.prepared.call_id, run_id: this.plan.runId },
    });
    for (const vote of votes) this.asked = this.asked.map((approval) => this.counted(approval, vote));
  }

  private counted(approval: Approval, { person, decision, role, receipt }: VoteRecord): Approval {
    const { approvalId, argsDigest, route, expiresAt } = approval;
    if (approval.status !== 'pending' || (route !== null && role !== route)) return approval;
    // It was taken before the question ended, or would not be among those that count.
    const at = expiresAt === null ? Date.now() : Math.min(Date.now(), expiresAt - 1);
    const step = castVote(approval, { person, decision, at, requester: this.plan.requester, argsDigest });
    if (step.verdict !== 'moved') return approval;
    this.say({ type: 'approval.vote', approvalId, person, decision, receipt }, 1, at);
    const { status } = step.approval;
    if (status === 'approved' || status === 'denied') {
      this.say({ type: 'approval.decided', approvalId, decision: status, by: 'votes' });
    }
    return step.approval;
  }
}

function termsOf({ rule, route, approvals, expiry_ms, on_timeout, on_rejection }: TermsRecord): ApprovalTerms {
  return { rule, route, approvals, expiryMs: expiry_ms, onTimeout: on_timeout, onRejection: on_rejection };
}
