/**
 * What every part of `drive` works with. Invariant: the engine knows no Temporal, so the same code is driven by the activity
 * and by the model-based tests; all that differs comes in through this interface.
 */
import type { Reviewers, Spans } from '../ports';
import type { LabelsOf, Measurement } from '../rules/measurements';
import type { ApprovalRule } from '../rules/receipts/approval-rule';
import type { Contents } from './contents';
import type { Journal } from './journal';
import type { Registry } from './registry';
import type { ToolStanding } from './tool-door';

/** The moments at which a crash is interesting. Used by tests only. */
export const ENGINE_POINTS = [
  'before_append',
  'after_append',
  'slot_taken',
  'sending',
  'answered',
  'result_kept',
  'ended',
  'epoch_taken',
  'slot_closed',
  'returning',
] as const;
export type EnginePoint = (typeof ENGINE_POINTS)[number];

/**
 * What approval a worker demands for one operation beyond what its plan says; null for none. `operation` is content: do not log
 * it. Pure: the same operation must always get the same rule.
 */
export type ApprovalPolicy = (toolId: string, operation: unknown) => ApprovalRule | null;

/** Takes measurements; never throws, and never makes the engine wait. */
export interface Meter {
  record<M extends Measurement>(what: M, value: number, labels: LabelsOf<M>): void;
}

export interface Engine {
  /** Only on a tool worker: who it is to those whose calls it takes. */
  readonly standing?: ToolStanding;
  readonly journal: Journal;
  readonly contents: Contents;
  readonly registry: Registry;
  readonly policy: ApprovalPolicy | null;
  /** Null: this worker knows nobody who could decide. */
  readonly reviewers: Reviewers | null;
  /** A fresh random owner token: `own_` and 32 hex digits. */
  newOwner(): string;
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds of a clock that never goes back. */
  monotonic(): number;
  sleep(ms: number): Promise<void>;
  /** Runs `call` with a signal that aborts at the deadline, and rejects then even if `call` does not stop. */
  withDeadline<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Absent: nobody wants to know. */
  readonly meter?: Meter;
  readonly spans?: Spans;
  /** @internal */
  at?(point: EnginePoint): void | Promise<void>;
}

/** Who calls `drive`, as the Temporal server says it. */
export interface Caller {
  readonly workflowId: string | null;
  /** Digest of namespace, workflow id and Temporal run. */
  readonly driver: string;
  /** Server time at which this execution was scheduled, unix milliseconds. */
  readonly scheduledAt: number;
  /** True when the execution was asked to stop: finish the effect in hand and come back. */
  stopping(): boolean;
}
