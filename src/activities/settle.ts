/**
 * What a job's workflow asks of the journal beside the launch: look, close the slot, end the job. Invariant: it may run any number
 * of times; it launches nothing, and can only take a launch away that nobody has begun.
 */
import { jobWorkflowId, orderFromRecord, standbyWorkflowId, type JobOrder } from '../rules/launches/job-order';
import { workflowIdDigest } from '../rules/plans/identity';
import { Refusal } from '../rules/refusal';
import type { SettleRequest, SettleResult } from './launch-contract';
import { slotOf } from './launch';
import type { LaunchCaller, LaunchEngine } from './launch-engine';
import { readJob } from './read-job';

export async function settle(
  engine: LaunchEngine,
  caller: LaunchCaller,
  { order: record, journal_id: expected, does }: SettleRequest,
): Promise<SettleResult> {
  const order = orderFromRecord(record);
  refuseStranger(order, caller, does.does === 'look');
  const journalId = await engine.journal.id();
  if (expected !== null && expected !== journalId) {
    throw new Refusal('wrong_journal', 'this worker writes another journal than the one this history belongs to');
  }
  const { jobId } = order;
  const files = engine.journal.job(order.runId, jobId);
  if (does.does === 'close') await files.close(slotOf(order, engine.newOwner(), engine.now(), 0));
  if (does.does === 'end') {
    await files.settle({ outcome: 'ended', jobId, reason: does.reason, refusal: does.refusal });
  }
  return { journal_id: journalId, ...(await readJob(engine, files)) };
}

function refuseStranger({ jobId, origin }: JobOrder, { workflowId }: LaunchCaller, looks: boolean): void {
  if (workflowId === jobWorkflowId(jobId) || workflowId === standbyWorkflowId(jobId)) return;
  if (looks && workflowId !== null && origin === workflowIdDigest(workflowId)) return;
  throw new Refusal('not_the_plans_workflow', `only the workflow ${jobWorkflowId(jobId)} may settle this job`);
}
