/**
 * The approval of one lineage, as the chain refers to it. Invariant: its text is a pure function of the receipts that meet the
 * requirement, so every driver writes the same; its digest and expiry are those of the checkpoint `approval_recorded`.
 */
import { canonicalJson, isDigest, isRunId, sha256Digest } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { isJournalId } from '../journal-record';

export const APPROVAL_SCHEMA_VERSION = 'countersign.approval.v1';

export interface ApprovalRecord {
  readonly journalId: string;
  readonly runId: string;
  readonly lineage: number;
  readonly planDigest: string;
  /** Digests of the receipts, sorted. */
  readonly receipts: readonly string[];
  /** Unix milliseconds: when the first of them expires. */
  readonly expiresAt: number;
}

export function approvalToText(record: ApprovalRecord): string {
  return canonicalJson({
    schema_version: APPROVAL_SCHEMA_VERSION,
    journal_id: record.journalId,
    run_id: record.runId,
    lineage: record.lineage,
    plan_digest: record.planDigest,
    receipts: record.receipts,
    expires_at: record.expiresAt,
  });
}

export function approvalDigest(record: ApprovalRecord): string {
  return sha256Digest(approvalToText(record));
}

export function approvalFromBytes(bytes: Uint8Array | string): ApprovalRecord {
  return parseRecord(bytes, 'approval', (value) => {
    const at = new Fields(value, 'approval');
    at.oneOf('schema_version', [APPROVAL_SCHEMA_VERSION]);
    const record = {
      journalId: at.text('journal_id', 'a journal id', isJournalId),
      runId: at.text('run_id', 'a run id', isRunId),
      lineage: at.count('lineage'),
      planDigest: at.text('plan_digest', 'a sha256 digest', isDigest),
      receipts: at.list('receipts', 1).map((one) => (isDigest(one) ? one : at.refuse('must list digests', 'receipts'))),
      expiresAt: at.count('expires_at'),
    };
    at.end();
    const { receipts } = record;
    if (receipts.some((digest, index) => index > 0 && digest <= (receipts[index - 1] as string))) {
      at.refuse('must be sorted, each once', 'receipts');
    }
    return record;
  });
}
