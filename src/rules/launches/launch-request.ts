/** What a person is asked to sign for a launch. Invariant: everything that a launch receipt fixes, but for role, nonce and times. */
import type { Dict } from '../fields';
import type { Launch } from '../receipts/launch-claims';

export function claimsToAuthorize(journalId: string, launch: Launch): Dict {
  return {
    journal_id: journalId,
    run_id: launch.runId,
    job_id: launch.jobId,
    snapshot_digest: launch.snapshotDigest,
    plan_digest: launch.planDigest,
    provider: launch.provider,
    model: launch.model,
    context_digest: launch.contextDigest,
    content_boundary: launch.contentBoundary,
    cost_ceiling: launch.costCeiling,
    retry_limit: 0,
    authorizer: 'human',
  };
}
