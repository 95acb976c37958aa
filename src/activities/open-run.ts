/**
 * Whether a run may be opened. Invariant: whatever is wrong with it (limits, missing contents, nobody who could serve or authorize it, a
 * recheck that nobody owes) is refused before anything is recorded; one that was opened is never judged again.
 */
import { isDigest } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import { affirmationDigest } from '../rules/verification/affirmation';
import { inProcessChecks, plannedJobs } from '../rules/verification/chain';
import { checkAt } from '../rules/verification/check-plan';
import type { LifecycleEvent } from '../rules/verification/lifecycle-record';
import { deriveObligations } from '../rules/verification/obligations';
import { judgeRecheck, type RecheckContext } from '../rules/verification/recheck-start';
import { runDigest, runFromRecord, runIdOf, type VerificationRun } from '../rules/verification/run';
import type { RunBook } from '../rules/verification/run-book';
import { receiptsOf, runReceiptOf } from '../rules/verification/run-receipts';
import { snapshotDigest } from '../rules/verification/snapshot';
import { readRuns } from './read-runs';
import { RunContents } from './run-contents';
import type { RunCaller, RunEngine } from './run-engine';
import type { AdvanceRequest } from './verification-contract';

export async function openRun(
  engine: RunEngine,
  caller: RunCaller,
  { run_id: runId, opening }: AdvanceRequest,
): Promise<LifecycleEvent> {
  if (opening === null) throw new Refusal('unknown_run', 'the journal holds no such run; start it first', 'run_id');
  const { person, captured_at: capturedAt } = opening;
  if (!isDigest(person)) throw new Refusal('invalid_arguments', 'must be the digest of a person', 'person');
  if (!Number.isSafeInteger(capturedAt) || capturedAt < 0) {
    throw new Refusal('invalid_arguments', 'must be unix milliseconds', 'captured_at');
  }
  const run = runFromRecord(opening.run, 'run', engine.mostLaunchedChecks);
  if (runIdOf(runDigest(run)) !== runId) throw new Refusal('invalid_arguments', 'is not the id of this run', 'run_id');
  refuseUnserved(engine, run);
  await new RunContents(engine.contents).refuseMissing(run);
  if (run.kind === 'recheck') await refuseUnowed(engine, caller, { run, person, capturedAt });
  const captureId = run.snapshot.captureId;
  const bound = run.kind === 'recheck' ? runDigest(run) : null;
  const capture = { captureId, snapshot: snapshotDigest(run.snapshot), bound };
  if ((await engine.journal.captures.settle(capture)) === 'conflict') {
    const code = run.kind === 'recheck' ? 'recheck_refused' : 'record_conflict';
    throw new Refusal(code, 'was used for something else; capture anew', 'snapshot.capture_id');
  }
  return { type: 'run_opened', run, person, capturedAt };
}

function refuseUnserved({ checks, reviewers }: RunEngine, run: VerificationRun): void {
  if (run.kind === 'launch') {
    throw new Refusal('invalid_arguments', 'is that of a launch by itself; use authorizedLaunch', 'run.kind');
  }
  for (const place of inProcessChecks(run)) {
    const { binding } = checkAt(run.plan, place);
    if (checks.find(binding) !== null) continue;
    throw new Refusal('no_adapter', `this worker has no check ${binding}; define it in the plugin`, 'run.plan');
  }
  if (plannedJobs(run).length > 0 && reviewers === null) {
    throw new Refusal('reviewers_unavailable', 'this worker knows nobody who could authorize a launch', 'reviewers');
  }
}

/** Of the runs that bear on what `source` owes. */
export async function owedContext(engine: RunEngine, caller: RunCaller, source: string): Promise<RecheckContext> {
  const bears = ({ must: { run, digest } }: RunBook): boolean =>
    digest === source || run.input.recheck?.sourceRun === source;
  const books = await readRuns(engine.journal, bears);
  const all = [...books.values()];
  return {
    now: Math.max(engine.now(), caller.scheduledAt),
    obligations: deriveObligations(receiptsOf(books)).filter(({ sourceRun }) => sourceRun === source),
    runs: new Map(all.map((book) => [book.must.digest, runReceiptOf(book)])),
    affirmations: new Map(all.flatMap((book) => book.affirmations.map((one) => [affirmationDigest(one), one]))),
  };
}

async function refuseUnowed(
  engine: RunEngine,
  caller: RunCaller,
  request: Parameters<typeof judgeRecheck>[0],
): Promise<void> {
  const context = await owedContext(engine, caller, request.run.input.recheck?.sourceRun ?? '');
  const verdict = judgeRecheck(request, context);
  if (verdict.verdict === 'refused') throw verdict.refusal;
}
