/** Workflows of an author who launches, and one of somebody else. */
import { condition, defineQuery, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import {
  LAUNCH_ACTIVITY,
  SETTLE_ACTIVITY,
  type LaunchActivities,
  type LaunchRequest,
  type SettleRequest,
} from '../../../src/activities/launch-contract';
import {
  authorizedLaunch,
  type AuthorizedLaunchOptions,
  type LaunchEnd,
  type LaunchToAuthorize,
} from '../../../src/workflow';

export { authorizedJob } from '../../../src/workflow';

export const toAuthorize = defineQuery<LaunchToAuthorize | null>('to_authorize');
export const authorize = defineSignal<[token: string]>('authorize');

/** Asks for the receipt, and launches. */
export async function launchOne(options: Omit<AuthorizedLaunchOptions, 'receipt'>): Promise<LaunchEnd> {
  let asked: LaunchToAuthorize | null = null;
  let token: string | null = null;
  setHandler(toAuthorize, () => asked);
  setHandler(authorize, (given) => void (token = given));
  return authorizedLaunch({
    ...options,
    receipt: async (launch) => {
      asked = launch;
      await condition(() => token !== null);
      return token ?? '';
    },
  });
}

export const tell = defineSignal<[what: 'launch' | 'leave']>('tell');

/** Does nothing, launches, or leaves without waiting for what it has launched, as it is told. */
export async function launchWhenTold(
  options: Omit<AuthorizedLaunchOptions, 'receipt'>,
): Promise<LaunchEnd | 'left' | null> {
  const told = new Set<string>();
  setHandler(toAuthorize, () => null);
  setHandler(tell, (what) => void told.add(what));
  await condition(() => told.has('launch'));
  return Promise.race([launchOne(options), condition(() => told.has('leave')).then(() => 'left' as const)]);
}

/** Has its receipt already. */
export async function launchAtOnce(options: AuthorizedLaunchOptions): Promise<LaunchEnd> {
  return authorizedLaunch(options);
}

const activities = proxyActivities<LaunchActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { maximumAttempts: 1 },
});

/** Somebody else's: calls the activities as if it were the job's own. */
export async function strangerLaunches(request: LaunchRequest): Promise<unknown> {
  return activities[LAUNCH_ACTIVITY](request);
}

/** What Temporal delivers to a worker again, of a workflow with the same id. */
export async function delivers(request: LaunchRequest): Promise<unknown> {
  return activities[LAUNCH_ACTIVITY](request);
}

export async function strangerSettles(request: SettleRequest): Promise<unknown> {
  return activities[SETTLE_ACTIVITY](request);
}
