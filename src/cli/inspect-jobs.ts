/**
 * The launches of one run as its journal tells them. Invariant: a state is read from the entries that are there; what no entry says,
 * such as what a provider did, is not said here.
 */
import { Journal } from '../activities/journal';
import type { JobFacts } from '../activities/launch-contract';
import type { Store } from '../ports';
import { launchClaimsOf, decodeReceipt } from '../rules/receipts/jws';
import type { ReceiptRecord } from '../rules/receipts/receipt-record';
import { ENDINGS, type JobReason, type JobState } from '../rules/verification/job-states';
import { isJobId, type JobRole } from '../rules/verification/names';

export interface InspectedJob {
  readonly jobId: string;
  /** Null while nobody has claimed it. */
  readonly role: JobRole | null;
  readonly parent: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly costCeiling: number | null;
  readonly state: JobState;
  readonly reason: JobReason | null;
  readonly refusal: string | null;
  /** Whether the provider was ever asked. */
  readonly launched: 'no' | 'yes' | 'unknown';
  /** Digest of what was submitted. */
  readonly submission: string | null;
  /** Digest of the person who authorized it. */
  readonly authorizer: string | null;
  /** The exclusive end of the authorization. */
  readonly expiresAt: string | null;
}

/** In the order of their ids. */
export async function readJobs(store: Store, runId: string): Promise<readonly InspectedJob[]> {
  const journal = new Journal(store);
  const names = (await store.list(`${runId}/jobs`)).map((name) => name.replace(/\/$/, '')).filter(isJobId);
  return Promise.all(names.map((jobId) => readJob(journal, runId, jobId)));
}

async function readJob(journal: Journal, runId: string, jobId: string): Promise<InspectedJob> {
  const files = journal.job(runId, jobId);
  const [facts, order, receipt] = await Promise.all([files.facts(), files.order(), files.receipt()]);
  const { outcome } = facts;
  const ended = outcome?.outcome === 'ended' ? outcome : null;
  return {
    jobId,
    role: order?.role ?? null,
    parent: order?.parent ?? null,
    provider: order?.provider ?? null,
    model: order?.model ?? null,
    costCeiling: order?.costCeiling ?? null,
    state: stateOf(facts),
    reason: ended?.reason ?? null,
    refusal: ended?.refusal ?? null,
    launched: launchedBy(facts),
    submission: outcome?.outcome === 'submitted' ? outcome.submission : null,
    authorizer: receipt?.key.person ?? null,
    expiresAt: receipt === null ? null : expiryOf(receipt),
  };
}

function stateOf({ slot, end, outcome }: JobFacts): JobState {
  if (outcome?.outcome === 'submitted') return 'submitted';
  if (outcome !== null) return ENDINGS[outcome.reason].to;
  if (slot !== 'begun') return 'prepared';
  return end === 'acked' ? 'running' : 'launching';
}

function launchedBy({ slot, end, outcome }: JobFacts): InspectedJob['launched'] {
  if (outcome?.outcome === 'submitted' || end === 'acked') return 'yes';
  return slot === 'begun' && end === null ? 'unknown' : 'no';
}

function expiryOf({ token }: ReceiptRecord): string {
  return new Date(launchClaimsOf(decodeReceipt(token)).exp * 1_000).toISOString();
}

/** As a row of a table. */
export function jobRow(job: InspectedJob): readonly string[] {
  const why = job.reason === null ? '' : ` (${job.refusal === null ? job.reason : `${job.reason}: ${job.refusal}`})`;
  const who = job.provider === null ? 'nobody' : `${job.provider} ${job.model ?? ''}`;
  const until = job.expiresAt === null ? '' : `authorized until ${job.expiresAt}`;
  return [`${job.state}${why}`, `launched: ${job.launched}`, who, until, job.jobId];
}
