/**
 * What people said about a run, in the journal. Invariant: a receipt is stored only after its nonce was claimed for it, with the
 * key that verified it; an approval record, resolution or lineage stands beside the receipts that it rests on.
 *
 *   claims/<sha256 of kid and nonce>.json          once for the whole journal
 *   <run>/receipts/<receipt>.json, approval-<approval record>.json
 *   <run>/resolutions/<receipt>.json
 *   <run>/lineages/0002
 */
import type { CreateOutcome } from '../ports';
import {
  approvalDigest,
  approvalFromBytes,
  approvalToText,
  type ApprovalRecord,
} from '../rules/receipts/approval-record';
import type { Decision } from '../rules/receipts/decision';
import { lineageFromBytes, lineageName, lineageToText, type LineageRecord } from '../rules/receipts/lineage-record';
import { claimToText } from '../rules/receipts/nonce-claim';
import {
  decisionOf,
  receiptFromBytes,
  receiptName,
  receiptToText,
  type ReceiptRecord,
} from '../rules/receipts/receipt-record';
import { resolutionFromBytes, resolutionToText, type ResolutionRecord } from '../rules/receipts/resolution-record';
import { Refusal } from '../rules/refusal';
import type { Entries } from './entries';

const APPROVAL = 'approval-';

export class ReceiptFiles {
  constructor(
    private readonly entries: Entries,
    private readonly runId: string,
  ) {}

  /** Claims the nonce of a receipt; it may have been claimed for it before. Throws `receipt_replayed`. */
  async claim({ claims, nonceName, actionDigest }: Decision): Promise<void> {
    const claim = { nonce: claims.jti, runId: claims.runId, lineage: claims.lineage, actionDigest };
    const claimed = await this.entries.settle(`claims/${nonceName}.json`, claimToText(claim));
    if (claimed !== 'conflict') return;
    throw new Refusal('receipt_replayed', 'uses a nonce that was used for another decision; sign again', 'jti');
  }

  /** Once it is claimed, and accepted where it is a resolution. */
  async keep({ token, key, digest }: Decision, receivedAt: number): Promise<void> {
    // Stored before by another driver, it differs only in when, or in the roles that its key had then.
    await this.entries.create(
      `${this.runId}/receipts/${receiptName(digest)}`,
      receiptToText({ token, key, receivedAt }),
    );
  }

  /** What every stored receipt says. One that does not check out is a fault of the journal. */
  async decisions(): Promise<readonly Decision[]> {
    const names = (await this.entries.list(`${this.runId}/receipts`)).filter((name) => !name.startsWith(APPROVAL));
    const read = (bytes: Uint8Array): Decision => decisionOf(receiptFromBytes(bytes));
    return Promise.all(names.map((name) => this.entries.mustRead(`${this.runId}/receipts/${name}`, read)));
  }

  receipt(digest: string): Promise<ReceiptRecord | null> {
    return this.entries.read(`${this.runId}/receipts/${receiptName(digest)}`, receiptFromBytes);
  }

  approval(digest: string): Promise<ApprovalRecord | null> {
    return this.entries.read(`${this.runId}/receipts/${APPROVAL}${receiptName(digest)}`, approvalFromBytes);
  }

  /** Answers its digest. */
  async keepApproval(record: ApprovalRecord): Promise<string> {
    const digest = approvalDigest(record);
    await this.entries.settle(`${this.runId}/receipts/${APPROVAL}${receiptName(digest)}`, approvalToText(record));
    return digest;
  }

  /** What was accepted first counts. */
  async accept(record: ResolutionRecord): Promise<void> {
    await this.entries.settle(`${this.runId}/resolutions/${receiptName(record.receipt)}`, resolutionToText(record));
  }

  async resolutions(): Promise<readonly ResolutionRecord[]> {
    const folder = `${this.runId}/resolutions`;
    const names = await this.entries.list(folder);
    return Promise.all(names.map((name) => this.entries.mustRead(`${folder}/${name}`, resolutionFromBytes)));
  }

  openLineage(record: LineageRecord): Promise<CreateOutcome> {
    return this.entries.settle(`${this.runId}/lineages/${lineageName(record.lineage)}`, lineageToText(record));
  }

  lineage(lineage: number): Promise<LineageRecord | null> {
    return this.entries.read(`${this.runId}/lineages/${lineageName(lineage)}`, lineageFromBytes);
  }
}
