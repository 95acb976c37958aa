/**
 * What the queue of one tool knows: who waits, in which order, who runs, which workers there are, and who has left lately.
 * Invariant: it is plain JSON; a call stands in at most one place; the order of those that wait is a property of the calls alone, so
 * it is the same however often, and in whatever order, their messages came.
 */
import type { Dict } from '../fields';
import type { UnknownCode } from './vocabulary';

export interface QueueWorker {
  /** As Temporal's description of the task queue shows it. */
  readonly identity: string;
  /** Random, of one start of this worker. */
  readonly instance: string;
  readonly slots: number;
  readonly descriptorHash: string;
}

/** What a caller asks for. It is the same whenever it is sent again; only `resent` then says so. */
export interface QueueRequest {
  readonly callId: string;
  readonly runId: string;
  /** Counts from 1 how often the call was asked for anew, as when a person approves one more dispatch. */
  readonly request: number;
  /** The workflow that hears of its end. */
  readonly replyTo: string;
  /** Place among the calls that its session asked for in the same millisecond. */
  readonly sequence: number;
  /** How long it may wait for a worker. */
  readonly waitMs: number;
  /** The exclusive end of that, unix milliseconds. When it was first enqueued is so much earlier. */
  readonly deadlineAt: number;
  /** Calls that wait already when this one comes must be fewer than this; see also `MOST_WAITING`. */
  readonly bound: number;
  /** It was sent before: a queue that is lost, or has forgotten it, may have let it in and handed it out. */
  readonly resent: boolean;
  /** What it takes to drive the call. The rules only compare it. */
  readonly carries: Dict;
}

export interface WaitingCall extends QueueRequest {
  /** The exclusive end of the wait that it is in now: the deadline, or later for one that a worker has had. */
  readonly until: number;
  /** Times that a worker was given the call; 1 where a queue that has lost it may have done so. From then on it is not said to be unsent. */
  readonly attempts: number;
  /** Of these, executions that did not come back. */
  readonly losses: number;
  readonly worker: string | null;
  /** When a worker took it, the last time. */
  readonly takenAt: number | null;
}

export interface RunningCall extends WaitingCall {
  readonly handedOutAt: number;
  /** Its caller no longer wants it: it is left to finish, and does not come back. */
  readonly withdrawn: boolean;
}

export const LEFT_STATUSES = ['settled', 'failed', 'unknown'] as const;
export type LeftStatus = (typeof LEFT_STATUSES)[number];

/** How a call left the queue. */
export interface QueueReport {
  readonly callId: string;
  readonly runId: string;
  readonly request: number;
  readonly replyTo: string;
  /** `settled`: the chain in the journal is terminal. `failed`: see `code`. `unknown`: somebody else has to find out. */
  readonly status: LeftStatus;
  readonly code: string | null;
  readonly worker: string | null;
  readonly attempts: number;
  readonly queuedAt: number;
  readonly dispatchedAt: number | null;
  readonly completedAt: number;
}

/** After a call came back untaken, no more than `limit` run at once until `until`. */
export interface Hold {
  readonly limit: number;
  readonly until: number;
}

export interface QueueState {
  /** When this queue began, unix milliseconds. What was resent and is older may have been with one that is lost. */
  readonly bornAt: number;
  /** Some worker has registered at some time. */
  readonly everRegistered: boolean;
  /** Nothing is handed out until what runs has ended. */
  readonly draining: boolean;
  /** It was asked which workers are gone, and there is no answer yet. */
  readonly asking: boolean;
  readonly hold: Hold | null;
  /** How long the next hold is. */
  readonly holdMs: number;
  readonly workers: readonly QueueWorker[];
  /** In order. */
  readonly waiting: readonly WaitingCall[];
  readonly running: readonly RunningCall[];
  /** Those that left last stand last. */
  readonly left: readonly QueueReport[];
  /** Calls that must not be handed out any more, whenever they come. */
  readonly withdrawn: readonly Withdrawn[];
}

export interface Withdrawn {
  readonly callId: string;
  readonly replyTo: string;
}

export type DriveEnd =
  /** Its chain is terminal. */
  | { readonly end: 'settled' }
  /** It was refused, and nothing has happened. */
  | { readonly end: 'failed'; readonly code: string }
  /** The worker gave it back before it was done. */
  | { readonly end: 'again' }
  /** It did not come back. */
  | { readonly end: 'lost'; readonly code: UnknownCode }
  /** It takes time or a person to find out. */
  | { readonly end: 'unknown'; readonly code: string };

export type QueueEvent =
  | { readonly type: 'enqueue'; readonly call: QueueRequest }
  | ({ readonly type: 'withdraw' } & Withdrawn)
  | { readonly type: 'worker_started'; readonly worker: QueueWorker }
  | { readonly type: 'worker_stopped'; readonly identity: string; readonly instance: string }
  /** The drive of a call ended. `worker` and `takenAt`: null where nobody could say. */
  | ({
      readonly type: 'ended';
      readonly callId: string;
      readonly worker: string | null;
      readonly takenAt: number | null;
      /** A sign of life of a worker, which shortens a hold. @default false */
      readonly alive?: boolean;
    } & DriveEnd)
  /** Schedule-to-start ran out: proven that no worker took it. */
  | { readonly type: 'bounced'; readonly callId: string }
  /** The answer to `describe`, always given: registered workers that are not there any more. */
  /** `alive`: the others were seen, all of them. @default false, as where nobody could say */
  | { readonly type: 'described'; readonly gone: readonly string[]; readonly alive?: boolean }
  | { readonly type: 'drain' }
  /** Time has passed. */
  | { readonly type: 'tick' };
export type QueueEventType = QueueEvent['type'];

export type QueueEffect =
  /** Schedule its drive; a worker must have taken it within `startWithinMs`. */
  | { readonly does: 'dispatch'; readonly call: RunningCall; readonly startWithinMs: number }
  /** `again`: the same report was given before. */
  | { readonly does: 'report'; readonly report: QueueReport; readonly again: boolean }
  /** Say to whoever asked for this that it is not let in. */
  | { readonly does: 'turn_away'; readonly call: QueueRequest; readonly code: 'plan_conflict' }
  /** Find out which registered workers are gone, and answer `described`. */
  | { readonly does: 'describe' };

/** What these rules have come to do since queues first ran; a queue that began before goes on without it. */
export type QueueChange =
  /** A call that nobody who is there may do, or none of them has a place for, keeps nobody else waiting. */
  | 'heeds_lists'
  /** Whoever asks for another plan under the name of a call that is here, and is not who asked for it, is told. */
  | 'answers_rivals';

export interface QueueStep {
  readonly state: QueueState;
  readonly effects: readonly QueueEffect[];
}

export const QUEUE_BOUND = 256;
/** Whatever bound a call names. So many, and what has left, fit into the one message by which a run of the queue begins the next. */
export const MOST_WAITING = 1_000;
export const QUEUE_WAIT_MS = 10_000;
export const WORKER_SLOTS = 4;
/** Calls that have left of which it is remembered how. */
export const REMEMBERED = 256;
/** Executions that may be lost before somebody else has to find out. */
export const MOST_LOSSES = 3;
export const FIRST_HOLD_MS = 5_000;
export const LONGEST_HOLD_MS = 60_000;
/** Where the workers are known to be there, a hold lasts so small a part of what the next one may. */
export const ALIVE_SHARE = 10;

export function openQueue(now: number): QueueState {
  return {
    bornAt: now,
    everRegistered: false,
    draining: false,
    asking: false,
    hold: null,
    holdMs: FIRST_HOLD_MS,
    workers: [],
    waiting: [],
    running: [],
    left: [],
    withdrawn: [],
  };
}

/** How many calls may run at once. */
export function capacityOf({ workers, hold }: Pick<QueueState, 'workers' | 'hold'>): number {
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  return hold === null ? slots : Math.min(slots, hold.limit);
}

/** When time alone changes something next, unix milliseconds; null when it never does. */
export function nextWakeAt({ waiting, hold }: Pick<QueueState, 'waiting' | 'hold'>): number | null {
  const times = waiting.map((call) => call.until);
  if (hold !== null && waiting.length > 0) times.push(hold.until);
  return times.length === 0 ? null : times.reduce((first, time) => Math.min(first, time));
}

export function queuedAt({ deadlineAt, waitMs }: Pick<QueueRequest, 'deadlineAt' | 'waitMs'>): number {
  return deadlineAt - waitMs;
}

/** By first enqueue; calls of one millisecond by their place in their session, and then by name: a total order. */
export function compareCalls(a: QueueRequest, b: QueueRequest): number {
  return queuedAt(a) - queuedAt(b) || a.sequence - b.sequence || compareText(a.callId, b.callId);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
