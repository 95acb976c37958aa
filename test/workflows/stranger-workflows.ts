/** A workflow of somebody else, on the same task queue, that calls `drive` as if it were the plan's own. */
import { proxyActivities } from '@temporalio/workflow';
import {
  DRIVE_ACTIVITY,
  type CountersignActivities,
  type DriveRequest,
  type DriveResult,
} from '../../src/activities/contract';

export { governedPlan } from '../../src/workflow';

const activities = proxyActivities<CountersignActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { maximumAttempts: 1 },
});

export async function stranger(request: DriveRequest): Promise<DriveResult> {
  return activities[DRIVE_ACTIVITY](request);
}
