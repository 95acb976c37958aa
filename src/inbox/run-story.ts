/**
 * A verification run as one line of what happened, from its records. Invariant: the order is that of the records; a time stands only where
 * something in the journal says it.
 */
import { decodeReceipt, launchClaimsOf } from '../rules/receipts/jws';
import type { PlannedJob } from '../rules/verification/chain';
import type { LifecycleBodies, LifecycleEvent, LifecycleType } from '../rules/verification/lifecycle-record';
import type { LookedJob, RunLook } from './run-look';

export interface StoryLine {
  readonly sequence: number;
  readonly type: LifecycleType;
  /** Unix milliseconds. */
  readonly at: number | null;
  /** The job that it is about. */
  readonly job: string | null;
  /** States, words and digests. */
  readonly said: string;
  /** Why a job ended without a result. */
  readonly event: LifecycleEvent;
}

type Event<T extends LifecycleType> = { readonly type: T } & LifecycleBodies[T];
type Told = Pick<StoryLine, 'said'> & { readonly at?: number | null; readonly jobId?: string | null };
type Tellers = { readonly [T in LifecycleType]: (event: Event<T>, jobs: readonly LookedJob[]) => Told };

const TELLERS: Tellers = {
  run_opened: ({ run: { kind, plan }, capturedAt }) => ({
    at: capturedAt,
    said: `${kind}, ${plan.checks.length} checks, captured`,
  }),
  result_committed: ({ result: { check, outcome, jobId } }) => ({
    jobId,
    said: `${check.criterion}, ${check.check}: ${outcome}`,
  }),
  results_related: ({ relation: { kind, from, to } }) => ({ said: `${shortOf(from)} ${kind} ${shortOf(to)}` }),
  job_prepared: ({ jobId, contextDigest }) => ({ jobId, said: `context ${shortOf(contextDigest)}` }),
  job_authorized: ({ jobId, token, key }) => {
    const { iat, exp } = launchClaimsOf(decodeReceipt(token));
    return { jobId, at: iat * 1_000, said: `key ${key.kid}, until ${new Date(exp * 1_000).toISOString()}` };
  },
  job_moved: ({ jobId, from, to }, jobs) => {
    const slot = to === 'launching' ? slotOf(jobs, jobId) : null;
    const lease = slot === null ? '' : `, leased for ${slot.deadlineMs} ms`;
    return { jobId, at: slot?.openedAt ?? null, said: `${from} → ${to}${lease}` };
  },
  job_submitted: ({ submission: { jobId, outputDigest } }) => ({ jobId, said: `output ${shortOf(outputDigest)}` }),
  job_completed: ({ jobId, results, next }) => ({
    jobId,
    said: `${results.length} results${next === null ? '' : '; the next job follows'}`,
  }),
  run_closed: ({ outcome }) => ({ said: outcome }),
  proposals_applied: ({ sitting: { sittingId, committedAt, proposals } }) => ({
    at: committedAt,
    said: `${proposals.length} proposals, ${sittingId}`,
  }),
  target_affirmed: ({ affirmation: { capturedAt, intentId } }) => ({
    at: capturedAt,
    said: `for ${shortOf(intentId)}`,
  }),
};

export function storyOf({ book, jobs }: RunLook): readonly StoryLine[] {
  return book.records.map(({ sequence, event }) => {
    const {
      at = null,
      jobId = null,
      said,
    } = (TELLERS[event.type] as Tellers['run_closed'])(event as Event<'run_closed'>, jobs);
    return { sequence, type: event.type, at, job: nameOfJob(jobs, jobId), said, event };
  });
}

export function jobName({ role, assignment }: PlannedJob): string {
  return assignment === null ? role : `${role} for ${assignment.criterion}`;
}

function nameOfJob(jobs: readonly LookedJob[], jobId: string | null): string | null {
  const found = jobs.find(({ planned }) => planned.jobId === jobId);
  return found === undefined ? null : jobName(found.planned);
}

function slotOf(jobs: readonly LookedJob[], jobId: string): LookedJob['slot'] {
  return jobs.find(({ planned }) => planned.jobId === jobId)?.slot ?? null;
}

/** Enough of a digest, or of a proposal's id, to find it again. */
export const shortOf = (digest: string): string => digest.replace('sha256:', '').slice(0, 17);
