/**
 * A job, from its preparation to its end. Invariant: at most one claim ever, at most one submission ever, and every unknown after
 * the claim ends the job; nothing here leads back to a state from which it could be launched again.
 */
import type { RefusalCode } from '../refusal';
import { ENDINGS, isOpen, isTerminal, mayMove, type JobReason, type JobState } from './job-states';

export interface Job {
  readonly jobId: string;
  readonly state: JobState;
  /** Why it ended without a result. */
  readonly reason: JobReason | null;
  /** The provider's own word, of `provider_refused`. */
  readonly refusal: string | null;
  /** Unix milliseconds: the exclusive end of its authorization. */
  readonly expiresAt: number;
  readonly contextDigest: string;
  /** Hand-offs that failed. */
  readonly tries: number;
  /** The owner of its send slot, made inside the execution that took it. */
  readonly claim: string | null;
  /** Digest of what its worker submitted. */
  readonly submission: string | null;
  /** Who projects it now. */
  readonly lease: string | null;
  /** The job that follows, as its completion names it. */
  readonly next: string | null;
}

export type JobCommand =
  /** Somebody is about to hand the job off. */
  | { readonly does: 'hand_off'; readonly now: number }
  | { readonly does: 'hand_off_failed' }
  /** The send slot was created by this owner. */
  | { readonly does: 'claim'; readonly owner: string; readonly now: number }
  | { readonly does: 'started'; readonly owner: string }
  /** The launcher says, typed, that it launched nothing. */
  | { readonly does: 'refuse_launch'; readonly owner: string; readonly code: string }
  | { readonly does: 'refuse_receipt' }
  /** The worker asks for its context. */
  | { readonly does: 'fetch'; readonly now: number; readonly contextDigest: string }
  | { readonly does: 'submit'; readonly digest: string; readonly now: number }
  | { readonly does: 'lease'; readonly owner: string }
  /** `digest`: of the stored submission, computed anew. */
  | { readonly does: 'project'; readonly owner: string; readonly digest: string; readonly next: string | null }
  | { readonly does: 'refuse_projection'; readonly owner: string }
  | { readonly does: 'expire'; readonly now: number }
  | { readonly does: 'launch_lapsed' }
  | { readonly does: 'worker_lost' }
  | { readonly does: 'deadline_passed' }
  | { readonly does: 'lease_lapsed'; readonly owner: string };
export type JobCommandName = JobCommand['does'];

export type JobStep =
  | { readonly verdict: 'moved'; readonly job: Job }
  /** It was so already; nothing changes. */
  | { readonly verdict: 'same'; readonly job: Job }
  /** Nothing changes, and the caller must not go on. */
  | { readonly verdict: 'refused'; readonly job: Job; readonly code: RefusalCode; readonly why: string };

export interface JobSettings {
  /** @default DISPATCH_TRIES */
  readonly tries?: number;
}

/** Tries of a hand-off. A launch has one. */
export const DISPATCH_TRIES = 3;

export function prepareJob(jobId: string, contextDigest: string, expiresAt: number): Job {
  const nothingYet = { reason: null, refusal: null, claim: null, submission: null, lease: null, next: null } as const;
  return { jobId, state: 'prepared', expiresAt, contextDigest, tries: 0, ...nothingYet };
}

type Does<Name extends JobCommandName> = Extract<JobCommand, { readonly does: Name }>;
type Rules = { readonly [Name in JobCommandName]: (job: Job, command: Does<Name>, settings: JobSettings) => JobStep };

const RULES: Rules = {
  hand_off: (job, { now }) => {
    if (job.state !== 'prepared') return refused(job, 'was handed off already');
    return isExpired(job, now) ? ended(job, 'authorization_expired') : same(job);
  },
  hand_off_failed: (job, _command, { tries = DISPATCH_TRIES }) => {
    if (job.state !== 'prepared') return refused(job, 'was handed off already');
    const again = { ...job, tries: job.tries + 1 };
    return again.tries >= tries ? ended(again, 'dispatch_exhausted') : moved(job, again);
  },
  claim: (job, { owner, now }) => {
    if (job.claim !== null) {
      return job.claim === owner && job.state === 'launching' ? same(job) : refused(job, 'was claimed already');
    }
    if (job.state !== 'prepared') return refused(job, 'is past its launch');
    if (isExpired(job, now)) return ended(job, 'authorization_expired');
    return moved(job, { ...job, state: 'launching', claim: owner });
  },
  started: (job, { owner }) => {
    if (job.claim !== owner) return refused(job, 'is claimed by nobody, or by somebody else');
    // Skipped when the worker has submitted already; an end stays what it is.
    return job.state === 'launching' ? moved(job, { ...job, state: 'running' }) : same(job);
  },
  refuse_launch: (job, { owner, code }) => {
    if (job.claim !== owner) return refused(job, 'is claimed by nobody, or by somebody else');
    return ended(job, 'provider_refused', code);
  },
  refuse_receipt: (job) => ended(job, 'authorization_invalid'),
  fetch: (job, { now, contextDigest }) => {
    if (!isOpen(job.state)) return refused(job, 'is past the work');
    if (isExpired(job, now)) return ended(job, 'authorization_expired');
    return contextDigest === job.contextDigest ? same(job) : ended(job, 'context_integrity_failed');
  },
  submit: (job, { digest, now }) => {
    if (job.submission !== null) {
      return job.submission === digest ? same(job) : conflict(job, 'has another submission already');
    }
    if (!isOpen(job.state)) return refused(job, 'has ended without a submission');
    // One that was claimed was in time then; what its worker brings may have been paid for.
    if (job.state === 'prepared' && isExpired(job, now)) return ended(job, 'authorization_expired');
    return moved(job, { ...job, state: 'submitted', submission: digest });
  },
  lease: (job, { owner }) => {
    if (job.state !== 'submitted') return refused(job, 'has nothing to project');
    if (job.lease === owner) return same(job);
    return job.lease === null ? moved(job, { ...job, lease: owner }) : refused(job, 'is projected by somebody else');
  },
  project: (job, { owner, digest, next }) => {
    if (job.state === 'completed')
      return job.next === next ? same(job) : conflict(job, 'names another job that follows');
    if (job.state !== 'submitted') return refused(job, 'has nothing to project');
    if (job.lease !== owner) return refused(job, 'is projected by nobody, or by somebody else');
    if (digest !== job.submission) return ended(job, 'submission_integrity_failed');
    return moved(job, { ...job, state: 'completed', lease: null, next });
  },
  refuse_projection: (job, { owner }) => {
    if (job.state === 'submitted' && job.lease !== owner) return refused(job, 'is projected by somebody else');
    return ended(job, 'job_processing_failed');
  },
  expire: (job, { now }) =>
    job.state === 'prepared' && isExpired(job, now) ? ended(job, 'authorization_expired') : same(job),
  launch_lapsed: (job) => lapsed(job, 'launching', 'launch_outcome_unknown'),
  worker_lost: (job) => lapsed(job, 'running', 'worker_exited_before_submission'),
  deadline_passed: (job) => lapsed(job, 'running', 'running_deadline_exceeded'),
  lease_lapsed: (job, { owner }) =>
    job.state === 'submitted' && job.lease === owner ? moved(job, { ...job, lease: null }) : same(job),
};

/** What a command makes of a job. Whoever stores jobs stores what `moved` gives, by compare-and-set, and nothing else. */
export function stepJob(job: Job, command: JobCommand, settings: JobSettings = {}): JobStep {
  // The table is exhaustive; that each rule gets its own command, TypeScript cannot follow through an index.
  const rule = RULES[command.does] as (job: Job, command: JobCommand, settings: JobSettings) => JobStep;
  return rule(job, command, settings);
}

/** Exclusive: at that very moment the authorization is over. */
export function isExpired({ expiresAt }: Pick<Job, 'expiresAt'>, now: number): boolean {
  return now >= expiresAt;
}

/** A timer that fires late finds the job elsewhere, and changes nothing. */
function lapsed(job: Job, state: JobState, reason: JobReason): JobStep {
  return job.state === state ? ended(job, reason) : same(job);
}

function ended(job: Job, reason: JobReason, refusal: string | null = null): JobStep {
  if (isTerminal(job.state) && job.reason === reason) return same(job);
  const { to } = ENDINGS[reason];
  if (!mayMove(job.state, to, reason)) return refused(job, 'is past what would end it');
  return { verdict: 'moved', job: { ...job, state: to, reason, refusal, lease: null } };
}

function moved(before: Job, job: Job): JobStep {
  if (before.state !== job.state && !mayMove(before.state, job.state, null)) throw new Error('a move without a rule');
  return { verdict: 'moved', job };
}

function same(job: Job): JobStep {
  return { verdict: 'same', job };
}

function refused(job: Job, why: string): JobStep {
  return { verdict: 'refused', job, code: 'job_closed', why };
}

function conflict(job: Job, why: string): JobStep {
  return { verdict: 'refused', job, code: 'record_conflict', why };
}
