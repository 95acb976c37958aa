/**
 * The first execution of a call on Temporal's own task queue. Invariant: it is asked for once; only an execution that never started is
 * said not to have been taken, and any other that did not come back is lost, whatever it says of itself.
 */
import { ActivityFailure, ApplicationFailure, TimeoutFailure, proxyActivities } from '@temporalio/workflow';
import { TimeoutType } from '@temporalio/common';
import { DRIVE_ACTIVITY, type CountersignActivities, type DriveResult } from '../activities/contract';
import type { PreparedCall } from '../activities/session-contract';
import { toolTaskQueue } from '../rules/invocations/names';
import type { ChainKeeper } from './chain-keeper';

/** Of a drive beside the tool's own time: looking up, appending, and hearing of it. */
export const DRIVE_SLACK_MS = 30_000;
const LEASE_MS = 30_000;

export async function driveOnce(chain: ChainKeeper, call: PreparedCall): Promise<DriveResult | 'not_taken' | 'lost'> {
  const activities = proxyActivities<CountersignActivities>({
    taskQueue: toolTaskQueue(call),
    scheduleToStartTimeout: call.queue_wait_ms,
    startToCloseTimeout: call.execution_ms + DRIVE_SLACK_MS,
    heartbeatTimeout: LEASE_MS,
    retry: { maximumAttempts: 1 },
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: `call: ${call.tool}`,
  });
  const { plan, record, journalId, lineage, expectedHead } = chain;
  try {
    return await activities[DRIVE_ACTIVITY]({
      ...{ run_id: plan.runId, call_id: call.call_id, plan: record, journal_id: journalId },
      ...{ lineage, expected_head: expectedHead, intent: 'drive', epoch: null, reclaim: false, waited: [] },
      ...(chain.allow === null ? {} : { allow: chain.allow }),
    });
  } catch (fault) {
    if (!(fault instanceof ActivityFailure)) throw fault;
    return wasTaken(fault.cause) ? 'lost' : 'not_taken';
  }
}

/** A worker that may not do the call says so before anything of it has begun. */
function wasTaken(cause: unknown): boolean {
  if (cause instanceof TimeoutFailure) return cause.timeoutType !== TimeoutType.SCHEDULE_TO_START;
  return !(cause instanceof ApplicationFailure && cause.type === 'worker_not_allowed');
}
