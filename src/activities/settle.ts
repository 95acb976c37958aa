/**
 * What a job's workflow asks of the journal beside the launch: look, close the slot, end the job. Invariant: it may run any number
 * of times; it launches nothing, and can only take a launch away that nobody has begun. Whoever holds no receipt of the job writes nothing;
 * a job that was begun never ends as one that was not.
 */
import { jobWorkflowId, orderFromRecord, standbyWorkflowId, type JobOrder } from '../rules/launches/job-order';
import type { EndReason } from '../rules/launches/job-outcome';
import { workflowIdDigest } from '../rules/plans/identity';
import { Refusal } from '../rules/refusal';
import type { SettleRequest, SettleResult } from './launch-contract';
import { slotOf } from './launch';
import type { LaunchCaller, LaunchEngine } from './launch-engine';
import { refusedToSettle } from './may-settle';
import { readJob } from './read-job';

export async function settle(
  engine: LaunchEngine,
  caller: LaunchCaller,
  { order: record, journal_id: expected, receipt = '', does }: SettleRequest,
): Promise<SettleResult> {
  const order = orderFromRecord(record);
  refuseStranger(order, caller, does.does === 'look');
  const journalId = await engine.journal.id();
  if (expected !== null && expected !== journalId) {
    throw new Refusal('wrong_journal', 'this worker writes another journal than the one this history belongs to');
  }
  const { jobId } = order;
  const files = engine.journal.job(order.runId, jobId);
  const refused = does.does === 'look' ? null : await refusedToSettle(engine, journalId, order, receipt);
  if (refused !== null) return { journal_id: journalId, ...(await readJob(engine, files)), refused };
  const needs = does.does === 'end' ? RESTS_ON[does.reason] : null;
  if (does.does === 'close' || needs === 'closed') {
    await files.close(slotOf(order, engine.newOwner(), engine.now(), 0));
  }
  if (does.does === 'end' && (await files.facts()).slot === needs) {
    await files.settle({ outcome: 'ended', jobId, reason: does.reason, refusal: does.refusal });
  }
  return { journal_id: journalId, ...(await readJob(engine, files)) };
}

/** What has to stand in the place of a launch for a job to end so; whoever launched it says the rest himself. */
const RESTS_ON: Record<EndReason, 'closed' | 'begun'> = {
  authorization_expired: 'closed',
  authorization_invalid: 'closed',
  context_integrity_failed: 'closed',
  dispatch_exhausted: 'closed',
  provider_refused: 'begun',
  launch_outcome_unknown: 'begun',
  worker_exited_before_submission: 'begun',
  running_deadline_exceeded: 'begun',
};

function refuseStranger({ jobId, origin }: JobOrder, { workflowId }: LaunchCaller, looks: boolean): void {
  if (workflowId === jobWorkflowId(jobId)) return;
  if (looks && workflowId === standbyWorkflowId(jobId)) return;
  if (looks && workflowId !== null && origin === workflowIdDigest(workflowId)) return;
  throw new Refusal('not_the_plans_workflow', `only the workflow ${jobWorkflowId(jobId)} may settle this job`);
}
