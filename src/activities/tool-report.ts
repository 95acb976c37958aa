/**
 * The word of a tool's worker to whoever asked for a call. Invariant: it is said only of a call whose chain has ended, before the queue
 * hears of that end; where it cannot be said, the queue says it.
 */
import type { Context } from '@temporalio/activity';
import type { DriveRequest, DriveResult } from './contract';
import { REPORT_SIGNAL, type CallReport } from './tool-contract';

export async function reported(context: Context, request: DriveRequest, result: DriveResult): Promise<DriveResult> {
  const { report, call_id: callId, run_id: runId } = request;
  if (report === undefined || callId === undefined || result.status !== 'done') return result;
  const { workflow_id: workflowId, request: of, attempts, queued_at } = report;
  const { identity = null, took_at = null } = result.worker ?? {};
  const message: CallReport = {
    ...{ call_id: callId, run_id: runId, request: of, status: 'settled', code: null, attempts, queued_at },
    ...{ worker_identity: identity, dispatched_at: took_at, completed_at: Math.max(Date.now(), took_at ?? 0) },
    ...{ head: result.head, result },
  };
  try {
    await context.client.workflow.getHandle(workflowId).signal(REPORT_SIGNAL, message);
    return { ...result, reported: true };
  } catch {
    return result;
  }
}
