/** Where a run stands, as people are told. Invariant: it follows from the records; names, digests and words of closed tables only. */
import { claimsToAuthorize } from '../rules/launches/launch-request';
import { launchOf, plannedJobs, type PlannedJob } from '../rules/verification/chain';
import type { RunBook } from '../rules/verification/run-book';
import type { RunLoop } from './run-loop';
import type { RunJob, RunStatus, WantedReceipt } from './run-messages';

export function statusOf(loop: RunLoop): RunStatus {
  const { book, journalId, phase, message, replayed } = loop;
  const opened = book?.opened ?? null;
  return {
    run_id: loop.input.run_id,
    journal_id: journalId,
    phase,
    outcome: book?.outcome ?? null,
    person: opened?.person ?? null,
    head: book?.head ?? null,
    results: (book?.results ?? []).map(({ digest, result: { check, outcome, jobId: job_id } }) => {
      return { criterion: check.criterion, check: check.check, outcome, digest, job_id };
    }),
    jobs: book === null || opened === null ? [] : plannedJobs(opened.run).map((planned) => jobOf(book, planned)),
    wants: wantedOf(loop),
    proposals: [...(book?.proposals() ?? [])].map(([proposal_id, addresses]) => ({ proposal_id, addresses })),
    message,
    replayed,
  };
}

function jobOf(book: RunBook, { jobId, role, parent, assignment, executor: { provider, model } }: PlannedJob): RunJob {
  const job = book.jobs.get(jobId);
  return {
    ...{ job_id: jobId, role, parent, criterion: assignment?.criterion ?? null, check: assignment?.check ?? null },
    ...{ provider, model },
    state: job?.state ?? 'planned',
    reason: job?.reason ?? null,
    refusal: job?.refusal ?? null,
    output: book.outputs.get(jobId) ?? null,
  };
}

/** One that has been handed over is wanted no more, whatever this workflow has still to do about it. */
function wantedOf({ book, journalId, wanted, phase }: RunLoop): WantedReceipt | null {
  if (wanted === null || phase !== 'waiting_for_receipt' || book === null || journalId === null) return null;
  if (book.receipts.has(wanted.planned.jobId)) return null;
  const launch = launchOf(book.must.run, wanted.planned, wanted.contextDigest);
  return { job_id: wanted.planned.jobId, claims: claimsToAuthorize(journalId, launch), until: wanted.until };
}

const MOST_ROWS = 40;

/** For the Temporal Web UI. */
export function detailsOf(status: RunStatus): string {
  const { phase, outcome, wants, results, jobs } = status;
  const checked = results.slice(0, MOST_ROWS).map((one) => `| ${one.criterion} | ${one.check} | ${one.outcome} |`);
  const carried = jobs.map((job) => {
    return `| ${job.criterion ?? job.role} | ${job.provider} ${job.model} | ${job.state} | ${job.reason ?? ''} |`;
  });
  const until = wants === null ? '' : new Date(wants.until).toISOString();
  return [
    `**${phase}**${outcome === null ? '' : ` (${outcome})`}, run \`${status.run_id}\``,
    ...(wants === null ? [] : ['', `a receipt is wanted for job \`${wants.job_id}\` before ${until}`]),
    ...(status.message === null ? [] : ['', status.message]),
    ...(checked.length === 0 ? [] : ['', '| criterion | check | outcome |', '|-|-|-|', ...checked]),
    ...(carried.length === 0 ? [] : ['', '| job | provider | state | why |', '|-|-|-|-|', ...carried]),
  ].join('\n');
}
