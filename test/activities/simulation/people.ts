/**
 * People in a simulated world: they approve, reject and resolve, and their keys come and go. What they said is remembered here as it
 * is stored, so that a send can be held against it without asking the engine.
 */
import { checkpointFileName, RecoveryCheckpoint } from '../../../src/rules/recovery';
import { approvalFromBytes } from '../../../src/rules/receipts/approval-record';
import type { Jwks } from '../../../src/rules/receipts/jwks';
import type { Question } from '../../../src/rules/receipts/question';
import { decisionOf, receiptFromBytes, receiptName } from '../../../src/rules/receipts/receipt-record';
import { Refusal } from '../../../src/rules/refusal';
import { slotFromBytes } from '../../../src/rules/sends/slot';
import { signReceipt } from '../../../src/rules/receipts/jws';
import type { Claims } from '../../../src/rules/receipts/claims';
import { APPROVER, entry, jwks, signer, type Entry } from '../../rules/receipts/support';
import type { Process, Scheduler } from './scheduler';
import type { MemoryStore } from './store';

export const REVIEWERS = ['ann', 'bob', 'cleo'] as const;
export type Reviewer = (typeof REVIEWERS)[number];
export const RULE = { approvals: 2 } as const;

export class People {
  /** Since when a key does not count. */
  private readonly revokedAt = new Map<string, number>();
  private readonly begunAt = new Map<Process, number>();
  private rejectedAt: number | null = null;
  private nonces = 0;

  constructor(
    private readonly scheduler: Scheduler,
    /** Unix milliseconds at time 0. */
    private readonly start: number,
  ) {}

  get rejected(): boolean {
    return this.rejectedAt !== null;
  }

  begin(process: Process): void {
    this.begunAt.set(process, this.scheduler.time);
  }

  load(process: Process): Promise<Jwks> {
    return this.scheduler.step(process, 'read', (fault) => {
      if (fault !== null) throw new Refusal('reviewers_unavailable', 'custody does not answer');
      const entries = REVIEWERS.map((name): Entry => {
        return entry(name, [APPROVER], this.revokedAt.has(name) ? { countersign_revoked: true } : {});
      });
      return jwks(...entries);
    });
  }

  toggle(who: Reviewer): void {
    if (!this.revokedAt.delete(who)) this.revokedAt.set(who, this.scheduler.time);
  }

  restore(): void {
    this.revokedAt.clear();
  }

  /** An approval, or now and then a rejection; it lasts for minutes or for days. */
  decide(asked: Question, who: Reviewer, decision: 'approve' | 'reject', livesS: number): string {
    return this.sign(asked, who, { kind: 'approval', role: APPROVER, decision }, livesS);
  }

  resolve(asked: Question, who: Reviewer, resolution: 'new_lineage' | 'abort'): string {
    const { headDigest } = asked;
    const claims = {
      kind: 'resolution' as const,
      role: APPROVER,
      headDigest,
      resolution,
      actionIds: [],
      externalId: null,
    };
    return this.sign(asked, who, claims, 3_600);
  }

  private sign(asked: Question, who: Reviewer, said: object, livesS: number): string {
    const { journalId, runId, lineage, planDigest } = asked;
    const jti = `nonce_${(this.nonces += 1).toString(16).padStart(32, '0')}`;
    const iat = Math.floor((this.start + this.scheduler.time) / 1000);
    const claims = { ...said, journalId, runId, lineage, planDigest, jti, iat, exp: iat + livesS } as Claims;
    return signReceipt(claims, signer(who));
  }

  stored(bytes: Uint8Array, time: number): void {
    const { claims } = decisionOf(receiptFromBytes(bytes));
    if (claims.kind === 'approval' && claims.decision === 'reject') this.rejectedAt ??= time;
  }

  /** Why the send of this slot must not be, by all that was known before its execution began; null when it may. */
  forbids(store: MemoryStore, slotPath: string, process: Process): string | null {
    const run = slotPath.slice(0, slotPath.indexOf('/'));
    const begunAt = this.begunAt.get(process) ?? 0;
    const { head } = slotFromBytes(store.entries.get(slotPath) as Uint8Array);
    const folder = `${run}/lineage-${String(head.lineage).padStart(4, '0')}`;
    const bytes = store.entries.get(`${folder}/${checkpointFileName(BigInt(head.sequence))}`) as Uint8Array;
    const digest = RecoveryCheckpoint.fromJson(bytes).approvalReceiptDigest;
    if (digest === null) return 'under a head without an approval';
    if (this.rejectedAt !== null && this.rejectedAt < begunAt) return 'what was rejected before';
    const record = approvalFromBytes(
      store.entries.get(`${run}/receipts/approval-${receiptName(digest)}`) as Uint8Array,
    );
    if (record.expiresAt <= this.start + begunAt) return 'under an approval that had expired before';
    for (const receipt of record.receipts) {
      const { key } = receiptFromBytes(store.entries.get(`${run}/receipts/${receiptName(receipt)}`) as Uint8Array);
      const revokedAt = this.revokedAt.get(key.kid.replace('key-', ''));
      if (revokedAt !== undefined && revokedAt < begunAt) return 'under a key that was revoked before';
    }
    return null;
  }
}
