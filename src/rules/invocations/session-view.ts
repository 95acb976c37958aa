/**
 * Where a session stands, as its log says and nothing else. Invariant: an event that could not have happened is refused, so whatever
 * was read of a log makes one session; its status follows from its messages, calls and approvals, and is written nowhere.
 */
import { Refusal } from '../refusal';
import { castVote, expireApproval, isOverdue, isUnfollowed, nextApprovalId, type Approval } from './approval';
import { stepInvocation, type Invocation, type InvocationCommand } from './invocation';
import type { Spending } from './limits';
import { callIdOf, callPlace, callRunId, isToolName } from './names';
import type { AskedCall, SessionBodies, SessionEvent } from './session-event';
import {
  isFinished,
  type EndedStatus,
  type InvocationStatus,
  type SessionEventType,
  type SessionLimit,
  type SessionStatus,
} from './vocabulary';

export interface Round {
  readonly turn: number;
  readonly round: number;
  readonly calls: readonly AskedCall[];
}

/** What may still be said of a session that is over: what became of calls that were under way then. */
const AFTER_THE_END: Record<SessionEventType, boolean> = {
  'session.started': false,
  'session.completed': false,
  'session.failed': false,
  'session.cancelled': false,
  'message.user': false,
  'message.assistant': false,
  'tool.requested': false,
  'tool.queued': false,
  'tool.dispatched': false,
  'tool.completed': true,
  'tool.indeterminate': true,
  'tool.policy_denied': false,
  'approval.required': false,
  'approval.vote': false,
  'approval.decided': false,
  'approval.escalated': false,
  'approval.expired': false,
};

/** For whom a call waits in each status; null: for nobody. */
const WAITS_FOR: Record<InvocationStatus, 'worker' | 'people' | null> = {
  pending: 'worker',
  queued: 'worker',
  dispatched: 'worker',
  awaiting_approval: 'people',
  indeterminate: 'people',
  succeeded: null,
  failed: null,
};

const WAITS_FOR_PEOPLE: readonly SessionStatus[] = ['awaiting_input', 'awaiting_approval'];

type Event<T extends SessionEventType> = { readonly type: T } & SessionBodies[T];
type Rules = { readonly [T in SessionEventType]: (view: SessionView, event: Event<T>, at: number) => void };

export class SessionView {
  started: (SessionBodies['session.started'] & { readonly at: number }) | null = null;
  ended: { readonly status: EndedStatus; readonly code: string | null; readonly at: number } | null = null;
  turn = 0;
  /** The last answer of the model in this turn; null while there is none. */
  round: Round | null = null;
  /** By call id, in the order in which they were requested. */
  readonly calls = new Map<string, Invocation>();
  /** By id, in the order in which they were asked. */
  readonly approvals = new Map<string, Approval>();
  tokens = 0;
  /** For how long people were waited for, in milliseconds, up to the last event. */
  waitedMs = 0;
  private lastAt = 0;
  /** Calls of the last answer that have not been recorded yet. */
  private missing = 0;
  /** Of all calls, those that are not finished. */
  private readonly open = new Set<string>();

  constructor(readonly sessionId: string) {}

  /** Goes its own way from here. */
  copy(): SessionView {
    const { calls, approvals, open } = this;
    const own = { calls: new Map(calls), approvals: new Map(approvals), open: new Set(open) };
    return Object.assign(new SessionView(this.sessionId), this, own);
  }

  /** Throws a `Refusal`, and stays as it is, when this event cannot follow. */
  take(event: SessionEvent, at: number): void {
    const before = this.status;
    if (this.started === null && event.type !== 'session.started') refuse('comes before the start of its session');
    if (this.ended !== null && !AFTER_THE_END[event.type]) refuse(`follows the end of its session`);
    (RULES[event.type] as (view: SessionView, event: SessionEvent, at: number) => void)(this, event, at);
    if (WAITS_FOR_PEOPLE.includes(before)) this.waitedMs += Math.max(0, at - this.lastAt);
    this.lastAt = Math.max(at, this.lastAt);
  }

  get status(): SessionStatus {
    if (this.ended !== null) return this.ended.status;
    if (this.started === null) return 'pending';
    if (this.turn === 0) return 'awaiting_input';
    if (this.isAskedOfLimits()) return 'awaiting_approval';
    if (this.round === null || this.missing > 0) return 'running';
    const waits = this.unfinished.map(({ status }) => WAITS_FOR[status]);
    if (waits.includes('worker')) return 'awaiting_tool';
    if (waits.includes('people')) return 'awaiting_approval';
    return this.round.calls.length > 0 || this.started.kind === 'child' ? 'running' : 'awaiting_input';
  }

  /** How long the session has taken at `now`, without the time for which people were waited for. */
  elapsedMs(now: number): number {
    if (this.started === null) return 0;
    const waiting = WAITS_FOR_PEOPLE.includes(this.status) ? Math.max(0, now - this.lastAt) : 0;
    return Math.max(0, now - this.started.at - this.waitedMs - waiting);
  }

  /** As of `now`. */
  spending(now: number): Spending {
    const { tokens = null, rounds = null, wallClockMs = null } = this.started?.limits ?? {};
    const granted = (limit: SessionLimit): number =>
      [...this.approvals.values()].filter((one) => one.limit === limit && one.status === 'approved').length;
    return {
      limits: { tokens, rounds, wall_clock: wallClockMs },
      spent: { tokens: this.tokens, rounds: this.round?.round ?? 0, wall_clock: this.elapsedMs(now) },
      granted: { tokens: granted('tokens'), rounds: granted('rounds'), wall_clock: granted('wall_clock') },
    };
  }

  get unfinished(): readonly Invocation[] {
    return [...this.open].map((callId) => this.calls.get(callId) as Invocation);
  }

  /** Places in the last answer whose calls have not been recorded yet. */
  get unrequested(): readonly number[] {
    const { round } = this;
    return round === null || this.missing === 0
      ? []
      : [...round.calls.keys()].filter((index) => !this.calls.has(this.callIdAt(round, index)));
  }

  callIdAt({ turn, round }: Pick<Round, 'turn' | 'round'>, index: number): string {
    const { agentVersion } = this.started ?? refuse('has not started');
    return callIdOf({ session: this.sessionId, agentVersion, turn, round, index });
  }

  /** The turn's last answer had no calls, or there was no turn yet: a message, or the end, may follow. */
  get isBetweenTurns(): boolean {
    return this.turn === 0 || (this.round !== null && this.round.calls.length === 0);
  }

  approvalsOf(callId: string): readonly Approval[] {
    return [...this.approvals.values()].filter((approval) => approval.callId === callId);
  }

  /** Questions about one subject so far. */
  questionsAbout({ callId, limit }: Pick<Approval, 'callId' | 'limit'>): number {
    return [...this.approvals.values()].filter((one) => one.callId === callId && one.limit === limit).length;
  }

  /** Applies a move to a call; used by the rules below only. */
  move(callId: string, command: InvocationCommand): void {
    const step = stepInvocation(this.calls.get(callId) ?? null, command);
    if (step.verdict === 'moved' && command.does === 'request') this.missing -= 1;
    if (step.verdict === 'refused') throw new Refusal(step.code, `${step.why} (${callId})`, 'record.body.call_id');
    this.calls.set(callId, step.invocation);
    if (isFinished(step.invocation.status)) this.open.delete(callId);
    else this.open.add(callId);
  }

  answered(round: Round): void {
    this.round = round;
    this.missing = round.calls.length;
  }

  end(status: EndedStatus, code: string | null, at: number): void {
    const waiting = this.unfinished.some((call) => !['dispatched', 'indeterminate'].includes(call.status));
    if (waiting) refuse('leaves calls that were never dispatched without an end');
    this.ended = { status, code, at };
  }

  private isAskedOfLimits(): boolean {
    if (this.approvals.size === 0) return false;
    return [...this.approvals.values()].some(({ limit, status }) => limit !== null && status === 'pending');
  }
}

const RULES: Rules = {
  'session.started': (view, { type: _type, ...body }, at) => {
    if (view.started !== null) refuse('starts its session a second time');
    view.started = { ...body, at };
  },
  'session.completed': (view, _event, at) => {
    if (view.unfinished.length > 0 || !view.isBetweenTurns) refuse('completes a session in the middle of a turn');
    view.end('completed', null, at);
  },
  'session.failed': (view, { code }, at) => view.end('failed', code, at),
  'session.cancelled': (view, _event, at) => view.end('cancelled', null, at),
  'message.user': (view, { turn }) => {
    if (view.status !== 'awaiting_input') refuse(`comes while the session is ${view.status}`);
    if (turn !== view.turn + 1) refuse('is of another turn than the next one', 'turn');
    view.turn = turn;
    view.round = null;
  },
  'message.assistant': (view, { turn, round, calls, inputTokens, outputTokens }) => {
    if (view.status !== 'running' || view.unrequested.length > 0) refuse(`answers while the session is ${view.status}`);
    if (view.round?.calls.length === 0) refuse('answers a turn that is over');
    if (turn !== view.turn) refuse('is of another turn', 'turn');
    if (round !== (view.round?.round ?? 0) + 1) refuse('is of another round than the next one', 'round');
    view.answered({ turn, round, calls });
    view.tokens += inputTokens + outputTokens;
  },
  'tool.requested': (view, { callId, runId, tool, sideEffect, argsDigest }, at) => {
    const { round, started } = view;
    const place = callPlace(callId);
    const own = place.session === view.sessionId && place.agentVersion === started?.agentVersion;
    if (!own || round === null || place.turn !== round.turn || place.round !== round.round) {
      refuse('is at no place of the last answer', 'call_id');
    }
    const asked = round.calls[place.index] ?? refuse('is at no place of the last answer', 'call_id');
    if (asked.tool !== tool.tool) refuse('is not the tool that the model asked for', 'tool');
    if (runId !== null && (!isToolName(tool.tool) || runId !== callRunId(callId, tool))) {
      refuse('is not the run of this call', 'run_id');
    }
    view.move(callId, { does: 'request', callId, runId, tool, sideEffect, argsDigest, at });
  },
  'tool.queued': (view, { callId, queuedAt }) => {
    refuseUnapproved(view, callId);
    view.move(callId, { does: 'queue', at: queuedAt });
  },
  'tool.dispatched': (view, { callId, attempt, ground, worker, dispatchedAt }) => {
    refuseUnapproved(view, callId);
    if (view.calls.get(callId)?.runId === null) refuse('is of a call that names no tool', 'call_id');
    view.move(callId, { does: 'dispatch', attempt, ground, worker, at: dispatchedAt });
  },
  'tool.completed': (view, { callId, status, ground, resultDigest, errorCode, completedAt }) => {
    if (ground === 'unsent') {
      // The reader has checked that the code is one of those.
      const code = errorCode as Extract<InvocationCommand, { does: 'give_up' }>['code'];
      view.move(callId, { does: 'give_up', code, at: completedAt });
    } else {
      view.move(callId, { does: 'finish', status, ground, resultDigest, code: errorCode, at: completedAt });
    }
  },
  'tool.indeterminate': (view, { callId, code, exhausted }) => view.move(callId, { does: 'lose', code, exhausted }),
  'tool.policy_denied': (view, { callId }, at) => view.move(callId, { does: 'give_up', code: 'policy:denied', at }),
  'approval.required': (view, { approval }) => {
    const { approvalId, callId, argsDigest, after } = approval;
    if (view.approvals.has(approvalId)) refuse('asks again what was asked already', 'approval_id');
    if (after !== null && (view.approvals.get(after)?.status !== 'escalated' || approvalId !== nextApprovalId(after))) {
      refuse('follows a question that was not escalated', 'after');
    }
    if (callId !== null) {
      if (view.calls.get(callId)?.argsDigest !== argsDigest) refuse('is about other arguments', 'args_digest');
      view.move(callId, { does: 'ask' });
    }
    view.approvals.set(approvalId, approval);
  },
  'approval.vote': (view, { approvalId, person, decision }, at) => {
    const approval = approvalOf(view, approvalId);
    if (approval.status !== 'pending') refuse('votes on a question that is closed', 'approval_id');
    const { argsDigest } = approval;
    const step = castVote(approval, { person, decision, at, requester: view.started?.requester ?? null, argsDigest });
    if (step.verdict === 'refused') refuse(step.why, 'person');
    view.approvals.set(approvalId, step.approval);
  },
  'approval.decided': (view, { approvalId, decision, by }, at) => {
    const approval = approvalOf(view, approvalId);
    if (by === 'votes') {
      if (approval.status !== decision) refuse('is not what the votes say', 'decision');
      return;
    }
    const silent = approval.status === 'pending' && approval.onTimeout === 'allow' && isOverdue(approval, at);
    if (!silent || decision !== 'approved') refuse('takes silence for consent where no rule says so', 'by');
    view.approvals.set(approvalId, { ...approval, status: 'approved' });
  },
  'approval.escalated': (view, { approvalId, next }, at) => {
    const approval = approvalOf(view, approvalId);
    const timeout = expireApproval(approval, at);
    if (timeout.becomes !== 'escalated') refuse('asks others before its time, or where no rule says so', 'approval_id');
    if (timeout.next.approvalId !== next) refuse('is not the question that follows', 'next');
    view.approvals.set(approvalId, timeout.approval);
  },
  'approval.expired': (view, { approvalId }, at) => {
    const approval = approvalOf(view, approvalId);
    const timeout = expireApproval(approval, at);
    if (timeout.becomes !== 'expired')
      refuse('expires before its time, or though others are to be asked', 'approval_id');
    view.approvals.set(approvalId, timeout.approval);
  },
};

/** Whatever people are asked about a call must have been approved before it goes anywhere. */
function refuseUnapproved(view: SessionView, callId: string): void {
  const approvals = view.approvalsOf(callId);
  const answered = approvals.every(({ status }) => status === 'approved' || status === 'escalated');
  if (!answered || approvals.some((approval) => isUnfollowed(approval, approvals))) {
    refuse('goes to a worker without the approval that was asked for', 'call_id');
  }
}

function approvalOf(view: SessionView, approvalId: string): Approval {
  return view.approvals.get(approvalId) ?? refuse('is about a question that nobody asked', 'approval_id');
}

function refuse(reason: string, field: string | null = null): never {
  throw new Refusal('invalid_record', reason, field === null ? 'record' : `record.body.${field}`);
}
