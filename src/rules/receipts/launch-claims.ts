/**
 * What the receipt of a launch says. Invariant: it permits exactly one launch of one job, everything about it fixed; its retry
 * limit is 0 and its authorizer a person, as any other value is no receipt at all.
 */
import { isRunId } from '../recovery';
import { Fields, type Dict } from '../fields';
import { isJournalId } from '../journal-record';
import { CONTENT_BOUNDARIES, digestAt, isJobId, nameAt, type ContentBoundary } from '../verification/names';
import { isRole } from './names';
import { timesFrom, timesToRecord, type ReceiptTimes } from './receipt-times';

/** Everything that is fixed about one launch. */
export interface Launch {
  readonly runId: string;
  readonly jobId: string;
  readonly snapshotDigest: string;
  readonly planDigest: string;
  readonly provider: string;
  readonly model: string;
  readonly contextDigest: string;
  readonly contentBoundary: ContentBoundary;
  readonly costCeiling: number;
}

export interface LaunchClaims extends Launch, ReceiptTimes {
  readonly kind: 'launch';
  readonly journalId: string;
  readonly retryLimit: 0;
  readonly authorizer: 'human';
  /** The role in which the person authorizes. */
  readonly role: string;
}

export function launchClaimsFromRecord(value: unknown): LaunchClaims {
  const at = new Fields(value, 'claims', 'receipt_malformed');
  if (at.count('retry_limit') !== 0) at.refuse('must be 0: a launch is never tried again', 'retry_limit');
  const claims = {
    kind: 'launch' as const,
    journalId: at.text('journal_id', 'a journal id', isJournalId),
    runId: at.text('run_id', 'a run id', isRunId),
    jobId: at.text('job_id', '32 lowercase hex digits', isJobId),
    snapshotDigest: digestAt(at, 'snapshot_digest'),
    planDigest: digestAt(at, 'plan_digest'),
    provider: nameAt(at, 'provider'),
    model: nameAt(at, 'model'),
    contextDigest: digestAt(at, 'context_digest'),
    contentBoundary: at.oneOf('content_boundary', CONTENT_BOUNDARIES),
    costCeiling: at.count('cost_ceiling'),
    retryLimit: 0 as const,
    authorizer: at.oneOf('authorizer', ['human'] as const),
    role: at.text('role', 'a role such as role:example.org/approver', isRole),
    ...timesFrom(at),
  };
  at.end();
  return claims;
}

export function launchClaimsToRecord(claims: LaunchClaims): Dict {
  return { ...launchDecided(claims), ...timesToRecord(claims) };
}

/** Without nonce and times. */
export function launchDecided(claims: LaunchClaims): Dict {
  return {
    journal_id: claims.journalId,
    run_id: claims.runId,
    job_id: claims.jobId,
    snapshot_digest: claims.snapshotDigest,
    plan_digest: claims.planDigest,
    provider: claims.provider,
    model: claims.model,
    context_digest: claims.contextDigest,
    content_boundary: claims.contentBoundary,
    cost_ceiling: claims.costCeiling,
    retry_limit: claims.retryLimit,
    authorizer: claims.authorizer,
    role: claims.role,
  };
}
