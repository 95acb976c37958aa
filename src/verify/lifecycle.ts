/**
 * The history of one verification run, and whether what stands beside it upholds it. Invariant: a record is taken only where the run could
 * have come to it; a launch, a submission and an end need the files of their job, unless the whole history came from elsewhere.
 *
 * Sound, because the files of a job are written before the record that speaks of them, and are read after it.
 */
import { LIFECYCLE_FOLDER, lifecycleName } from '../activities/run-files';
import { outcomeFromBytes, type JobOutcome } from '../rules/launches/job-outcome';
import { decodeReceipt, launchClaimsOf } from '../rules/receipts/jws';
import { receiptFromBytes } from '../rules/receipts/receipt-record';
import { slotFromBytes } from '../rules/sends/slot';
import { affirmationDigest } from '../rules/verification/affirmation';
import type { Job } from '../rules/verification/job';
import { lifecycleFromBytes, lifecycleToText, type LifecycleRecord } from '../rules/verification/lifecycle-record';
import { recheckIntentId } from '../rules/verification/sitting';
import { RunBook } from '../rules/verification/run-book';
import type { RecheckLineage } from '../rules/verification/run-input';
import type { Findings } from './findings';
import { joined, readRecord, throwOutage, type JournalView } from './view';

const FORMAT = { read: lifecycleFromBytes, text: lifecycleToText };

/** What other runs may rest on, and what this one rests on in others. */
export interface LifecycleSummary {
  readonly folder: string;
  readonly runId: string;
  readonly digest: string;
  readonly records: number;
  readonly results: ReadonlySet<string>;
  readonly proposals: ReadonlySet<string>;
  readonly intents: ReadonlySet<string>;
  readonly affirmations: ReadonlySet<string>;
  readonly recheck: RecheckLineage | null;
  /** What its results recheck. */
  readonly rechecked: readonly string[];
  /** Captures that it used. */
  readonly captures: readonly string[];
}

/** Null where the run has no records. `journalId` is null where only a run is at hand: then that of its receipts counts. */
export async function readLifecycle(
  view: JournalView,
  findings: Findings,
  folder: string,
  journalId: string | null,
  expectedRunId: string | null,
): Promise<LifecycleSummary | null> {
  const records = await readRecords(view, findings, joined(folder, LIFECYCLE_FOLDER));
  const first = records[0];
  if (first === undefined) return null;
  const book = new RunBook(expectedRunId ?? first.runId, journalId ?? journalOf(records));
  for (const record of records) {
    const path = joined(folder, `${LIFECYCLE_FOLDER}/${lifecycleName(record.sequence)}`);
    try {
      book.accept(record);
    } catch (fault) {
      findings.add('lifecycle_invalid', path, (fault as { field?: string }).field ?? null);
      break;
    }
  }
  if (book.opened === null) return null;
  await checkJobs(view, findings, folder, book);
  return summaryOf(folder, book);
}

/** As far as they are there without a gap. */
async function readRecords(view: JournalView, findings: Findings, folder: string): Promise<LifecycleRecord[]> {
  const entries = [...((await view.list(folder)) ?? [])].sort((one, other) => (one.name < other.name ? -1 : 1));
  const records: LifecycleRecord[] = [];
  for (const entry of entries) {
    const expected = lifecycleName(records.length + 1);
    if (entry.name !== expected) {
      const known = /^[0-9]{20}\.json$/.test(entry.name);
      findings.add(known ? 'lifecycle_invalid' : 'entry_unexpected', joined(folder, known ? expected : entry.name));
      if (known) return records;
      continue;
    }
    const record = await readRecord({ view, findings }, 'lifecycle_invalid', folder, entry, FORMAT);
    if (record === null) return records;
    records.push(record);
  }
  return records;
}

function journalOf(records: readonly LifecycleRecord[]): string {
  for (const { event } of records) {
    if (event.type === 'job_authorized') return launchClaimsOf(decodeReceipt(event.token)).journalId;
  }
  return '';
}

async function checkJobs(view: JournalView, findings: Findings, folder: string, book: RunBook): Promise<void> {
  for (const job of book.jobs.values()) {
    const path = joined(folder, `jobs/${job.jobId}`);
    const files = await readJobFiles(view, path);
    if (files.slot === null && files.outcome === null) {
      const left = job.claim !== null || job.submission !== null || job.reason !== null;
      if (left) findings.add('lifecycle_unwitnessed', path);
      continue;
    }
    const fault = jobFault(job, book, files);
    if (fault !== null) findings.add('lifecycle_invalid', path, fault);
  }
}

interface JobFilesRead {
  readonly slot: 'begun' | 'closed' | null;
  readonly token: string | null;
  readonly outcome: JobOutcome | null;
}

/** Null where the files say what the records say. */
function jobFault(job: Job, book: RunBook, { slot, token, outcome }: JobFilesRead): string | null {
  if (slot === 'begun' && token !== null && book.receipts.get(job.jobId)?.token !== token) return 'another receipt';
  if (job.claim !== null && slot !== 'begun') return 'launched without a slot';
  if (job.submission !== null) {
    const output = outcome?.outcome === 'submitted' ? outcome.submission : null;
    return output === book.outputs.get(job.jobId) ? null : 'another submission';
  }
  if (job.reason === null) return null;
  return outcome?.outcome === 'ended' && outcome.reason === job.reason ? null : 'another end';
}

async function readJobFiles(view: JournalView, folder: string): Promise<JobFilesRead> {
  const [slot, receipt, outcome] = await Promise.all([
    parsed(view, joined(folder, '0001'), slotFromBytes),
    parsed(view, joined(folder, 'receipt.json'), receiptFromBytes),
    parsed(view, joined(folder, 'outcome.json'), outcomeFromBytes),
  ]);
  return { slot: slot?.state ?? null, token: receipt?.token ?? null, outcome };
}

/** What does not read is a finding of `readJobs`. */
async function parsed<T>(view: JournalView, path: string, read: (bytes: Uint8Array) => T): Promise<T | null> {
  try {
    const bytes = await view.read(path);
    return bytes === null ? null : read(bytes);
  } catch (fault) {
    throwOutage(fault);
    return null;
  }
}

function summaryOf(folder: string, book: RunBook): LifecycleSummary {
  const { run, digest } = book.must;
  const made = new Set(book.proposals().keys());
  const intents = book.sittings.map(({ sittingId, proposals }) =>
    recheckIntentId({ sittingId, sourceRun: digest, proposals: proposals.filter((id) => made.has(id)) }),
  );
  return {
    ...{ folder, runId: book.runId, digest, records: book.records.length },
    results: new Set(book.results.map((one) => one.digest)),
    proposals: made,
    intents: new Set(intents),
    affirmations: new Set(book.affirmations.map(affirmationDigest)),
    recheck: run.input.recheck,
    rechecked: book.relations.flatMap(({ kind, to }) => (kind === 'rechecks' ? [to] : [])),
    captures: [run.snapshot.captureId, ...book.affirmations.map(({ snapshot }) => snapshot.captureId)],
  };
}
