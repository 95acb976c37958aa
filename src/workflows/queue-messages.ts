/**
 * What a tool's queue takes in and gives out. Invariant: wire types only, and no content; every message may come twice, late, or
 * from a run that is gone, so each names its call and which request of that call it speaks of.
 */
import { defineQuery, defineSignal } from '@temporalio/workflow';
import {
  ENQUEUE_SIGNAL,
  REGISTER_SIGNAL,
  REPORT_SIGNAL,
  WITHDRAW_SIGNAL,
  type AllowedWorkers,
  type CallReport,
} from '../activities/tool-contract';
import type { Dict } from '../rules/fields';

export { ENQUEUE_SIGNAL, REGISTER_SIGNAL, REPORT_SIGNAL, WITHDRAW_SIGNAL, type CallReport };

/** A call that is to be sent by one of its tool's workers. Sent again, it stays the same call in the same place. */
export interface Enqueue {
  readonly call_id: string;
  readonly run_id: string;
  /** The content-free plan of the call: one effect, of this queue's tool. */
  readonly plan: Dict;
  readonly journal_id: string | null;
  /** Workflow that hears what became of it, and whose `origin` the plan names. */
  readonly reply_to: string;
  /** How long it may wait for a worker, in milliseconds. */
  readonly queue_wait_ms: number;
  /** When that is over, unix milliseconds of the server: first asked for, plus the wait. A request that is sent again says the same. */
  readonly deadline_at: number;
  /** How long one execution may take, in milliseconds. It counts from when a worker took the call. */
  readonly execution_ms: number;
  /** Position among the calls of `reply_to`: the order of those that were asked for in the same moment. */
  readonly sequence: number;
  /** Counts how often this call was asked for anew, as when a person approves one more dispatch. @default 1 */
  readonly request?: number;
  /** Without a sign of life from its worker for so long, what became of the call is unknown. @default 30000 */
  readonly lease_ms?: number;
  /** Most calls that may wait before this one, in this queue. @default 256 */
  readonly bound?: number;
  /** It was sent before: a queue that is lost since may have let it in. @default false */
  readonly resent?: boolean;
  /** Workers that may send it. @default every worker of the tool */
  readonly allow?: AllowedWorkers;
}

/** The call is not wanted any more. One that waits leaves at once; one that a worker has is left to finish. */
export interface Withdraw {
  readonly call_id: string;
  readonly reply_to: string;
}

/** A tool worker begins or ends. */
export interface Register {
  /** Identity of its Temporal worker: it is also what the pollers of its task queue are called. */
  readonly identity: string;
  /** Random, made for this run of the worker: a late word of an earlier one under the same identity says nothing of it. */
  readonly instance: string;
  /** Calls that it takes at once. */
  readonly slots: number;
  readonly descriptor_hash: string;
  readonly event: 'started' | 'stopped';
}

export interface ToolQueueInput {
  readonly tool: string;
  /** `default` for a tool without a version. */
  readonly version: string;
  /** Events after which a queue with nothing running continues as new. @default 4000 */
  readonly renew_when_idle?: number;
  /** Events after which it hands out nothing more until it can. @default 20000 */
  readonly renew_anyhow?: number;
  /** Set by continue-as-new. */
  readonly carried?: CarriedQueue;
}

export interface CarriedQueue {
  /** See `queueToRecord`. */
  readonly state: Dict;
  readonly reported: number;
  readonly renewals: number;
}

export interface QueueWorker {
  readonly identity: string;
  readonly instance: string;
  readonly slots: number;
  readonly descriptor_hash: string;
}

/** Where a queue stands. */
export interface QueueStatus {
  readonly tool: string;
  readonly version: string;
  /** Calls that may be with workers at once. */
  readonly capacity: number;
  /** Call ids, in the order in which they will be given to workers. */
  readonly waiting: readonly string[];
  readonly running: readonly string[];
  readonly workers: readonly QueueWorker[];
  /** Some worker has registered at some time. */
  readonly ever_registered: boolean;
  /** Reports given since the queue began. */
  readonly reported: number;
  /** How often it has continued as new. */
  readonly renewals: number;
}

/** Calls that are asked for together come together. */
export const enqueueSignal = defineSignal<Enqueue[]>(ENQUEUE_SIGNAL);
export const withdrawSignal = defineSignal<[Withdraw]>(WITHDRAW_SIGNAL);
export const registerSignal = defineSignal<[Register]>(REGISTER_SIGNAL);
export const reportSignal = defineSignal<[CallReport]>(REPORT_SIGNAL);
export const queueQuery = defineQuery<QueueStatus>('queue');
