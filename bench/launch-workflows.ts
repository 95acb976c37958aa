/** What the launches are compared with: one activity that makes the same request, by itself and in a child workflow. */
import { executeChild, proxyActivities } from '@temporalio/workflow';
import { authorizedLaunch, type LaunchEnd } from '../src/workflow';

export { authorizedJob } from '../src/workflow';

export interface RequestActivities {
  request(job: string): Promise<unknown>;
}

/** Everything that a launch is asked with; signed before it starts, as people sign. */
export interface SignedLaunch {
  readonly id: string;
  readonly context: unknown;
  readonly receipt: string;
}

export const ORIGIN = 'bench';
export const TERMS = { provider: 'bench', model: 'bench', costCeiling: 1 } as const;
export const RUNNING_DEADLINE_MS = 60_000;

const { request } = proxyActivities<RequestActivities>({
  startToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});

export async function plain(job: string): Promise<unknown> {
  return request(job);
}

export async function plainInChild(job: string): Promise<unknown> {
  return executeChild(plain, { args: [job], workflowId: `${job}/child` });
}

export async function launched(signed: SignedLaunch): Promise<LaunchEnd> {
  return authorizedLaunch({ origin: ORIGIN, ...TERMS, ...signed, runningDeadlineMs: RUNNING_DEADLINE_MS });
}
