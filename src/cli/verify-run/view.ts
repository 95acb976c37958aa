/** Verification runs as lines for people. Invariant: digests, names and states only; nothing of what was looked at. */
import type { Obligation, RunJob, RunStatus } from '../../client';
import type { RunBook } from '../../rules/verification/run-book';
import { plannedJobs } from '../../rules/verification/chain';
import { runIdOf } from '../../rules/verification/run';
import { counted, table } from '../output';

/** One line, for following. */
export function progressOf(status: RunStatus): string {
  const { jobs, phase, results } = status;
  const done = jobs.filter(({ state }) => state === 'completed').length;
  const at = jobs.find(({ state }) => state !== 'completed' && state !== 'planned');
  const now = at === undefined ? '' : `, ${jobName(at)} ${standing(at, status)}`;
  const launched = jobs.length === 0 ? '' : `, ${done} of ${counted(jobs.length, 'launch', 'launches')} completed`;
  return `  ${counted(results.length, 'result')}${launched}, ${phase.replaceAll('_', ' ')}${now}`;
}

export function statusLines(status: RunStatus): readonly string[] {
  const { head, message, outcome, phase, proposals, results, jobs } = status;
  return [
    `run ${status.run_id}: ${outcome ?? phase.replaceAll('_', ' ')}${status.replayed ? ', before this request' : ''}`,
    head === null ? 'no record yet' : `head ${head.sequence} ${head.digest}`,
    ...table(results.map(({ criterion, check, outcome: found, digest }) => [criterion, check, found, digest])),
    ...table(jobs.map((job) => [jobName(job), standing(job, status), `${job.provider} ${job.model}`, job.job_id])),
    ...proposals.map(
      ({ proposal_id: id, addresses }) => `proposal ${id} addresses ${counted(addresses.length, 'result')}`,
    ),
    ...wantedLines(status),
    ...(message === null ? [] : [message]),
  ];
}

/** What a launch is for, and everything that its receipt would fix; nothing where none is waited for. */
export function wantedLines({ jobs, wants }: Pick<RunStatus, 'jobs' | 'wants'>): readonly string[] {
  if (wants === null) return [];
  const { job_id: jobId, claims, until } = wants;
  const job = jobs.find(({ job_id: id }) => id === jobId);
  const fixed = ['provider', 'model', 'cost_ceiling', 'content_boundary', 'context_digest', 'plan_digest', 'run_id'];
  return [
    `a person is to authorize one launch, of job ${jobId}, until ${new Date(until).toISOString()}:`,
    ...(job === undefined ? [] : [`  it is for the ${purposeOf(job)}`]),
    ...table(fixed.map((name) => [`  ${name.replaceAll('_', ' ')}`, String(claims[name])])),
    '  it is launched once, and never tried again',
  ];
}

/** A worker of an earlier version does not say the check. */
function purposeOf({ role, criterion, check }: RunJob): string {
  if (criterion === null) return role;
  return `check ${typeof check === 'string' ? `${check} ` : ''}of criterion ${criterion}`;
}

function jobName({ role, criterion }: RunJob): string {
  return criterion === null ? role : `${role} for ${criterion}`;
}

/** While a job is out, its run has no record of it yet beside that it was prepared. */
function standing(job: RunJob, { phase }: RunStatus): string {
  return phase === 'launched' && job.state === 'prepared' ? 'handed off' : `${job.state}${why(job)}`;
}

function why({ reason, refusal }: RunJob): string {
  if (reason === null) return '';
  return ` (${refusal === null ? reason : `${reason}: ${refusal}`})`;
}

/** What the journal holds of a run, for people and as data. */
export function bookView(book: RunBook): { readonly data: Record<string, unknown>; readonly lines: readonly string[] } {
  const { digest, person, run } = book.must;
  const proposals = [...book.proposals()].map(([proposalId, addresses]) => ({ proposalId, addresses }));
  const jobs = plannedJobs(run).map(({ jobId, role, parent, assignment }) => {
    const job = book.jobs.get(jobId);
    const state = job?.state ?? 'planned';
    const expiresAt = book.receipts.get(jobId)?.expiresAt ?? null;
    const common = { jobId, role, parent, criterion: assignment?.criterion ?? null, state };
    return { ...common, reason: job?.reason ?? null, refusal: job?.refusal ?? null, expiresAt };
  });
  const data = {
    runId: book.runId,
    runDigest: digest,
    kind: run.kind,
    person,
    outcome: book.outcome,
    head: book.head,
    results: book.results.map(({ digest: named, result }) => ({ digest: named, ...result })),
    jobs,
    proposals,
    relations: book.relations,
    sittings: book.sittings,
    affirmations: book.affirmations.length,
    recheck: run.input.recheck,
  };
  const lines = [
    `run ${book.runId} (${run.kind}): ${book.outcome ?? 'open'}, ${counted(book.records.length, 'record')}`,
    book.head === null ? 'no record yet' : `head ${book.head.sequence} ${book.head.digest}`,
    ...table(
      book.results.map(({ digest: named, result }) => [
        result.check.criterion,
        result.check.check,
        result.outcome,
        named,
      ]),
    ),
    ...table(jobs.map((job) => [job.role, job.criterion ?? '', `${job.state}${why(job as never)}`, job.jobId])),
    ...proposals.map(
      ({ proposalId, addresses }) => `proposal ${proposalId} addresses ${counted(addresses.length, 'result')}`,
    ),
    ...book.sittings.map(
      ({ sittingId, proposals: applied }) => `sitting ${sittingId} applied ${counted(applied.length, 'proposal')}`,
    ),
    ...(book.affirmations.length === 0 ? [] : [counted(book.affirmations.length, 'affirmation')]),
  ];
  return { data, lines };
}

export function obligationData({ source, sourceRun, ...rest }: Obligation): Record<string, unknown> {
  const { reference } = source.run.snapshot.selector;
  return { ...rest, sourceRun, runId: runIdOf(sourceRun), durable: reference !== null };
}

export function obligationRow({ intentId, pending, proposals, sourceRun, state }: Obligation): readonly string[] {
  const left = `${pending.length} of ${counted(proposals.length, 'proposal')} pending`;
  return [state.replaceAll('_', ' '), left, runIdOf(sourceRun), intentId];
}
