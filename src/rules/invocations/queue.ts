/**
 * The queue of one tool, step by step. Invariant: calls are handed out in the order of their first enqueue and never more than there is
 * room for; each request of a call gets one report, and that report again whenever it is asked again; a call that a worker may have had
 * is never reported as not dispatched; nothing that is said twice, late or in another order loses or doubles a call.
 */
import { hasPlaceFor, listOf } from './allowed-workers';
import {
  ALIVE_SHARE,
  FIRST_HOLD_MS,
  LONGEST_HOLD_MS,
  MOST_LOSSES,
  MOST_WAITING,
  REMEMBERED,
  capacityOf,
  compareCalls,
  queuedAt,
  type LeftStatus,
  type QueueChange,
  type QueueEffect,
  type QueueEvent,
  type QueueEventType,
  type QueueReport,
  type QueueRequest,
  type QueueState,
  type QueueStep,
  type RunningCall,
  type WaitingCall,
} from './queue-state';
import type { UnsentCode } from './vocabulary';

/**
 * `now`: unix milliseconds of the server's clock; it may stand still, and never runs backwards. `has`: asked only where the change would
 * make a difference.
 */
export function stepQueue(
  state: QueueState,
  event: QueueEvent,
  now: number,
  has: (change: QueueChange) => boolean = () => true,
): QueueStep {
  const turn = new Turn(state, now, has);
  // The table is exhaustive; that each rule gets its own event, TypeScript cannot follow through an index.
  (RULES[event.type] as (turn: Turn, event: QueueEvent) => void)(turn, event);
  turn.expire();
  turn.handOut();
  return { state: turn.state, effects: turn.effects };
}

type Of<Type extends QueueEventType> = Extract<QueueEvent, { readonly type: Type }>;

const RULES: { readonly [Type in QueueEventType]: (turn: Turn, event: Of<Type>) => void } = {
  enqueue: (turn, { call }) => {
    if (turn.answerFromMemory(call) || turn.isHere(call)) return;
    const fresh = turn.mayHaveForgotten(call) ? { ...waitingOf(call), attempts: 1 } : waitingOf(call);
    if (turn.isWithdrawn(call)) turn.leaveUntaken(fresh, 'dispatch:withdrawn');
    else if (turn.isFullFor(call)) turn.leaveUntaken(fresh, turn.notTaken());
    else turn.wait(fresh);
  },
  withdraw: (turn, { callId, replyTo }) => {
    const isIt = (call: QueueRequest): boolean => call.callId === callId && call.replyTo === replyTo;
    turn.forbid({ callId, replyTo });
    turn.change({ running: turn.state.running.map((call) => (isIt(call) ? { ...call, withdrawn: true } : call)) });
    for (const call of turn.takeWaiting(isIt)) turn.leaveUntaken(call, 'dispatch:withdrawn');
  },
  worker_started: (turn, { worker }) => {
    // Under one identity there is one worker: an earlier one that never said goodbye is gone.
    const others = turn.state.workers.filter(({ identity }) => identity !== worker.identity);
    turn.change({ everRegistered: true, workers: [...others, worker] });
    turn.lift();
  },
  worker_stopped: (turn, { identity, instance }) => {
    const stays = (worker: { identity: string; instance: string }): boolean =>
      worker.identity !== identity || worker.instance !== instance;
    turn.change({ everRegistered: true, workers: turn.state.workers.filter(stays) });
  },
  ended: (turn, event) => {
    const { callId, worker, takenAt } = event;
    const call = turn.takeRunning(callId);
    if (call === null) return;
    if (event.alive === true && event.end !== 'lost') turn.goOnSooner();
    const lost = event.end === 'lost' ? 1 : 0;
    const had = {
      ...call,
      attempts: call.attempts + 1,
      losses: call.losses + lost,
      worker: worker ?? call.worker,
      takenAt: takenAt ?? call.takenAt ?? call.handedOutAt,
    };
    switch (event.end) {
      case 'settled':
        return turn.leave(had, 'settled', null);
      case 'failed':
      case 'unknown':
        return turn.leave(had, event.end, event.code);
      case 'again':
        return turn.comeBack(had, 'dispatch:indeterminate');
      case 'lost':
        turn.describe();
        if (had.losses >= MOST_LOSSES) return turn.leave(had, 'unknown', event.code);
        return turn.comeBack(had, event.code);
    }
  },
  bounced: (turn, { callId }) => {
    const call = turn.takeRunning(callId);
    if (call === null) return;
    turn.holdBack();
    turn.describe();
    if (call.withdrawn) turn.leaveUntaken(call, 'dispatch:withdrawn');
    else turn.wait(call);
  },
  described: (turn, { gone, alive = false }) => {
    const { workers } = turn.state;
    const here = workers.filter(({ identity }) => !gone.includes(identity));
    turn.change({ asking: false, workers: here });
    // The slots that nobody had are not counted any more. Where nobody is gone, the hold goes on.
    if (here.length < workers.length) turn.lift();
    else if (alive) turn.shorten();
  },
  drain: (turn) => turn.change({ draining: true }),
  tick: () => undefined,
};

/** One step: the state as it becomes, and what is to be done. */
class Turn {
  readonly effects: QueueEffect[] = [];

  constructor(
    public state: QueueState,
    readonly now: number,
    private readonly has: (change: QueueChange) => boolean,
  ) {}

  change(change: Partial<QueueState>): void {
    this.state = { ...this.state, ...change };
  }

  /** A request that has left is answered as it was; a call whose chain has ended, whatever the request. */
  answerFromMemory(call: QueueRequest): boolean {
    const { left } = this.state;
    const own = left.filter(({ callId, runId }) => callId === call.callId && runId === call.runId);
    const report =
      own.find(({ request }) => request === call.request) ?? own.find(({ status }) => status === 'settled') ?? null;
    if (report !== null) {
      const again = { ...report, request: call.request, replyTo: call.replyTo };
      this.effects.push({ does: 'report', report: again, again: true });
    }
    // Whoever asked for a later request knows how the earlier one ended.
    return report !== null || own.some(({ request }) => request > call.request);
  }

  /** A call that waits or runs stays where it is. A later request of it is the one that is answered then. */
  isHere(call: QueueRequest): boolean {
    const { waiting, running } = this.state;
    const isIt = ({ callId }: QueueRequest): boolean => callId === call.callId;
    const renewed = <Call extends WaitingCall>(known: Call): Call =>
      isIt(known) && known.request < call.request && isSame(known, call)
        ? { ...known, request: call.request, replyTo: call.replyTo }
        : known;
    const here = [...waiting, ...running].find(isIt);
    if (here === undefined) return false;
    if (isRival(here, call) && this.has('answers_rivals')) {
      this.effects.push({ does: 'turn_away', call, code: 'plan_conflict' });
    }
    this.change({ waiting: waiting.map(renewed), running: running.map(renewed) });
    return true;
  }

  isWithdrawn({ callId, replyTo }: QueueRequest): boolean {
    return this.state.withdrawn.some((one) => one.callId === callId && one.replyTo === replyTo);
  }

  forbid(call: { readonly callId: string; readonly replyTo: string }): void {
    const others = this.state.withdrawn.filter(({ callId }) => callId !== call.callId);
    this.change({ withdrawn: [...others, call].slice(-REMEMBERED) });
  }

  /** It was sent before, and would be known here, had nothing been lost or forgotten since. */
  mayHaveForgotten(call: QueueRequest): boolean {
    const { bornAt, left } = this.state;
    const since = left.length < REMEMBERED ? bornAt : Math.max(bornAt, left[0]?.completedAt ?? 0);
    return call.resent && queuedAt(call) <= since;
  }

  isFullFor(call: QueueRequest): boolean {
    const { waiting } = this.state;
    // It was let in once.
    if (this.mayHaveForgotten(call)) return false;
    if (waiting.length < Math.min(call.bound, MOST_WAITING)) return false;
    return !(waiting.length === 0 && this.hasRoom() && this.mayGo(call));
  }

  hasRoom(): boolean {
    const { draining, running } = this.state;
    return !draining && running.length < capacityOf(this.state);
  }

  notTaken(): UnsentCode {
    return this.state.everRegistered ? 'dispatch:capacity_exhausted' : 'dispatch:no_handler';
  }

  /** To its place: before all that were first enqueued later. */
  wait(call: WaitingCall): void {
    const { waiting } = this.state;
    const later = waiting.findIndex((other) => compareCalls(call, other) < 0);
    const place = later === -1 ? waiting.length : later;
    this.change({ waiting: [...waiting.slice(0, place), bareWaiting(call), ...waiting.slice(place)] });
  }

  /** After a worker has had it. It waits anew, since its own deadline was kept when the worker took it. */
  comeBack(call: RunningCall, code: string): void {
    if (call.withdrawn) this.leave(call, 'unknown', code);
    else this.wait({ ...call, until: this.now + call.waitMs });
  }

  /** It goes without an answer of its own: only what no worker can have had is said not to have been dispatched. */
  leaveUntaken(call: WaitingCall, code: UnsentCode): void {
    if (call.attempts === 0) this.leave(call, 'failed', code);
    else this.leave(call, 'unknown', 'dispatch:indeterminate');
  }

  leave(call: WaitingCall, status: LeftStatus, code: string | null): void {
    const { callId, runId, request, replyTo, worker, attempts } = call;
    const times = { queuedAt: queuedAt(call), dispatchedAt: call.takenAt, completedAt: this.now };
    const report: QueueReport = { callId, runId, request, replyTo, status, code, worker, attempts, ...times };
    this.effects.push({ does: 'report', report, again: false });
    this.change({ left: [...this.state.left, report].slice(-REMEMBERED) });
  }

  takeWaiting(leaves: (call: WaitingCall) => boolean): readonly WaitingCall[] {
    const { waiting } = this.state;
    const taken = waiting.filter(leaves);
    if (taken.length > 0) this.change({ waiting: waiting.filter((call) => !leaves(call)) });
    return taken;
  }

  takeRunning(callId: string): RunningCall | null {
    const { running } = this.state;
    const call = running.find((one) => one.callId === callId) ?? null;
    if (call !== null) this.change({ running: running.filter((one) => one !== call) });
    return call;
  }

  describe(): void {
    if (this.state.asking) return;
    this.change({ asking: true });
    this.effects.push({ does: 'describe' });
  }

  /** Fewer workers are there than have registered: what runs now is what they can do. */
  holdBack(): void {
    const { hold, holdMs, running } = this.state;
    const goesOn = hold !== null && hold.until > this.now;
    const until = goesOn ? hold.until : this.now + holdMs;
    const limit = goesOn ? Math.min(hold.limit, running.length) : running.length;
    this.change({ hold: { limit, until }, holdMs: goesOn ? holdMs : Math.min(2 * holdMs, LONGEST_HOLD_MS) });
  }

  /** Whoever is there takes calls again before long. Each further bounce still makes the next hold longer. */
  shorten(): void {
    const { hold, holdMs } = this.state;
    if (hold === null) return;
    const until = Math.min(hold.until, this.now + Math.ceil(holdMs / ALIVE_SHARE));
    this.change({ hold: { ...hold, until } });
  }

  /** A worker has done a call: a hold that stands is cut, and after one that is over the next is no longer than the first. */
  goOnSooner(): void {
    if (this.state.hold === null) this.change({ holdMs: FIRST_HOLD_MS });
    else this.shorten();
  }

  lift(): void {
    this.change({ hold: null, holdMs: FIRST_HOLD_MS });
  }

  expire(): void {
    const { hold } = this.state;
    if (hold !== null && hold.until <= this.now) this.change({ hold: null });
    for (const call of this.takeWaiting(({ until }) => until <= this.now)) this.leaveUntaken(call, this.notTaken());
  }

  handOut(): void {
    while (this.hasRoom()) {
      const next = this.next();
      if (next === undefined) return;
      const call: RunningCall = { ...next, handedOutAt: this.now, withdrawn: false };
      this.change({
        waiting: this.state.waiting.filter((other) => other !== next),
        running: [...this.state.running, call],
      });
      this.effects.push({ does: 'dispatch', call, startWithinMs: next.until - this.now });
    }
  }

  /** The first that somebody who is there may do. */
  private next(): WaitingCall | undefined {
    const { waiting } = this.state;
    const seen = new Map<string, boolean>();
    return waiting.find((call) => {
      const list = listOf(call);
      const goes = seen.get(list) ?? this.mayGo(call);
      seen.set(list, goes);
      return goes;
    });
  }

  private mayGo(call: QueueRequest): boolean {
    return hasPlaceFor(call, this.state) || !this.has('heeds_lists');
  }
}

function waitingOf(call: QueueRequest): WaitingCall {
  return { ...call, until: call.deadlineAt, attempts: 0, losses: 0, worker: null, takenAt: null };
}

function bareWaiting(call: WaitingCall): WaitingCall {
  const { handedOutAt: _handed, withdrawn: _withdrawn, ...waiting } = call as RunningCall;
  return waiting;
}

/** Somebody else asks for another plan under the name of this one. */
function isRival(known: QueueRequest, call: QueueRequest): boolean {
  return (
    known.replyTo !== call.replyTo && JSON.stringify(known.carries['plan']) !== JSON.stringify(call.carries['plan'])
  );
}

/** Another plan under the same name is no request of this call; `drive` refuses it in the journal as well. */
function isSame(known: QueueRequest, call: QueueRequest): boolean {
  return known.runId === call.runId && JSON.stringify(known.carries) === JSON.stringify(call.carries);
}
