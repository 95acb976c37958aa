/**
 * What launching works with. Invariant: it knows no Temporal; whoever carries a job is told that something happened, never
 * what: that is read from the journal, so nobody is believed who only says so.
 */
import type { Engine } from './engine';
import type { Launchers } from './launchers';

/** The moments at which a crash is interesting. Used by tests only. */
export const LAUNCH_POINTS = ['claiming', 'claimed', 'launched', 'launch_ended', 'submitted'] as const;
export type LaunchPoint = (typeof LAUNCH_POINTS)[number];

/** Tells whoever runs this worker. Ids, names, classes of errors and numbers only: no message of an error, no content. */
export type Warn = (sentence: string, about: Readonly<Record<string, string | number | null>>) => void;

/** Whoever carries a job. Must not throw, and not wait for the job. */
export interface Carriers {
  /** This is stored as the job's submission. */
  submitted(jobId: string, submission: string): Promise<void>;
  /** Something else about the job is new in the journal. */
  changed(jobId: string): Promise<void>;
}

export interface LaunchEngine extends Pick<
  Engine,
  'journal' | 'contents' | 'reviewers' | 'newOwner' | 'now' | 'withDeadline'
> {
  readonly launchers: Launchers;
  /** Roles that may authorize; null: any that a reviewer's key holds. */
  readonly launchRoles: readonly string[] | null;
  /** 64 random hex digits. */
  newSecret(): string;
  /** @default nobody hears it */
  readonly warn?: Warn;
  /** @internal */
  atLaunch?(point: LaunchPoint): void | Promise<void>;
}

/** Who calls, as the Temporal server says it. */
export interface LaunchCaller {
  readonly workflowId: string | null;
  /** Server time at which this execution was scheduled, unix milliseconds. */
  readonly scheduledAt: number;
}
