/**
 * What people do about a run: authorize its next launch, apply its proposals, affirm a target; and the end of a job that they let lapse.
 * Invariant: each is recorded once, and only where it counts at that moment; the same again changes nothing, another is refused.
 */
import { launchOf, plannedJobs, type PlannedJob } from '../rules/verification/chain';
import { canonicalJson } from '../rules/recovery';
import { receiptDigest } from '../rules/receipts/jws';
import { admittedLaunch } from '../rules/receipts/launch-receipt';
import { Refusal } from '../rules/refusal';
import { affirmationDigest, affirmationFromRecord } from '../rules/verification/affirmation';
import { isOpen } from '../rules/verification/job-states';
import type { LifecycleEvent } from '../rules/verification/lifecycle-record';
import { CAPTURE_SKEW_MS, admitAffirmation } from '../rules/verification/recheck-start';
import type { RunBook } from '../rules/verification/run-book';
import { sittingFromRecord, sittingToRecord } from '../rules/verification/sitting';
import { snapshotDigest } from '../rules/verification/snapshot';
import { endUncarried } from './follow-job';
import { keysFor } from './launch';
import { owedContext } from './open-run';
import type { RunCaller, RunEngine } from './run-engine';
import type { RunAct } from './verification-contract';

type Does<Name extends RunAct['does']> = Extract<RunAct, { readonly does: Name }>;
type Act<Name extends RunAct['does']> = (
  engine: RunEngine,
  caller: RunCaller,
  book: RunBook,
  act: Does<Name>,
) => Promise<LifecycleEvent | null>;

const ACTS: { readonly [Name in RunAct['does']]: Act<Name> } = {
  go_on: () => Promise.resolve(null),

  authorize: async (engine, caller, book, { job_id: jobId, token }) => {
    const planned = plannedOf(book, jobId);
    const job = book.jobs.get(jobId);
    const held = book.receipts.get(jobId)?.token ?? null;
    if (held !== null && held === token) return null;
    if (job?.state !== 'prepared' || book.next()?.does !== 'hand_off') {
      throw new Refusal('receipt_not_wanted', 'no receipt of this job is waited for; look at the status of the run');
    }
    const { key } = admittedLaunch(token, {
      now: Math.max(engine.now(), caller.scheduledAt),
      keys: await keysFor(engine, token),
      journalId: await engine.journal.id(),
      launch: launchOf(book.must.run, planned, job.contextDigest),
      authorizer: book.must.person,
      held: held === null ? null : receiptDigest(held),
      ...(engine.launchRoles === null ? {} : { roles: engine.launchRoles }),
    });
    return { type: 'job_authorized', jobId, token, key };
  },

  end: async (engine, _caller, book, { job_id: jobId, why }) => {
    const planned = plannedOf(book, jobId);
    const job = book.jobs.get(jobId);
    if (job === undefined || !isOpen(job.state)) return null;
    // A receipt that came at the last moment has its own time.
    if (why === 'expired' && book.receipts.has(jobId)) return null;
    const reason = why === 'expired' ? 'authorization_expired' : 'dispatch_exhausted';
    await endUncarried(engine, engine.journal.job(book.runId, jobId), book, planned, reason);
    return null;
  },

  apply: (engine, caller, book, { sitting: record }) => {
    const sitting = sittingFromRecord(record);
    const known = book.sittings.find(({ sittingId }) => sittingId === sitting.sittingId);
    if (known !== undefined) {
      if (canonicalJson(sittingToRecord(known)) === canonicalJson(sittingToRecord(sitting)))
        return Promise.resolve(null);
      throw new Refusal('record_conflict', 'is known with other proposals, or of another moment', 'sitting.sitting_id');
    }
    const made = book.proposals();
    if (!sitting.proposals.every((id) => made.has(id))) {
      throw new Refusal('invalid_arguments', 'must be proposals of this run', 'sitting.proposals');
    }
    const now = Math.max(engine.now(), caller.scheduledAt);
    if (sitting.committedAt < book.must.capturedAt || sitting.committedAt > now + CAPTURE_SKEW_MS) {
      throw new Refusal('invalid_arguments', 'must lie between the capture of the run and now', 'sitting.committed_at');
    }
    return Promise.resolve({ type: 'proposals_applied', sitting });
  },

  affirm: async (engine, caller, book, { affirmation: record }) => {
    const affirmation = affirmationFromRecord(record);
    const { digest } = book.must;
    if (affirmation.sourceRun !== digest) {
      throw new Refusal('recheck_refused', 'is not the run that led to the proposals', 'source_run');
    }
    const context = await owedContext(engine, caller, digest);
    const name = admitAffirmation(affirmation, context);
    if (context.affirmations.has(name)) return null;
    const { snapshot } = affirmation;
    const capture = {
      captureId: snapshot.captureId,
      snapshot: snapshotDigest(snapshot),
      bound: affirmationDigest(affirmation),
    };
    if ((await engine.journal.captures.settle(capture)) === 'conflict') {
      throw new Refusal('recheck_refused', 'was used for something else; capture anew', 'snapshot.capture_id');
    }
    return { type: 'target_affirmed', affirmation };
  },
};

/** Null: nothing is to be recorded for it. Throws a `Refusal` for what does not count. */
export function eventOfAct(
  engine: RunEngine,
  caller: RunCaller,
  book: RunBook,
  act: RunAct,
): Promise<LifecycleEvent | null> {
  if ((act.does === 'apply' || act.does === 'affirm') && book.outcome === null) {
    throw new Refusal('run_open', 'has not ended yet; wait for its end', book.runId);
  }
  // The table is exhaustive; that each act gets its own, TypeScript cannot follow through an index.
  return (ACTS[act.does] as Act<RunAct['does']>)(engine, caller, book, act);
}

function plannedOf(book: RunBook, jobId: string): PlannedJob {
  const planned = plannedJobs(book.must.run).find((one) => one.jobId === jobId);
  if (planned === undefined) throw new Refusal('invalid_arguments', 'is no job of this run', 'job_id');
  return planned;
}
