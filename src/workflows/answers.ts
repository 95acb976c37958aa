/**
 * What a plan asks of people, and what they have answered, inside its workflow. Invariant: an answer is judged before anything is
 * recorded of it, kept once however often it comes, and handed to every drive until one has told what became of it.
 */
import { ApplicationFailure } from '@temporalio/workflow';
import type { DriveIntent, DriveRequest, DriveResult } from '../activities/contract';
import type { Dict } from '../rules/fields';
import { decodeReceipt, receiptDigest } from '../rules/receipts/jws';
import { admitAnswer, questionFromRecord, type Answer, type Question } from '../rules/receipts/question';
import { Refusal, type RefusalCode } from '../rules/refusal';
import type { PlanAsks } from './messages';

/** Through continue-as-new. */
export interface CarriedAnswers {
  readonly question: Dict | null;
  readonly kept: readonly string[];
  readonly handled: readonly string[];
  readonly waited_ms: number;
  /** The lineage that was waited for. @default that of the question */
  readonly waited_in?: number | null;
}

/** Tokens of one drive: what one request may weigh. */
const MOST_AT_ONCE = 32;
/** Digests that are remembered, so that an answer that comes again is no new one. The journal remembers all. */
const MOST_HANDLED = 1_000;

export class Answers {
  question: Question | null = null;
  record: Dict | null = null;
  private readonly kept = new Map<string, string>();
  private readonly handled: Set<string>;
  private readonly refused = new Map<string, { readonly code: RefusalCode; readonly message: string }>();
  private readonly offered = new Set<string>();
  private waitedBefore: number;
  private waitedIn: number | null;
  private askedAt: number | null = null;

  constructor(carried: CarriedAnswers | undefined) {
    this.waitedBefore = carried?.waited_ms ?? 0;
    this.waitedIn = carried?.waited_in ?? null;
    this.ask(carried?.question ?? null);
    for (const token of carried?.kept ?? []) this.kept.set(receiptDigest(token), token);
    this.handled = new Set(carried?.handled);
  }

  /** For a validator: throws what is wrong with the answer, and changes nothing. */
  check(door: Answer, token: unknown, why: string | null): void {
    const refusal = this.refusalOf(door, token, why);
    if (refusal !== null) throw ApplicationFailure.nonRetryable(refusal.message, refusal.code);
  }

  private refusalOf(door: Answer, token: unknown, why: string | null): Refusal | null {
    if (typeof token === 'string' && this.isKnown(receiptDigest(token))) return null;
    const { question } = this;
    if (question !== null) {
      const admission = admitAnswer(token, question, Date.now(), door);
      return admission.ok ? null : admission.refusal;
    }
    try {
      decodeReceipt(token);
    } catch (fault) {
      if (fault instanceof Refusal) return fault;
      throw fault;
    }
    return why === 'reviewers_unavailable'
      ? new Refusal('reviewers_unavailable', 'the reviewers’ keys could not be had; ask again when they can')
      : new Refusal('receipt_not_wanted', 'nothing is asked of anybody here; look at the status of the plan');
  }

  /** Answers its digest. */
  keep(token: string): string {
    const receipt = receiptDigest(token);
    if (!this.isKnown(receipt)) this.kept.set(receipt, token);
    return receipt;
  }

  private isKnown(receipt: string): boolean {
    return this.kept.has(receipt) || this.handled.has(receipt);
  }

  /** For the next drive; what only looks hears nothing. */
  forRequest(intent: DriveIntent): Pick<DriveRequest, 'receipts' | 'approval_waited' | 'approval_waited_in'> {
    if (intent === 'follow' || intent === 'preview') return {};
    const next = [...this.kept].slice(0, MOST_AT_ONCE);
    for (const [receipt] of next) this.offered.add(receipt);
    const { waitedMs, waitedIn } = this;
    return {
      ...(next.length === 0 ? {} : { receipts: next.map(([, token]) => token) }),
      ...(waitedMs === 0 || waitedIn === null ? {} : { approval_waited: waitedMs, approval_waited_in: waitedIn }),
    };
  }

  get asks(): PlanAsks | null {
    const { question } = this;
    if (question === null) return null;
    const { asksApproval, rules, resolutions, have } = question;
    return {
      approvals: asksApproval ? rules.map(({ approvals, roles = null }) => ({ approvals, roles })) : [],
      resolutions,
      have: have.map(({ says }) => says),
    };
  }

  /** Whether a drive has told what became of it, or at least had it in hand. */
  isSettled(receipt: string): boolean {
    return !this.kept.has(receipt);
  }

  /** Something was answered here of which no drive has told what became of it. */
  get arePending(): boolean {
    return this.kept.size > 0;
  }

  wasOffered(receipt: string): boolean {
    return this.offered.has(receipt);
  }

  refusal(receipt: string): { readonly code: RefusalCode; readonly message: string } | null {
    return this.refused.get(receipt) ?? null;
  }

  hear(result: DriveResult): void {
    for (const { receipt, refused } of result.receipts ?? []) {
      this.kept.delete(receipt);
      this.offered.delete(receipt);
      if (refused === null) this.handled.add(receipt);
      else this.refused.set(receipt, refused);
    }
    for (const oldest of this.handled) {
      if (this.handled.size <= MOST_HANDLED) break;
      this.handled.delete(oldest);
    }
    // An execution that was stopped on the way says nothing about what is asked.
    if (result.status !== 'stopped') this.ask(result.status === 'parked' ? (result.question ?? null) : null);
  }

  private ask(record: Dict | null): void {
    this.record = record;
    this.question = record === null ? null : readable(record);
    if (this.question === null) return;
    if (this.waitedIn !== null && this.waitedIn !== this.question.lineage) {
      this.waitedBefore = 0;
      this.askedAt = null;
    }
    this.waitedIn = this.question.lineage;
    if (this.question.asksApproval) this.askedAt ??= Date.now();
  }

  /** Since approvals were asked for first in this lineage, by the time of this workflow's server. */
  get waitedMs(): number {
    return this.waitedBefore + (this.askedAt === null ? 0 : Date.now() - this.askedAt);
  }

  /** Nothing was ever asked here. */
  get isEmpty(): boolean {
    return this.record === null && this.kept.size === 0 && this.handled.size === 0;
  }

  get carried(): CarriedAnswers {
    return {
      question: this.record,
      kept: [...this.kept.values()],
      handled: [...this.handled],
      waited_ms: this.waitedMs,
      waited_in: this.waitedIn,
    };
  }
}

/** A worker of another version may ask in another form: then nobody can answer here. */
function readable(record: Dict): Question | null {
  try {
    return questionFromRecord(record);
  } catch (fault) {
    if (fault instanceof Refusal) return null;
    throw fault;
  }
}
