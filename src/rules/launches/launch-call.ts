/**
 * An author's launch as a run of its own: one job, no checks. Invariant: origin, workflow id and the author's id name the call,
 * so asking again is the same job; everything that its receipt fixes is part of the run, so nothing of it can change unseen.
 */
import { canonicalJson, sha256Digest, sha256Hex } from '../recovery';
import { workflowIdDigest } from '../plans/identity';
import { checkPlanDigest, type CheckPlan } from '../verification/check-plan';
import { jobIdOf } from '../verification/job-identity';
import type { ContentBoundary } from '../verification/names';
import { runDigest, runFromRecord, runIdOf, runToRecord, type VerificationRun } from '../verification/run';
import { snapshotDigest } from '../verification/snapshot';
import { Refusal } from '../refusal';
import type { JobOrder } from './job-order';

export interface LaunchCall {
  /** The application, or the type of the workflow. */
  readonly origin: string;
  /** The id of the author's Temporal workflow. */
  readonly workflowId: string;
  readonly id: string;
}

export interface LaunchTerms {
  readonly provider: string;
  readonly model: string;
  readonly contentBoundary: ContentBoundary;
  readonly costCeiling: number;
  readonly contextDigest: string;
}

const NAME = /^[^\s\p{Cc}\p{Cs}](?:[^\p{Cc}\p{Cs}]{0,198}[^\s\p{Cc}\p{Cs}])?$/u;
const EMPTY_PLAN: CheckPlan = { checks: [] };

/** `cap_` and 32 hex digits: what names the call whatever is asked in it. */
export function captureIdOf(call: LaunchCall): string {
  return `cap_${sha256Hex(identityOf(call)).slice(0, 32)}`;
}

export function launchRunOf(call: LaunchCall, terms: LaunchTerms): VerificationRun {
  const { contextDigest, ...executor } = terms;
  const run: VerificationRun = {
    kind: 'launch',
    snapshot: {
      captureId: captureIdOf(call),
      contentDigest: contextDigest,
      targetDigest: contextDigest,
      selector: { source: sha256Digest(identityOf(call)), kind: 'whole', reference: null },
      contextBoundary: terms.contentBoundary,
    },
    plan: EMPTY_PLAN,
    executors: { checks: [], coordinator: { mode: 'launched', binding: 'launch', ...executor } },
    input: { goalDigest: contextDigest, protectedIntentDigest: null, recheck: null },
  };
  // What an author gives is checked as every record is.
  return runFromRecord(runToRecord(run));
}

export function orderOfCall(call: LaunchCall, terms: LaunchTerms): JobOrder {
  const run = launchRunOf(call, terms);
  const runId = runIdOf(runDigest(run));
  const role = 'coordinator';
  return {
    runId,
    jobId: jobIdOf({ runId, role, parent: null }),
    role,
    parent: null,
    snapshotDigest: snapshotDigest(run.snapshot),
    planDigest: checkPlanDigest(run.plan),
    ...terms,
    origin: workflowIdDigest(call.workflowId),
  };
}

function identityOf({ origin, workflowId, id }: LaunchCall): string {
  named('origin', origin);
  named('id', id);
  return canonicalJson({ domain: 'countersign.launch_call.v1', origin, workflow_id: workflowId, id });
}

function named(field: string, value: unknown): void {
  if (typeof value === 'string' && NAME.test(value)) return;
  throw new Refusal('invalid_arguments', 'must be 1 to 200 characters without control characters', field);
}
