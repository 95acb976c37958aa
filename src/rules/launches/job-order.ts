/**
 * What is asked of a launch, as the journal and histories keep it: everything that its receipt fixes, and whose job it is.
 * Invariant: digests and names only; the id of the job follows from its run, role and parent, so no order can name another's.
 */
import { canonicalJson, deriveIdempotencyKey, isDigest, isRunId, sha256Digest } from '../recovery';
import { Fields, parseRecord, type Dict } from '../fields';
import type { Launch } from '../receipts/launch-claims';
import { jobIdOf, launchActionId } from '../verification/job-identity';
import { CONTENT_BOUNDARIES, JOB_ROLES, digestAt, isJobId, nameAt, type JobRole } from '../verification/names';

export const JOB_ORDER_SCHEMA_VERSION = 'countersign.job_order.v1';
/** The tool under which every launch has its key. */
const LAUNCH_TOOL = 'tool:countersign.local/launch@1.0.0';

export interface JobOrder extends Launch {
  readonly role: JobRole;
  readonly parent: string | null;
  /** Digest of the id of the Temporal workflow that may ask what became of it, beside the job's own; null: no other. */
  readonly origin: string | null;
}

/** The id of the Temporal workflow that carries the job. */
export function jobWorkflowId(jobId: string): string {
  return `countersign/job/${jobId}`;
}

/** The id of the one that gives the job its own, where nobody else does. */
export function standbyWorkflowId(jobId: string): string {
  return `countersign/standby/${jobId}`;
}

export function orderToRecord(order: JobOrder): Dict {
  return {
    schema_version: JOB_ORDER_SCHEMA_VERSION,
    run_id: order.runId,
    job_id: order.jobId,
    role: order.role,
    parent_job: order.parent,
    snapshot_digest: order.snapshotDigest,
    plan_digest: order.planDigest,
    provider: order.provider,
    model: order.model,
    context_digest: order.contextDigest,
    content_boundary: order.contentBoundary,
    cost_ceiling: order.costCeiling,
    origin: order.origin,
  };
}

export function orderFromRecord(value: unknown): JobOrder {
  const at = new Fields(value, 'job_order');
  at.oneOf('schema_version', [JOB_ORDER_SCHEMA_VERSION]);
  const order = {
    runId: at.text('run_id', 'a run id', isRunId),
    jobId: at.text('job_id', '32 lowercase hex digits', isJobId),
    role: at.oneOf('role', JOB_ROLES),
    parent: at.nullable('parent_job', (field) => at.text(field, '32 lowercase hex digits', isJobId)),
    snapshotDigest: digestAt(at, 'snapshot_digest'),
    planDigest: digestAt(at, 'plan_digest'),
    provider: nameAt(at, 'provider'),
    model: nameAt(at, 'model'),
    contextDigest: digestAt(at, 'context_digest'),
    contentBoundary: at.oneOf('content_boundary', CONTENT_BOUNDARIES),
    costCeiling: at.count('cost_ceiling'),
    origin: at.nullable('origin', (field) => at.text(field, 'a sha256 digest', isDigest)),
  };
  at.end();
  if (order.jobId !== jobIdOf(order)) at.refuse('is not that of its run, role and parent', 'job_id');
  return order;
}

export function orderToText(order: JobOrder): string {
  return canonicalJson(orderToRecord(order));
}

export function orderFromBytes(bytes: Uint8Array | string): JobOrder {
  return parseRecord(bytes, 'job_order', orderFromRecord);
}

export function orderDigest(order: JobOrder): string {
  return sha256Digest(orderToText(order));
}

/** For a provider that takes an idempotency key: the same for every try that anyone could ever make of this launch. */
export function launchKey({
  runId,
  jobId,
  contextDigest,
}: Pick<JobOrder, 'runId' | 'jobId' | 'contextDigest'>): string {
  const actionId = launchActionId(jobId);
  const operationDigest = contextDigest;
  return deriveIdempotencyKey({ runId, actionId, toolId: LAUNCH_TOOL, kind: 'local_tool', operationDigest });
}
