/**
 * What people allow, as of now. Invariant: it is judged from stored receipts whose signatures check out, under the reviewers'
 * keys of this moment, and again at each send; what an approval was given for it can lose, never gain.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import type { GovernedPlan } from '../rules/plans/plan';
import { afterDeadlines, mergeRules, type ApprovalRule, type Overdue } from '../rules/receipts/approval-rule';
import { isApproval, isResolution, liveKey, type Decision, type ResolutionReceipt } from '../rules/receipts/decision';
import { keyDigest } from '../rules/receipts/grounds';
import type { Jwks } from '../rules/receipts/jwks';
import { judgeApprovals, type Judgement } from '../rules/receipts/judge';
import type { ResolutionRecord } from '../rules/receipts/resolution-record';
import { Refusal } from '../rules/refusal';
import { commitEvidenceDigest } from '../rules/sends/evidence';
import type { Ground } from '../rules/sends/ground';
import { coversAll, type Attestation } from '../rules/sends/proof';
import type { Slot } from '../rules/sends/slot';
import type { ParkReason } from './contract';
import type { Engine } from './engine';
import type { Target } from './look-up';
import type { ReceiptFiles } from './receipt-files';

/** Whether a plan may go on to send. */
export type Standing =
  /** `met`: an approval that the chain has yet to record, and when it was found to be enough. */
  | { readonly standing: 'permitted'; readonly met: { readonly ground: Ground; readonly at: number } | null }
  | { readonly standing: 'denied'; readonly ground: Ground }
  | { readonly standing: 'wanting'; readonly reason: ParkReason; readonly message: string };

const NOBODY: Jwks = { keys: [], digest: '' };

export class Permission {
  /** The rules as they stand after their deadlines. */
  readonly overdue: Overdue;
  /** Who may say what became of an effect, where that is not whoever may approve it. */
  readonly review: readonly ApprovalRule[];
  readonly files: ReceiptFiles;
  private stored: readonly Decision[] | null = null;
  private accepted: readonly ResolutionRecord[] | null = null;

  constructor(
    private readonly engine: Engine,
    readonly plan: GovernedPlan,
    targets: readonly Target[],
    readonly journalId: string,
    readonly lineage: number,
    waitedMs: number,
    private readonly now: () => number,
  ) {
    this.files = engine.journal.receipts(plan.runId);
    const asked = targets.some(
      ({ ordinal, definition }) =>
        plan.effects[ordinal]?.approvalRequired === true || definition.approvalRequired === true,
    );
    const { policy } = engine;
    const demanded = targets.flatMap(({ item, demand }) => [
      policy?.(item.toolId, item.operation) ?? null,
      ...(demand?.rules ?? []),
    ]);
    this.review = targets.flatMap(({ demand }) => demand?.review ?? []);
    this.overdue = afterDeadlines(mergeRules(demanded, asked), waitedMs);
  }

  get rules(): readonly ApprovalRule[] {
    return this.overdue.rules;
  }

  /** Throws `reviewers_unavailable`. */
  async keys(kid?: string): Promise<Jwks> {
    const { reviewers } = this.engine;
    return reviewers === null ? NOBODY : reviewers.load(kid);
  }

  /** Every stored receipt of this run whose signature checks out under the key beside it. */
  async decisions(): Promise<readonly Decision[]> {
    this.stored ??= await this.files.decisions();
    return this.stored;
  }

  /** Stored receipts have changed. */
  refresh(): void {
    this.stored = null;
    this.accepted = null;
  }

  async standing(head: RecoveryCheckpoint): Promise<Standing> {
    if (this.rules.length === 0) return { standing: 'permitted', met: null };
    const { requester } = this.plan;
    const now = this.now();
    const here = (await this.decisions()).filter(({ claims }) => this.isHere(claims));
    const keys = await this.keys();
    if (head.approvalReceiptDigest === null) {
      const judged = judgeApprovals({ rules: this.rules, requester }, here, keys, now);
      if (judged.state === 'denied') return this.denied(judged, this.rules, here);
      if (judged.state !== 'met') return this.overdue.denied ? this.tooLate() : missing(judged);
      // The chain of a lineage takes an approval at its beginning only.
      if (head.phase !== 'planned') return { standing: 'wanting', ...LATE };
      return { standing: 'permitted', met: { ground: await this.approval(judged), at: now } };
    }
    const record = await this.files.approval(head.approvalReceiptDigest);
    if (record === null) {
      throw new Refusal('journal_invalid', 'the approval record of this lineage is missing; restore the journal');
    }
    // Who could decide then, by an escalation, may have decided.
    const { rules } = afterDeadlines(this.rules, Number.MAX_SAFE_INTEGER);
    const counted = here.filter(
      (one) => record.receipts.includes(one.digest) || (isApproval(one) && one.claims.decision === 'reject'),
    );
    const judged = judgeApprovals({ rules, requester }, counted, keys, now);
    if (judged.state === 'denied') return this.denied(judged, rules, here);
    if (now >= record.expiresAt) return { standing: 'wanting', ...EXPIRED };
    if (judged.state === 'met') return { standing: 'permitted', met: null };
    return { standing: 'wanting', ...(judged.state === 'missing' && judged.revoked > 0 ? REVOKED : LATE) };
  }

  private isHere(claims: Decision['claims']): boolean {
    const { plan, lineage, journalId } = this;
    return (
      claims.journalId === journalId &&
      claims.runId === plan.runId &&
      claims.planDigest === plan.planDigest &&
      claims.lineage === lineage
    );
  }

  private async approval(judged: Judgement & { state: 'met' }): Promise<Ground> {
    const { journalId, lineage, plan } = this;
    const { receipts, expiresAt } = judged;
    const { runId, planDigest, requester } = plan;
    const digest = await this.files.keepApproval({ journalId, runId, lineage, planDigest, receipts, expiresAt });
    return { kind: 'approval', digest, expiresAt, requirement: { rules: this.rules, requester } };
  }

  private denied(
    { by }: Judgement & { state: 'denied' },
    rules: readonly ApprovalRule[],
    decisions: readonly Decision[],
  ): Standing {
    const key = decisions.find(({ digest }) => digest === by)?.key;
    const requirement = { rules, requester: this.plan.requester };
    const who = key === undefined ? null : keyDigest(key);
    return { standing: 'denied', ground: { kind: 'denial', code: 'rejected', receipt: by, key: who, requirement } };
  }

  private tooLate(): Standing {
    const requirement = { rules: this.rules, requester: this.plan.requester };
    return { standing: 'denied', ground: { kind: 'denial', code: 'deadline', receipt: null, key: null, requirement } };
  }

  /** Resolutions that a driver has accepted, with their receipts. */
  async resolutions(): Promise<readonly { record: ResolutionRecord; decision: ResolutionReceipt }[]> {
    this.accepted ??= await this.files.resolutions();
    if (this.accepted.length === 0) return [];
    const receipts = new Map((await this.decisions()).filter(isResolution).map((one) => [one.digest, one]));
    return this.accepted.flatMap((record) => {
      const decision = receipts.get(record.receipt);
      return decision === undefined ? [] : [{ record, decision }];
    });
  }

  /** The accepted resolution of this lineage that ends the plan, or asks to leave this very head for a new lineage. */
  async turning(head: RecoveryCheckpoint): Promise<ResolutionReceipt | null> {
    const here = (await this.resolutions()).filter(({ decision }) => this.isHere(decision.claims));
    const found = (wanted: 'abort' | 'new_lineage'): ResolutionReceipt | undefined =>
      here.find(({ decision: { claims } }) => {
        return claims.resolution === wanted && (wanted === 'abort' || claims.headDigest === head.checkpointDigest);
      })?.decision;
    return found('abort') ?? found('new_lineage') ?? null;
  }

  /** What people have said about one effect, in any lineage. A word for `committed` counts before one for `absent`. */
  async attestation({ item }: Target, evidence: string | null, slots: readonly Slot[]): Promise<Attestation | null> {
    const about = (await this.resolutions()).filter(({ decision }) => {
      return decision.claims.actionIds.includes(item.actionId) && decision.claims.planDigest === this.plan.planDigest;
    });
    if (about.length === 0) return null;
    const keys = await this.keys();
    let absent: Attestation | null = null;
    for (const { record, decision } of about) {
      const { resolution, externalId } = decision.claims;
      const attempts = record.attempts.find(({ actionId }) => actionId === item.actionId)?.attempts ?? 0;
      if (resolution === 'mark_committed') {
        // What the chain took on this word stands. Otherwise its key must still count; and an effect that was sent again since
        // had been found absent, so that the word was wrong, or of something else.
        const same = commitEvidenceDigest({ ...item, externalId }) === evidence;
        const counts = evidence === null ? liveKey(decision, keys) !== null && coversAll(attempts, slots) : same;
        if (counts) return { says: 'committed', externalId };
      } else if (resolution === 'mark_absent' && liveKey(decision, keys) !== null) {
        if (absent === null || (absent.says === 'absent' && absent.attempts < attempts)) {
          absent = { says: 'absent', attempts };
        }
      }
    }
    return absent;
  }
}

type Wanting = Omit<Extract<Standing, { standing: 'wanting' }>, 'standing'>;

const EXPIRED: Wanting = {
  reason: 'approval_expired',
  message: 'the approval has expired; what is left needs a new lineage, and an approval in it',
};
const REVOKED: Wanting = {
  reason: 'approval_revoked',
  message: 'a key that approved no longer counts; what is left needs a new lineage, and an approval in it',
};
const LATE: Wanting = {
  reason: 'approval_missing',
  message: 'more approval is wanted than this lineage has, or can take; it needs a new lineage, and an approval in it',
};

function missing(judged: Judgement): Standing {
  const rules = judged.state === 'missing' ? judged.rules : [];
  const counts = rules.map(({ have, need }) => `${have} of ${need}`).join(', ');
  const request = judged.state === 'missing' && judged.signedRequest ? ', and a signed request' : '';
  const message = `the plan, or this worker’s policy, wants an approval: ${counts}${request}`;
  return { standing: 'wanting', reason: 'approval_missing', message };
}
