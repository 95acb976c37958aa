/** The workflows of verification runs, and those of somebody else who calls their activity. */
import { proxyActivities } from '@temporalio/workflow';
import {
  ADVANCE_ACTIVITY,
  type AdvanceRequest,
  type VerificationActivities,
} from '../../../src/activities/verification-contract';

export { authorizedJob, verificationRun } from '../../../src/workflow';
export { launchOne } from '../launches/workflows';

const activities = proxyActivities<VerificationActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { maximumAttempts: 1 },
});

/** Calls the activity as if it were the run's own. */
export async function strangerAdvances(request: AdvanceRequest): Promise<unknown> {
  return activities[ADVANCE_ACTIVITY](request);
}
