/**
 * One call of the launch activity, by the job's own workflow or by an author's. Invariant: it is never tried again by Temporal, and only
 * an execution that nobody took is said not to have been dispatched; any other that did not come back is unknown.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  TimeoutFailure,
} from '@temporalio/workflow';
import { TimeoutType } from '@temporalio/common';
import {
  LAUNCH_ACTIVITY,
  type LaunchActivities,
  type LaunchRequest,
  type LaunchResult,
} from '../activities/launch-contract';

/** The worker keeps the lease itself; what it knows by then is heard. */
const ANSWER_SLACK_MS = 5_000;

export interface LaunchPlace {
  readonly provider: string;
  /** Unix milliseconds: when the authorization is over. */
  readonly expiresAt: number;
  readonly taskQueue: string | undefined;
}

export async function launchOnce(
  request: LaunchRequest,
  { provider, expiresAt, taskQueue }: LaunchPlace,
): Promise<LaunchResult | 'not_dispatched' | 'unknown'> {
  const left = Math.max(1, expiresAt - Date.now());
  const activities = proxyActivities<LaunchActivities>({
    scheduleToStartTimeout: Math.min(left, request.lease_ms),
    startToCloseTimeout: request.lease_ms + ANSWER_SLACK_MS,
    heartbeatTimeout: '10 seconds',
    retry: { maximumAttempts: 1 },
    summary: `launch: ${provider}`,
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
  try {
    return await activities[LAUNCH_ACTIVITY](request);
  } catch (fault) {
    if (!(fault instanceof ActivityFailure) && !isCancellation(fault)) throw fault;
    const { cause } = fault as ActivityFailure;
    // Said before anything was begun, and of nothing but an author's call.
    if (cause instanceof ApplicationFailure && cause.type === 'plan_conflict') throw cause;
    const waited = cause instanceof TimeoutFailure && cause.timeoutType === TimeoutType.SCHEDULE_TO_START;
    return waited ? 'not_dispatched' : 'unknown';
  }
}
