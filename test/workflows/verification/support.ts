/**
 * Verification runs on the real server: a document, checks that run in the worker, workers that are asked by a provider that counts, and
 * people who authorize.
 */
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import type { CheckDefinition, LauncherDefinition } from '../../../src';
import { modelLauncher } from '../../../src/adapters/launchers';
import { VerificationClient, type RunStatus, type VerificationHandle, type WantedReceipt } from '../../../src/client';
import { jobWorkflowId } from '../../../src/rules/launches/job-order';
import { signReceipt } from '../../../src/rules/receipts/jws';
import { launchClaimsFromRecord, type LaunchClaims } from '../../../src/rules/receipts/launch-claims';
import type { LifecycleRecord } from '../../../src/rules/verification/lifecycle-record';
import { LifecycleReader, LifecycleWriter } from '../../../src/rules/verification/lifecycle-stream';
import { APPROVER, signer } from '../../rules/receipts/support';
import { MODEL, PROVIDER } from './drafts';
import type { Rig } from '../../support/rig';
import { TestReviewers } from '../../support/reviewers';

export const WORKFLOWS = path.join(__dirname, 'workflows.ts');
export { ANN, COORDINATOR, draft, local, MODEL, PROVIDER, specialist } from './drafts';

export const reviewers = new TestReviewers();

export interface Shown {
  readonly role: 'specialist' | 'coordinator';
  readonly criterion?: string;
  readonly results?: readonly { readonly place: number; readonly outcome: string }[];
}

export const proposalId = (number: number): string => `prop_${number.toString(16).padStart(32, '0')}`;

/** A specialist finds that the text departs; a coordinator proposes one correction for each check that found so. */
export function answerTo({ role, results = [] }: Shown): unknown {
  if (role === 'specialist') return { outcome: 'departs', content: { note: 'planted-prose' } };
  const places = results.filter(({ outcome }) => outcome === 'departs').map(({ place }) => place);
  const proposals = places.map((place) => ({ proposal_id: proposalId(place), addresses: [place] }));
  return { proposals, content: 'planted-prose' };
}

/** Asks the provider once a launch; the key of each request is the job. */
export function paidLauncher(url: string, answer: (shown: Shown) => unknown = answerTo): LauncherDefinition {
  const launcher = modelLauncher({
    deadlineMs: 20_000,
    client: ({ fetch, maxRetries }) => ({ fetch, maxRetries }),
    call: async ({ fetch }, { job, context, signal }) => {
      const got = await fetch(url, { method: 'POST', headers: { 'x-job': job.jobId }, body: '{}', signal });
      if (!got.ok) throw new Error(`status ${got.status}`);
      await got.json();
      return answer(context as Shown);
    },
  });
  return { provider: PROVIDER, model: MODEL, launcher };
}

/** `words`: departs where the target holds more words than it may. */
export const checks: readonly CheckDefinition[] = [
  {
    binding: 'words',
    check: {
      run: ({ configuration, target }) => {
        const { most } = configuration as { most: number };
        const count = String(target).split(/\s+/).length;
        return Promise.resolve({
          outcome: count > most ? 'departs' : 'conforms',
          content: { count, note: 'planted-prose' },
        });
      },
    },
  },
];

export function clientOf(rig: Rig, taskQueue = rig.taskQueue): VerificationClient {
  return new VerificationClient({ client: rig.client, store: rig.journal, contents: rig.contents, taskQueue });
}

export interface Signing extends Partial<LaunchClaims> {
  readonly who?: string;
  readonly livesS?: number;
}

export function signed({ claims }: WantedReceipt, { who = 'ann', livesS = 3_600, ...more }: Signing = {}): string {
  const iat = more.iat ?? Math.floor(Date.now() / 1000);
  const jti = `nonce_${randomBytes(16).toString('hex')}`;
  const asked = launchClaimsFromRecord({ ...claims, role: APPROVER, jti, iat, exp: iat + livesS });
  return signReceipt({ ...asked, ...more }, signer(who));
}

/** Authorizes whatever the run asks for, until it is closed. */
export async function authorizeAll(rig: Rig, handle: VerificationHandle): Promise<RunStatus> {
  await track(rig, handle.workflowId);
  for (let wanted = await handle.wanted(); wanted !== null; wanted = await handle.wanted()) {
    await handle.authorize(signed(wanted));
    await track(rig, jobWorkflowId(wanted.job_id));
  }
  return handle.result();
}

/** Has the latest execution replayed at the end of the test. */
export async function track(rig: Rig, workflowId: string): Promise<void> {
  const limit = performance.now() + 45_000;
  for (;;) {
    const seen = await rig.client.workflow
      .getHandle(workflowId)
      .describe()
      .catch(() => null);
    if (seen !== null) return rig.track({ client: rig.client, workflowId, runId: seen.runId });
    if (performance.now() > limit) throw new Error(`${workflowId} was not started`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** The records of a run, once an importer has taken them all. */
export async function historyOf(rig: Rig, runId: string): Promise<readonly LifecycleRecord[]> {
  const book = await clientOf(rig).book(runId);
  const writer = new LifecycleWriter(rig.journalId);
  const lines = [writer.header(), ...(book?.records ?? []).map((record) => writer.record(record)), writer.closing()];
  const reader = new LifecycleReader({ keys: await reviewers.load() });
  for (const line of lines) reader.take(line);
  reader.finish();
  return book?.records ?? [];
}
