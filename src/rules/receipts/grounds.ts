/**
 * Whether what people said upholds a step. Invariant: the answer comes from stored receipts, the keys stored beside them and the
 * approval record alone, so a verifier without Temporal, without sinks and without the reviewers comes to the same.
 */
import { sha256Digest, type RecoveryCheckpoint } from '../recovery';
import { Refusal } from '../refusal';
import type { Witness } from '../sends/witness';
import type { ApprovalRecord } from './approval-record';
import type { Resolution } from './claims';
import { isApproval, isResolution, type Decision, type ResolutionReceipt } from './decision';
import type { Jwks } from './jwks';
import { judgeApprovals } from './judge';
import { decisionOf, type ReceiptRecord } from './receipt-record';

/** What the journal holds of one run. */
export interface StoredReceipts {
  receipt(digest: string): ReceiptRecord | null;
  approval(digest: string): ApprovalRecord | null;
}

export interface GroundContext {
  /** Null when only a part of a journal is at hand. */
  readonly journalId: string | null;
  /** The lineage of `head`. */
  readonly lineage: number;
  /** The checkpoint that the step follows. */
  readonly head: RecoveryCheckpoint;
}

/** Digest of a key: who decided, without a name. */
export function keyDigest(key: { readonly x: string }): string {
  return sha256Digest(key.x);
}

/** Null when the step is upheld; otherwise what is wrong, in a few words. */
export function groundFault(witness: Witness, context: GroundContext, stored: StoredReceipts): string | null {
  try {
    return fault(witness, context, stored);
  } catch (refused) {
    if (refused instanceof Refusal) return refused.message;
    throw refused;
  }
}

function fault({ ground, now }: Witness, context: GroundContext, stored: StoredReceipts): string | null {
  const decision = (digest: string): Decision => bound(digest, context, stored);
  switch (ground?.kind) {
    case undefined:
      return null;
    case 'approval': {
      const record = stored.approval(ground.digest);
      if (record === null) return 'the approval record is missing';
      if (!isFor(record, context)) return 'the approval record is for something else';
      const decisions = record.receipts.map(decision);
      const judged = judgeApprovals(ground.requirement, decisions, keysBeside(decisions), now);
      const same =
        judged.state === 'met' &&
        judged.receipts.join() === record.receipts.join() &&
        judged.expiresAt === record.expiresAt &&
        record.expiresAt === ground.expiresAt;
      return same ? null : 'the stored receipts are not the approval that was required';
    }
    case 'denial': {
      if (ground.receipt === null) {
        const denies = ground.requirement.rules.some(({ deadline }) => deadline?.then === 'deny');
        return denies ? null : 'no deadline of the requirement denies';
      }
      const rejection = decision(ground.receipt);
      const judged = judgeApprovals(ground.requirement, [rejection], keysBeside([rejection]), now);
      const denied = judged.state === 'denied' && isApproval(rejection) && keyDigest(rejection.key) === ground.key;
      return denied ? null : 'the stored receipt is no rejection by somebody who may decide';
    }
    case 'resolution':
      return resolvedAs(decision(ground.receipt), 'abort') === null ? 'the stored receipt does not end the plan' : null;
    case 'opening': {
      const asked = resolvedAs(decision(ground.receipt), 'new_lineage');
      const same = asked?.claims.headDigest === context.head.checkpointDigest && ground.lineage === context.lineage + 1;
      return same ? null : 'the stored receipt does not ask for this lineage';
    }
  }
}

/** A stored receipt whose signature checks out, and that is for this lineage of this run. */
function bound(digest: string, context: GroundContext, stored: StoredReceipts): Decision {
  const record = stored.receipt(digest);
  const decision = record === null ? null : decisionOf(record);
  if (decision?.digest !== digest) throw new Refusal('receipt_malformed', 'a receipt is missing or misnamed', digest);
  if (!isFor(decision.claims, context))
    throw new Refusal('receipt_wrong_run', 'a receipt is for something else', digest);
  return decision;
}

function isFor(
  it: { readonly journalId: string; readonly runId: string; readonly lineage: number; readonly planDigest: string },
  { journalId, lineage, head }: GroundContext,
): boolean {
  return (
    (journalId === null || it.journalId === journalId) &&
    it.runId === head.runId &&
    it.planDigest === head.planDigest &&
    it.lineage === lineage
  );
}

function resolvedAs(decision: Decision, resolution: Resolution): ResolutionReceipt | null {
  return isResolution(decision) && decision.claims.resolution === resolution ? decision : null;
}

/** The keys as they were when the receipts were stored. */
function keysBeside(decisions: readonly Decision[]): Jwks {
  const keys = new Map(decisions.map(({ key }) => [key.kid, { ...key, revoked: false }]));
  return { keys: [...keys.values()], digest: '' };
}
