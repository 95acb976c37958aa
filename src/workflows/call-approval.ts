/**
 * The questions to people about one call, or about one limit, until each is answered. Invariant: nothing of it is sent while a question
 * is open; until when it is open stands in the journal before anybody is asked, and at that very moment others are asked, or it is
 * denied, as its rule says; what people said is read from their receipts, with the time at which it was taken.
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
  type CallPlaceRecord,
  type DemandRequest,
  type DemandResult,
  type SessionActivities,
  type TermsRecord,
  type VoteRecord,
} from '../activities/session-contract';
import {
  askApproval,
  castVote,
  expireApproval,
  type Approval,
  type ApprovalSubject,
} from '../rules/invocations/approval';
import { callPlace } from '../rules/invocations/names';
import { approvalRuleOf } from '../rules/invocations/policy';
import { approvalFromRecord, type AskedApproval } from '../rules/invocations/approval-record';
import type { Trigger, UnknownCode } from '../rules/invocations/vocabulary';
import { carrierWorkflowId } from '../rules/plans/identity';
import { ruleToRecord } from '../rules/receipts/approval-rule';
import type { Say } from './call-moves';
import type { ChainKeeper } from './chain-keeper';
import { takeTurnSignal } from './messages';

const ACTIVITY = {
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
} as const;

/** `permitted`: it may be sent. `closed`: its chain has ended. `expired`: nobody has answered in time. */
export type ApprovalEnd = 'permitted' | 'closed' | 'expired';

export interface Subject {
  readonly session: string;
  readonly about: ApprovalSubject;
  /** The plan at whose workflow people answer. */
  readonly chain: ChainKeeper;
  readonly journalId: () => string | null;
  readonly say: Say;
  /** The last thing that was demanded; 0 where nothing was. */
  readonly demand: number;
  /** The first question about it, from 1. @default 1 */
  readonly question?: number;
}

export class CallApproval {
  /** Of each line of questions the last one. */
  private asked: Approval[] = [];
  private questions: number;
  private demands: number;

  constructor(private readonly subject: Subject) {
    this.questions = (subject.question ?? 1) - 1;
    this.demands = subject.demand;
  }

  /** Whether a rejection ends the whole session. */
  get endsSession(): boolean {
    return this.asked.some(({ status, onRejection }) => status !== 'approved' && onRejection === 'fail');
  }

  /** Whom a policy asks of a call that stands still; null for nobody. */
  async termsAt(trigger: Trigger): Promise<readonly TermsRecord[] | null> {
    return (await this.demand({ trigger, at: this.place })).terms;
  }

  /** From now on, who says what became of the call is whom a policy names for that. */
  async reviewed(doubt: UnknownCode): Promise<void> {
    await this.demand({ doubt, at: this.place });
  }

  /** `carried` starts the workflow at which people answer, and follows it to its end. */
  async decided(
    reason: Approval['reason'],
    terms: readonly TermsRecord[],
    carried: () => Promise<'permitted' | 'closed'>,
  ): Promise<ApprovalEnd> {
    this.asked = [];
    for (const one of terms) this.open(this.question(reason, one));
    const scope = new CancellationScope();
    let end: ApprovalEnd | null = null;
    let fault: unknown = null;
    let carrying: Promise<void> | null = null;
    const carry = (): Promise<void> =>
      scope
        .run(carried)
        .then((answer) => void (end ??= answer))
        .catch((reasonOf: unknown) => void (fault = reasonOf));
    const over = (): boolean => end !== null || fault !== null;
    while (!over()) {
      const ms = this.nextExpiryMs();
      if (ms !== null && ms <= 0 && (await this.overdue())) end = 'expired';
      // Where the time of the first who were asked is long over, nobody answers in their place.
      if (over()) break;
      carrying ??= carry();
      const left = this.nextExpiryMs();
      if (left === null) await condition(over);
      else if (left > 0) await condition(over, left);
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

  private get place(): CallPlaceRecord {
    const { turn, round, index } = callPlace(this.subject.about.callId ?? '');
    return { turn, round, index };
  }

  /** When it was asked, and until when, is what stands in the journal. */
  private question(reason: Approval['reason'], one: TermsRecord): Approval {
    const { rule, route, approvals, expiry_ms: expiryMs, expires_at: expiresAt } = one;
    const terms = { rule, route, approvals, expiryMs, onTimeout: one.on_timeout, onRejection: one.on_rejection };
    const { session, about: subject } = this.subject;
    this.questions += 1;
    const asked = askApproval({ session, subject, reason, terms, question: this.questions, at: Date.now() });
    return { ...asked, expiresAt };
  }

  private open(approval: Approval): void {
    this.asked.push(approval);
    this.tell(approval);
  }

  private tell(approval: Approval): void {
    this.subject.say({ type: 'approval.required', approval: approval as AskedApproval });
  }

  private nextExpiryMs(): number | null {
    const open = this.asked.filter(({ status, expiresAt }) => status === 'pending' && expiresAt !== null);
    return open.length === 0 ? null : Math.min(...open.map(({ expiresAt }) => (expiresAt ?? 0) - Date.now()));
  }

  /** What follows from silence. True when that ends it. */
  private async overdue(): Promise<boolean> {
    const at = Date.now();
    // What was said in time counts, also where nobody has told of it yet.
    await this.hear();
    const timeouts = this.asked.map((approval) => expireApproval(approval, at));
    const expired = timeouts.find((timeout) => timeout.becomes === 'expired');
    if (expired?.becomes === 'expired') {
      const { approvalId } = expired.approval;
      this.subject.say({ type: 'approval.expired', approvalId });
      this.asked = this.asked.map((approval) => (approval.approvalId === approvalId ? expired.approval : approval));
      return true;
    }
    if (timeouts.every(({ becomes }) => becomes === 'pending')) return false;
    const before = this.asked;
    this.asked = timeouts.map((timeout, index) => {
      if (timeout.becomes === 'escalated') return timeout.next;
      return timeout.becomes === 'approved' ? timeout.approval : (before[index] as Approval);
    });
    await this.askAnew();
    for (const [index, { becomes }] of timeouts.entries()) {
      const { approvalId } = before[index] as Approval;
      const now = this.asked[index] as Approval;
      if (becomes === 'escalated') {
        this.subject.say({ type: 'approval.escalated', approvalId, next: now.approvalId });
        this.tell(now);
      } else if (becomes === 'approved') {
        this.subject.say({ type: 'approval.decided', approvalId, decision: 'approved', by: 'timeout' });
      }
    }
    return false;
  }

  /** Others are asked now, or fewer: the workflow at which they answer looks again. */
  private async askAnew(): Promise<void> {
    const open = this.asked.filter(({ status }) => status === 'pending');
    const rules = open.map((one) => ({
      ...approvalRuleOf(one),
      ...(one.expiresAt === null ? {} : { expiresAt: one.expiresAt }),
    }));
    const { expires } = await this.demand({ rules: rules.map(ruleToRecord) });
    this.asked = this.asked.map((one) => {
      const place = open.indexOf(one);
      return place === -1 ? one : { ...one, expiresAt: expires[place] ?? null };
    });
    try {
      await getExternalWorkflowHandle(carrierWorkflowId(this.subject.chain.plan.runId)).signal(takeTurnSignal);
    } catch (fault) {
      if (isCancellation(fault)) throw fault;
    }
  }

  private async demand(asked: DemandRequest['for']): Promise<DemandResult> {
    const { session, chain, journalId } = this.subject;
    const activities = proxyActivities<SessionActivities>({ ...ACTIVITY, summary: 'whom to ask' });
    const result = await activities[SESSION_DEMAND_ACTIVITY]({
      ...{ session_id: session, journal_id: journalId(), plan: chain.record, demand: this.demands + 1 },
      for: asked,
    });
    this.demands = result.demand;
    return result;
  }

  /** What people have said, for the log; after a reset, also to what they were asked in between. */
  async hear(): Promise<void> {
    const { session, about, chain, journalId } = this.subject;
    const activities = proxyActivities<SessionActivities>({ ...ACTIVITY, summary: 'what people have said' });
    const { votes, open } = await activities[SESSION_VOTES_ACTIVITY]({
      ...{ session_id: session, journal_id: journalId(), run_id: chain.plan.runId },
      ...{ call_id: about.callId, limit: about.limit },
    });
    const known = new Set(this.asked.map(({ approvalId }) => approvalId));
    const others = open.map((one) => approvalFromRecord(one)).filter(({ approvalId }) => !known.has(approvalId));
    this.asked = [...this.asked, ...others];
    for (const vote of votes) this.asked = this.asked.map((approval) => this.counted(approval, vote));
  }

  private counted(approval: Approval, { person, decision, role, receipt, at }: VoteRecord): Approval {
    const { approvalId, argsDigest, route } = approval;
    if (approval.status !== 'pending' || (route !== null && role !== route)) return approval;
    const { say, chain } = this.subject;
    const step = castVote(approval, { person, decision, at, requester: chain.plan.requester, argsDigest });
    if (step.verdict !== 'moved') return approval;
    say({ type: 'approval.vote', approvalId, person, decision, receipt }, 1, at);
    const { status } = step.approval;
    if (status === 'approved' || status === 'denied') {
      say({ type: 'approval.decided', approvalId, decision: status, by: 'votes' });
    }
    return step.approval;
  }
}
