/** Launches on the real server: a paid provider, a launcher that calls it, people who authorize, and the jobs' own workflows. */
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ServiceError, WorkflowNotFoundError, isGrpcDeadlineError, type WorkflowHandle } from '@temporalio/client';
import type { LauncherDefinition } from '../../../src';
import { modelLauncher } from '../../../src/adapters/launchers';
import { jobWorkflowId } from '../../../src/rules/launches/job-order';
import { launchClaimsFromRecord, type LaunchClaims } from '../../../src/rules/receipts/launch-claims';
import { signReceipt } from '../../../src/rules/receipts/jws';
import type { AuthorizedLaunchOptions, JobStatus, LaunchEnd, LaunchToAuthorize } from '../../../src/workflow';
import type { HistoryJson } from '../../../src/testing/history-json';
import { APPROVER, signer } from '../../rules/receipts/support';
import type { Rig } from '../../support/rig';
import { TestReviewers } from '../../support/reviewers';

export const WORKFLOWS = path.join(__dirname, 'workflows.ts');
export const PROVIDER = 'example.org/model';
export const MODEL = 'model-1';
export const UNTIL_MS = 45_000;

export const reviewers = new TestReviewers();

/** Calls the provider once with a plain client; the key of each request is the job. */
export function paidLauncher(url: string, deadlineMs = 20_000): LauncherDefinition {
  const launcher = modelLauncher({
    deadlineMs,
    client: ({ fetch, maxRetries }) => ({ fetch, maxRetries }),
    call: async ({ fetch }, { job, signal }) => {
      const answer = await fetch(url, { method: 'POST', headers: { 'x-job': job.jobId }, body: '{}', signal });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      return answer.json();
    },
  });
  return { provider: PROVIDER, model: MODEL, launcher };
}

export type Wanted = Partial<Omit<AuthorizedLaunchOptions, 'receipt'>>;

export const asked = (more: Wanted = {}): Omit<AuthorizedLaunchOptions, 'receipt'> => ({
  ...{ id: 'one', origin: 'launches', provider: PROVIDER, model: MODEL },
  ...{ context: { prompt: 'planted-context' }, costCeiling: 5, runningDeadlineMs: 4_000, launchLeaseMs: 4_000 },
  ...more,
});

export interface Signing extends Partial<LaunchClaims> {
  readonly who?: string;
  readonly livesS?: number;
}

/** Signs what is asked, unless the test would have something else signed. */
export function signed({ claims }: LaunchToAuthorize, { who = 'ann', livesS = 3_600, ...more }: Signing = {}): string {
  const iat = more.iat ?? Math.floor(Date.now() / 1000);
  const jti = `nonce_${randomBytes(16).toString('hex')}`;
  const asked = launchClaimsFromRecord({ ...claims, role: APPROVER, jti, iat, exp: iat + livesS });
  return signReceipt({ ...asked, ...more }, signer(who));
}

export interface StartedLaunch {
  readonly author: WorkflowHandle;
  readonly launch: LaunchToAuthorize;
  readonly job: WorkflowHandle;
  readonly result: () => Promise<LaunchEnd>;
}

/** Starts an author's workflow and waits until it asks for a receipt. */
export async function startLaunch(rig: Rig, more: Wanted = {}, taskQueue = rig.taskQueue): Promise<StartedLaunch> {
  const author = await rig.client.workflow.start('launchOne', {
    workflowId: `author-${taskQueue}-${randomBytes(4).toString('hex')}`,
    taskQueue,
    args: [asked(more)],
  });
  return startedBy(rig, author);
}

/** Waits until the workflow asks for a receipt. */
export async function startedBy(rig: Rig, author: WorkflowHandle): Promise<StartedLaunch> {
  const launch = await eventually(async () => {
    try {
      return await author.query<LaunchToAuthorize | null>('to_authorize');
    } catch (fault) {
      // Its worker may still be starting.
      if (fault instanceof ServiceError && isGrpcDeadlineError(fault.cause)) return null;
      throw fault;
    }
  });
  const job = rig.client.workflow.getHandle(jobWorkflowId(launch.jobId));
  return { author, launch, job, result: () => author.result() as Promise<LaunchEnd> };
}

/** Also signs, and has the job's own execution, where there is one, replayed at the end of the test. */
export async function authorizedStart(
  rig: Rig,
  more: Wanted = {},
  signing: Signing = {},
  taskQueue = rig.taskQueue,
): Promise<StartedLaunch> {
  const started = await startLaunch(rig, more, taskQueue);
  await started.author.signal('authorize', signed(started.launch, signing));
  trackJob(rig, started);
  return started;
}

export function trackJob(rig: Rig, { job }: StartedLaunch): void {
  rig.beforeEnd(async () => {
    const runId = await runOf(job);
    if (runId !== null) rig.track({ client: rig.client, workflowId: job.workflowId, runId });
  });
}

/** Of the job's own workflow, or another by its id; null while there is none. */
export async function runOf(job: WorkflowHandle): Promise<string | null> {
  try {
    return (await job.describe()).runId;
  } catch (fault) {
    if (fault instanceof WorkflowNotFoundError) return null;
    throw fault;
  }
}

export function jobStatus({ job }: StartedLaunch): Promise<JobStatus> {
  return job.query<JobStatus>('job_status');
}

export async function eventually<T>(look: () => Promise<T | null>): Promise<T> {
  const limit = performance.now() + UNTIL_MS;
  for (;;) {
    const seen = await look();
    if (seen !== null) return seen;
    if (performance.now() > limit) throw new Error('it did not come about');
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** What a history's first activity of this type was asked. */
export function requestOf(events: HistoryJson['events'], activity: string): unknown {
  for (const event of events) {
    const scheduled = event['activityTaskScheduledEventAttributes'] as Scheduled | undefined;
    if (scheduled?.activityType?.name !== activity) continue;
    return JSON.parse(Buffer.from(scheduled.input?.payloads?.[0]?.data ?? '', 'base64').toString('utf8'));
  }
  throw new Error(`${activity} was not called`);
}

interface Scheduled {
  readonly activityType?: { readonly name?: string };
  readonly input?: { readonly payloads?: readonly { readonly data?: string }[] };
}

/** Every file of the test's stores, by path. */
export async function everything(folder: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const texts = await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')] as const));
  return Object.fromEntries(texts);
}

export const waits = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
