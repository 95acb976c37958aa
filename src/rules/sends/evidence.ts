/**
 * Commit evidence. Invariant: it covers immutable identity only, so a later edit, refund or deletion of what was written
 * leaves the evidence, and with it the chain, as it is.
 */
import { canonicalJson, sha256Digest } from '../recovery';

export const COMMIT_EVIDENCE_SCHEMA_VERSION = 'countersign.commit_evidence.v1';

export interface CommitIdentity {
  readonly toolId: string;
  readonly idempotencyKey: string;
  readonly operationDigest: string;
  readonly externalId: string | null;
}

export function commitEvidenceDigest(identity: CommitIdentity): string {
  return sha256Digest(
    canonicalJson({
      schema: COMMIT_EVIDENCE_SCHEMA_VERSION,
      tool_id: identity.toolId,
      idempotency_key: identity.idempotencyKey,
      operation_digest: identity.operationDigest,
      external_id: identity.externalId,
    }),
  );
}
