/** Sessions as they are told: one written out, and random ones that do whatever the rules say comes next. */
import fc from 'fast-check';
import {
  askApproval,
  castVote,
  expireApproval,
  isUnfollowed,
  type Approval,
  type ApprovalTerms,
} from '../../../src/rules/invocations/approval';
import type { AskedApproval } from '../../../src/rules/invocations/approval-record';
import { isResendSafe } from '../../../src/rules/invocations/class-table';
import { LIMIT_FAILURES } from '../../../src/rules/invocations/limits';
import { callRunId, type Tool } from '../../../src/rules/invocations/names';
import { nextSessionStep, type CallAction, type SessionStep } from '../../../src/rules/invocations/next-session-step';
import type { SessionEvent, SessionLimits } from '../../../src/rules/invocations/session-event';
import type { TimedEvent } from '../../../src/rules/invocations/session-record';
import { SessionView } from '../../../src/rules/invocations/session-view';
import { SIDE_EFFECT_CLASSES } from '../../../src/rules/invocations/vocabulary';
import type { SideEffectClass } from '../../../src/rules/sends/traits';
import { CHARGE, T0, callId, digest } from './support';

export const ASKER = digest('asker');
export const TERMS: ApprovalTerms = {
  rule: 'over-100',
  route: 'role:example.org/finance',
  approvals: 2,
  expiryMs: 1_000,
  onTimeout: 'deny',
  onRejection: 'return_to_agent',
};
export const NO_LIMITS: SessionLimits = { tokens: null, rounds: null, wallClockMs: null };

export const started = (more: Partial<Extract<SessionEvent, { type: 'session.started' }>> = {}): SessionEvent => ({
  type: 'session.started',
  agentVersion: 'v1',
  mode: 'detached',
  kind: 'root',
  definition: digest('agent'),
  requester: ASKER,
  limits: NO_LIMITS,
  ...more,
});
export const user = (turn: number): SessionEvent => ({
  type: 'message.user',
  turn,
  message: digest(`message ${turn}`),
});
export const answer = (turn: number, round: number, tools: readonly string[]): SessionEvent => ({
  type: 'message.assistant',
  turn,
  round,
  message: digest(`answer ${turn} ${round}`),
  stop: tools.length > 0 ? 'tool_use' : 'end_turn',
  inputTokens: 100,
  outputTokens: 20,
  calls: tools.map((tool, index) => ({ tool, argsDigest: digest(`asked ${index}`) })),
});
export const requested = (
  index: number,
  more: { round?: number; turn?: number; tool?: Tool; sideEffect?: SideEffectClass; runId?: null } = {},
): SessionEvent => {
  const { round = 1, turn = 1, tool = CHARGE, sideEffect = 'non_idempotent_write' } = more;
  const id = callId(index, round, 's1', turn);
  const runId = more.runId === null ? null : callRunId(id, tool);
  return { type: 'tool.requested', callId: id, runId, tool, sideEffect, argsDigest: digest(`args ${id}`) };
};
export const queued = (id: string, queuedAt: number): SessionEvent => ({ type: 'tool.queued', callId: id, queuedAt });
export const dispatched = (
  id: string,
  dispatchedAt: number,
  more: Partial<Extract<SessionEvent, { type: 'tool.dispatched' }>> = {},
): SessionEvent => ({
  type: 'tool.dispatched',
  callId: id,
  attempt: 1,
  ground: 'first',
  worker: 'w@1',
  dispatchedAt,
  ...more,
});
export const completed = (
  id: string,
  completedAt: number,
  more: Partial<Extract<SessionEvent, { type: 'tool.completed' }>> = {},
): SessionEvent => ({
  type: 'tool.completed',
  callId: id,
  status: 'succeeded',
  ground: 'result',
  resultDigest: digest(`result of ${id}`),
  errorCode: null,
  completedAt,
  ...more,
});
export const unsent = (id: string, errorCode: string, completedAt: number): SessionEvent =>
  completed(id, completedAt, { status: 'failed', ground: 'unsent', resultDigest: null, errorCode });

export function question(id: string, at: number, terms: Partial<ApprovalTerms> = {}, number = 1): AskedApproval {
  return askApproval({
    session: 's1',
    subject: { callId: id, argsDigest: digest(`args ${id}`), limit: null },
    reason: 'policy',
    terms: { ...TERMS, ...terms },
    question: number,
    at,
  }) as AskedApproval;
}
export const vote = (
  approval: Pick<Approval, 'approvalId'>,
  person: string,
  decision: 'approve' | 'reject' = 'approve',
): SessionEvent => ({
  type: 'approval.vote',
  approvalId: approval.approvalId,
  person: digest(person),
  decision,
  receipt: null,
});
export const decided = (
  approval: Pick<Approval, 'approvalId'>,
  decision: 'approved' | 'denied' = 'approved',
): SessionEvent => ({
  type: 'approval.decided',
  approvalId: approval.approvalId,
  decision,
  by: 'votes',
});

/** Draws what the world does: workers, people, the model and the clock. */
export class Teller {
  readonly view = new SessionView('s1');
  readonly events: TimedEvent[] = [];
  /** Rounds for which the model was asked, so that it is never asked twice. */
  readonly answers: string[] = [];
  now = T0;

  constructor(
    private readonly draw: (below: number) => number,
    private readonly turns = 2,
  ) {}

  say(event: SessionEvent): void {
    this.view.take(event, this.now);
    this.events.push({ at: this.now, event });
    this.now += this.draw(50);
  }

  /** Goes on until the session is over. */
  run(cancelAfter = Infinity): void {
    for (let steps = 0; this.view.ended === null; steps += 1) {
      if (steps > 2_000) throw new Error('never ends');
      this.step(nextSessionStep(this.view, this.now, this.events.length >= cancelAfter));
    }
  }

  private step(step: SessionStep): void {
    const { view } = this;
    switch (step.does) {
      case 'start':
        return this.say(started({ kind: this.draw(3) === 0 ? 'child' : 'root', limits: { ...NO_LIMITS, rounds: 3 } }));
      case 'wait_for_input':
        return this.say(view.turn < this.turns ? user(view.turn + 1) : { type: 'session.completed' });
      case 'ask_model': {
        this.answers.push(`${step.turn}/${step.round}`);
        const tools = Array.from({ length: this.draw(4) }, () => (this.draw(9) === 0 ? 'nosuch' : 'charge'));
        return this.say(answer(step.turn, step.round, tools));
      }
      case 'limit':
        return this.say({ type: 'session.failed', code: LIMIT_FAILURES[step.limit] });
      case 'request_calls':
        for (const index of step.indexes) this.request(index);
        return;
      case 'go_on': {
        const one = step.calls[this.draw(step.calls.length)];
        if (one !== undefined) this.act(one.callId, one.action);
        return;
      }
      case 'wait_for_people':
        return;
      case 'complete':
        return this.say({ type: 'session.completed' });
      case 'cancel':
        return this.say({ type: 'session.cancelled' });
      case 'nothing':
        return;
    }
  }

  private request(index: number): void {
    const { round } = this.view;
    if (round === null) return;
    const known = round.calls[index]?.tool === 'charge';
    const tool = known ? CHARGE : { tool: 'nosuch', version: null };
    const sideEffect = SIDE_EFFECT_CLASSES[this.draw(4)] as SideEffectClass;
    this.say(requested(index, { ...round, tool, sideEffect, ...(known ? {} : { runId: null }) }));
  }

  private act(id: string, action: CallAction): void {
    const call = this.view.calls.get(id);
    if (call === undefined) return;
    const again = { attempt: call.attempt + 1 };
    switch (action) {
      case 'begin':
        if (this.draw(8) === 0) return this.say({ type: 'tool.policy_denied', callId: id, rule: 'never' });
        if (this.draw(4) === 0) return this.ask(id);
        return this.say(this.draw(2) === 0 ? queued(id, this.now) : dispatched(id, this.now));
      case 'enqueue':
        if (this.draw(6) === 0) return this.say(unsent(id, 'dispatch:capacity_exhausted', this.now));
        return this.draw(6) === 0 ? this.ask(id) : this.say(dispatched(id, this.now, again));
      case 'wait_for_people':
        return this.people(id);
      case 'ask_next':
        return this.askNext(id);
      case 'send_approved':
        return this.say(queued(id, this.now));
      case 'reject': {
        const expired = this.view.approvalsOf(id).some(({ status }) => status === 'expired');
        return this.say(unsent(id, expired ? 'approval:expired' : 'approval:denied', this.now));
      }
      case 'resend':
      case 'look_up':
        return this.outcome(id);
      case 'keep_review':
        return this.review(id);
      case 'give_up':
        return this.say(unsent(id, call.runId === null ? 'call:unknown_tool' : 'session:cancelled', this.now));
      case 'settle':
        return this.say(
          this.draw(2) === 0
            ? completed(id, this.now)
            : { type: 'tool.indeterminate', callId: id, code: 'dispatch:indeterminate', exhausted: true },
        );
    }
  }

  private ask(id: string): void {
    const onTimeout = (['deny', 'allow', { escalate: ['role:example.org/board'] }] as const)[this.draw(3)] ?? 'deny';
    const number = this.view.questionsAbout({ callId: id, limit: null }) + 1;
    this.say({
      type: 'approval.required',
      approval: question(id, this.now, { onTimeout, approvals: 1 + this.draw(2) }, number),
    });
  }

  private people(id: string): void {
    const open = this.view.approvalsOf(id).find(({ status }) => status === 'pending');
    if (open === undefined) return;
    if (this.draw(3) === 0) return this.timeout(open);
    const ballot = { person: `p${this.draw(4)}`, decision: this.draw(5) === 0 ? 'reject' : 'approve' } as const;
    const { argsDigest } = open;
    const person = digest(ballot.person);
    const step = castVote(open, { person, decision: ballot.decision, at: this.now, requester: ASKER, argsDigest });
    if (step.verdict !== 'moved') return this.timeout(open);
    this.say(vote(open, ballot.person, ballot.decision));
    const { status } = step.approval;
    if (status === 'approved' || status === 'denied') this.say(decided(open, status));
  }

  private timeout(open: Approval): void {
    this.now = Math.max(this.now, open.expiresAt ?? 0);
    const { approvalId } = open;
    const timeout = expireApproval(open, this.now);
    if (timeout.becomes === 'approved')
      this.say({ type: 'approval.decided', approvalId, decision: 'approved', by: 'timeout' });
    if (timeout.becomes === 'expired') this.say({ type: 'approval.expired', approvalId });
    if (timeout.becomes !== 'escalated') return;
    this.say({ type: 'approval.escalated', approvalId, next: timeout.next.approvalId });
  }

  private askNext(id: string): void {
    const approvals = this.view.approvalsOf(id);
    const last = approvals.find((approval) => isUnfollowed(approval, approvals));
    if (last === undefined) return;
    const timeout = expireApproval({ ...last, status: 'pending' }, this.now);
    if (timeout.becomes === 'escalated')
      this.say({ type: 'approval.required', approval: timeout.next as AskedApproval });
  }

  private outcome(id: string): void {
    const call = this.view.calls.get(id);
    if (call === undefined) return;
    switch (this.draw(3)) {
      case 0:
        return this.say(completed(id, this.now));
      case 1:
        return this.say(completed(id, this.now, { status: 'failed', errorCode: 'card_declined' }));
      default: {
        const finding = (['committed', 'absent', 'unknown'] as const)[this.draw(3)] ?? 'unknown';
        const mayGo = call.attempt < 3;
        const resends = mayGo && isResendSafe(call.sideEffect);
        const lost: SessionEvent = {
          type: 'tool.indeterminate',
          callId: id,
          code: 'dispatch:lease_expired',
          exhausted: true,
        };
        if (finding === 'committed') return this.say(completed(id, this.now, { ground: 'looked_up' }));
        if (!resends && !(mayGo && finding === 'absent')) return this.say(lost);
        if (resends) return this.say(dispatched(id, this.now, { attempt: call.attempt + 1, ground: 'resend_safe' }));
        this.say(lost);
        return this.say(dispatched(id, this.now, { attempt: call.attempt + 1, ground: 'proven_absent' }));
      }
    }
  }

  private review(id: string): void {
    const call = this.view.calls.get(id);
    if (call === undefined) return;
    switch (this.draw(4)) {
      case 0:
        return this.say(completed(id, this.now, { ground: 'resolution' }));
      case 1:
        return this.say(
          completed(id, this.now, { ground: 'resolution', status: 'failed', errorCode: 'marked_failed' }),
        );
      case 2:
        return this.say(completed(id, this.now, { ground: 'late_result' }));
      default:
        return this.say(dispatched(id, this.now, { attempt: call.attempt + 1, ground: 'redispatch' }));
    }
  }
}

/** A line of draws that goes on by itself: every random session comes to its end, and a short line is a whole session, too. */
export const DRAWS = fc.array(fc.nat(9_999), { maxLength: 120 });
export function drawer(numbers: readonly number[]): (below: number) => number {
  let at = 0;
  return (below) => {
    const number = numbers[at] ?? (at * 2_654_435_761) % 9_973;
    at += 1;
    return below === 0 ? 0 : number % below;
  };
}
