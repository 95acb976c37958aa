/**
 * Whether whoever would end a job holds its authorization. Invariant: the id of a workflow proves nothing, as anybody who may start
 * workflows can take it; only a receipt that a person signed for this job does, in time or not, or the one on which it was begun.
 */
import type { JobOrder } from '../rules/launches/job-order';
import { decodeReceipt, launchClaimsOf } from '../rules/receipts/jws';
import { admittedLaunch } from '../rules/receipts/launch-receipt';
import { Refusal } from '../rules/refusal';
import { keysFor } from './launch';
import type { LaunchEngine } from './launch-engine';

/** Null: it may. Else why not, in a sentence. */
export async function refusedToSettle(
  engine: LaunchEngine,
  journalId: string,
  order: JobOrder,
  token: string,
): Promise<string | null> {
  try {
    await refuseUnsigned(engine, journalId, order, token);
    return null;
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    // It passes; a job that waits for it is not lost.
    if (fault.code === 'reviewers_unavailable') throw new Error(fault.message);
    return fault.message;
  }
}

async function refuseUnsigned(engine: LaunchEngine, journalId: string, order: JobOrder, token: string): Promise<void> {
  const { runId, jobId } = order;
  if ((await engine.journal.job(runId, jobId).receipt())?.token === token) return;
  const run = engine.journal.run(runId);
  if ((await run.opening(journalId)).opened !== null) {
    const { receipts } = await run.book(journalId);
    if (receipts.get(jobId)?.token === token) return;
    throw new Refusal('receipt_not_wanted', 'is not the receipt that the run holds for this job', 'receipt');
  }
  const { iat } = launchClaimsOf(decodeReceipt(token));
  const now = iat * 1000; // One that has expired ends the job that it was for.
  const keys = await keysFor(engine, token);
  admittedLaunch(token, { now, keys, journalId, launch: order, authorizer: null, held: null });
}
