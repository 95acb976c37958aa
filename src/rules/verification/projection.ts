/**
 * What a submission leads to, event by event. Invariant: the events follow from the records and the stored output alone, in one order:
 * results, relations, the successor, the completed parent; so whoever projects again after a crash goes on where it was left.
 */
import type { PlannedJob } from './chain';
import type { Job } from './job';
import { stepJob } from './job';
import type { LifecycleEvent } from './lifecycle-record';
import { resultDigest, type CheckResult, type ResultRelation } from './results';
import type { RunBook } from './run-book';
import { sortedSet } from './names';
import type { CoordinatorOutput, SpecialistOutput } from './submission';

export type Projected =
  | { readonly role: 'specialist'; readonly output: SpecialistOutput }
  | { readonly role: 'coordinator'; readonly output: CoordinatorOutput };

/** The job that follows, with the digest of what its worker will be shown. */
export interface Successor {
  readonly planned: PlannedJob;
  readonly contextDigest: string;
}

export function preparedEvent({ planned, contextDigest }: Successor): LifecycleEvent {
  const { jobId, role, parent, stage, assignment } = planned;
  return { type: 'job_prepared', jobId, role, parent, stage, assignment, contextDigest };
}

/** The result that a specialist's submission is; null of the coordinator. */
export function resultOf(book: RunBook, { jobId, assignment }: PlannedJob, projected: Projected): CheckResult | null {
  if (projected.role === 'coordinator' || assignment === null) return null;
  const { sequence: _sequence, total: _total, ...check } = assignment;
  const submission = book.jobs.get(jobId)?.submission ?? null;
  return { runId: book.runId, check, outcome: projected.output.outcome, jobId, submission };
}

/** Results that the proposals address are those of the run, by their places in the plan. */
export function addressed(
  book: RunBook,
  projected: Projected,
  resultAt: (place: number) => string | null,
): ResultRelation[] {
  if (projected.role === 'specialist') return [];
  return projected.output.proposals.flatMap(({ proposalId, addresses }) =>
    addresses.flatMap((place) => {
      const from = resultAt(place);
      return from === null ? [] : [{ kind: 'addresses' as const, from, to: proposalId }];
    }),
  );
}

/** What is not recorded yet of the results and relations of a submission, or null when all is. */
export function nextConsequence(book: RunBook, planned: PlannedJob, projected: Projected): LifecycleEvent | null {
  const result = resultOf(book, planned, projected);
  const known = new Set(book.results.map(({ digest }) => digest));
  if (result !== null && !known.has(resultDigest(result))) return { type: 'result_committed', result };
  const relation = addressed(book, projected, (place) => digestAt(book, place)).find((one) => !book.holds(one));
  return relation === undefined ? null : { type: 'results_related', relation };
}

/** Under a lease of `owner`; `digest` is of the stored submission, computed anew. */
export function completedEvent(
  job: Job,
  owner: string,
  digest: string,
  book: RunBook,
  next: string | null,
): LifecycleEvent {
  const { jobId } = job;
  const leased = stepJob(job, { does: 'lease', owner }).job;
  const { job: after } = stepJob(leased, { does: 'project', owner, digest, next });
  if (after.state !== 'completed') return failedEvent(jobId, 'submission_integrity_failed');
  const own = book.results.filter(({ result }) => result.jobId === jobId).map((one) => one.digest);
  return { type: 'job_completed', jobId, results: sortedSet(own), next };
}

export function failedEvent(
  jobId: string,
  reason: 'job_processing_failed' | 'submission_integrity_failed',
): LifecycleEvent {
  return { type: 'job_moved', jobId, from: 'submitted', to: 'failed', reason, refusal: null };
}

function digestAt(book: RunBook, place: number): string | null {
  const check = book.must.run.plan.checks[place];
  const found = book.results.find(
    ({ result }) =>
      check !== undefined && result.check.criterion === check.criterion && result.check.check === check.check,
  );
  return found?.digest ?? null;
}

/**
 * What a recheck still has to say of its results: each rechecks the results of the same check that the proposals address, and those
 * proposals. Null when it has said all.
 */
export function nextRecheckRelation(book: RunBook, source: RunBook): LifecycleEvent | null {
  const proposals = book.must.run.input.recheck?.proposals ?? [];
  const made = source.proposals();
  for (const { digest: from, result } of book.results) {
    for (const proposal of proposals) {
      for (const before of made.get(proposal) ?? []) {
        const old = source.results.find(({ digest }) => digest === before)?.result;
        if (old?.check.criterion !== result.check.criterion || old.check.check !== result.check.check) continue;
        for (const to of [before, proposal]) {
          const relation: ResultRelation = { kind: 'rechecks', from, to };
          if (!book.holds(relation)) return { type: 'results_related', relation };
        }
      }
    }
  }
  return null;
}
