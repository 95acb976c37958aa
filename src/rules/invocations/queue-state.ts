/**
 * What the queue of one tool knows: who waits, in which order, who runs, which workers there are, and who has left lately.
 * Invariant: it is plain JSON; each call stands in at most one place; the order of those that wait is a property of the calls alone,
 * so it is the same however often, and in whatever order, their messages came.
 */
import type { Dict } from '../fields';
import type { UnknownCode, UnsentCode } from './vocabulary';

export interface QueueSettings {
  /** Most calls that are let in to wait. @default 256 */
  readonly bound: number;
  /** Calls that have left of which it is remembered how. @default 256 */
  readonly remembered: number;
  /** Only these workers count; null lets every worker count. */
  readonly allowed: WorkerAllowList | null;
}

/** Null: any. */
export interface WorkerAllowList {
  readonly identities: readonly string[] | null;
  readonly descriptorHashes: readonly string[] | null;
}

export interface QueueWorker {
  /** As Temporal's description of the task queue shows it. */
  readonly identity: string;
  /** Random, of one start of this worker. */
  readonly instance: string;
  readonly slots: number;
  readonly descriptorHash: string;
}

/** What a caller says of a call. All of it is the same whenever it says so again, and `deadlineAt` names this wait of the call. */
export interface QueueRequest {
  readonly callId: string;
  readonly runId: string;
  readonly planDigest: string;
  /** The workflow that hears of its end. */
  readonly replyTo: string;
  /** The place of the call among those that its session enqueued in the same millisecond. */
  readonly sequence: number;
  /** Unix milliseconds: when it was first enqueued, by the workflow that did. */
  readonly queuedAt: number;
  /** Exclusive end of its wait for a worker. */
  readonly deadlineAt: number;
  /** For how long it may run, once a worker has taken it. */
  readonly executionMs: number;
  /** What it takes to drive the call; the queue's rules never look into it. */
  readonly carries: Dict;
}

export interface WaitingCall extends QueueRequest {
  /** How often it was handed to the task queue and came back without having been taken. */
  readonly bounces: number;
  /** A worker had it and gave it back, so something may have happened: it is never answered as not dispatched. */
  readonly begun: boolean;
}

export interface RunningCall extends WaitingCall {
  readonly dispatchedAt: number;
}

export type LeftStatus = 'settled' | 'failed' | 'unknown';

/** How a call left the queue. */
export interface QueueReport {
  readonly callId: string;
  readonly runId: string;
  readonly replyTo: string;
  /** `settled`: the chain in the journal is terminal. `failed`: see `code`. `unknown`: a person, or another driver, has to go on. */
  readonly status: LeftStatus;
  readonly code: UnsentCode | UnknownCode | string | null;
  readonly worker: string | null;
  readonly queuedAt: number;
  readonly deadlineAt: number;
  readonly dispatchedAt: number | null;
  readonly completedAt: number;
}

export interface QueueState {
  readonly settings: QueueSettings;
  /** When this queue began, unix milliseconds. What was first enqueued before had been let in by the queue that was lost. */
  readonly bornAt: number;
  /** Some worker has registered at some time. */
  readonly everRegistered: boolean;
  /** Nothing is dispatched until what runs has ended. */
  readonly draining: boolean;
  /** Somebody is missing: nothing is dispatched until it is known which workers still poll. */
  readonly probing: boolean;
  readonly workers: readonly QueueWorker[];
  /** In order. */
  readonly waiting: readonly WaitingCall[];
  readonly running: readonly RunningCall[];
  /** Those that left last stand last. */
  readonly left: readonly QueueReport[];
}

export type QueueEvent =
  | { readonly type: 'enqueue'; readonly call: QueueRequest }
  /** Its caller no longer wants it. One that runs is left to finish. */
  | { readonly type: 'withdraw'; readonly callId: string; readonly runId: string; readonly replyTo: string }
  | { readonly type: 'worker_started'; readonly worker: QueueWorker }
  | { readonly type: 'worker_stopped'; readonly identity: string; readonly instance: string }
  /** The drive of a call came back, or was lost (`unknown`). `code` is that of a failure. */
  | {
      readonly type: 'ended';
      readonly callId: string;
      readonly status: LeftStatus;
      readonly code: string | null;
      readonly worker: string | null;
    }
  /** Schedule-to-start ran out: proven that no worker took it. */
  | { readonly type: 'bounced'; readonly callId: string }
  /** A worker that stops gave it back before it was done. */
  | { readonly type: 'returned'; readonly callId: string }
  /** Who polls the tool's task queue now; null when that could not be found out. */
  | { readonly type: 'pollers'; readonly identities: readonly string[] | null }
  | { readonly type: 'drain' }
  /** Time has passed. */
  | { readonly type: 'tick' };
export type QueueEventType = QueueEvent['type'];

export type QueueEffect =
  /** Schedule its drive. It must have been taken within `startWithinMs`. */
  | { readonly does: 'dispatch'; readonly call: RunningCall; readonly startWithinMs: number }
  | { readonly does: 'report'; readonly report: QueueReport }
  /** Ask who polls the task queue, and answer with `pollers`, whatever comes of it. */
  | { readonly does: 'describe' };

export interface QueueStep {
  readonly state: QueueState;
  readonly effects: readonly QueueEffect[];
}

export const QUEUE_DEFAULTS: QueueSettings = { bound: 256, remembered: 256, allowed: null };
export const QUEUE_WAIT_MS = 10_000;
export const WORKER_CONCURRENCY = 4;

export function openQueue(settings: Partial<QueueSettings>, now: number): QueueState {
  return {
    settings: { ...QUEUE_DEFAULTS, ...settings },
    bornAt: now,
    everRegistered: false,
    draining: false,
    probing: false,
    workers: [],
    waiting: [],
    running: [],
    left: [],
  };
}

export function capacityOf({ workers }: Pick<QueueState, 'workers'>): number {
  return workers.reduce((slots, worker) => slots + worker.slots, 0);
}

/** When the next wait ends, unix milliseconds; null when nobody waits. */
export function nextDeadline({ waiting }: Pick<QueueState, 'waiting'>): number | null {
  return waiting.length === 0 ? null : Math.min(...waiting.map((call) => call.deadlineAt));
}

/** Nothing runs: the state can be handed to a new run of the workflow. */
export function isIdle({ running, probing }: Pick<QueueState, 'running' | 'probing'>): boolean {
  return running.length === 0 && !probing;
}

/** By first enqueue; calls of one millisecond by their place in their session, and then by name. A total order. */
export function compareCalls(a: QueueRequest, b: QueueRequest): number {
  return a.queuedAt - b.queuedAt || a.sequence - b.sequence || (a.callId < b.callId ? -1 : a.callId > b.callId ? 1 : 0);
}
