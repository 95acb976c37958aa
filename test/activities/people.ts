/** The real engine with reviewers, driven as its workflow would: every chain follows, every journal verifies after each step. */
import { expect } from 'vitest';
import type { DriveRequest, DriveResult } from '../../src/activities/contract';
import type { ApprovalPolicy, Engine } from '../../src/activities/engine';
import type { Dict } from '../../src/rules/fields';
import { planToRecord } from '../../src/rules/plans/plan';
import type { ApprovalRule } from '../../src/rules/receipts/approval-rule';
import { questionFromRecord, type Question } from '../../src/rules/receipts/question';
import { storeView, verifyJournal } from '../../src/verify';
import { ChainKeeper } from '../../src/workflows/chain-keeper';
import { TestReviewers } from '../support/reviewers';
import { Bench, type EffectSpec } from './support';

export interface PeopleOptions {
  readonly effects?: readonly EffectSpec[];
  readonly order?: string;
  readonly name?: string;
  /** For every effect. @default two approvals of anybody */
  readonly rule?: ApprovalRule | null;
  readonly requester?: string;
  readonly reviewers?: TestReviewers;
  readonly sink?: Parameters<Bench['told']['sink']>[0];
}

export class People {
  readonly bench: Bench;
  readonly reviewers: TestReviewers;
  chain: ChainKeeper;
  rule: ApprovalRule | null;
  epoch: number | null = null;
  last: DriveResult | null = null;
  /** Milliseconds that the approvals were waited for. */
  waitedForApproval = 0;
  private readonly waited = new Map<string, number>();
  private readonly sink: NonNullable<PeopleOptions['sink']>;

  constructor({
    effects = [{}],
    order = 'ordered',
    name,
    rule = { approvals: 2 },
    requester,
    sink,
    reviewers = new TestReviewers(),
  }: PeopleOptions = {}) {
    this.reviewers = reviewers;
    this.bench = new Bench(effects, order, name ?? 'people', requester ?? null);
    this.rule = rule;
    this.sink = sink ?? {};
    this.chain = new ChainKeeper(planToRecord(this.bench.plan), null);
  }

  get now(): number {
    return this.bench.clockMs;
  }

  engine(change: Partial<Engine> = {}): Engine {
    const policy: ApprovalPolicy = () => this.rule;
    return this.bench.engine(
      { sink: this.bench.told.sink(this.sink) },
      { policy, reviewers: this.reviewers, ...change },
    );
  }

  /** One execution. */
  async drive(
    tokens: readonly string[] = [],
    change: Partial<DriveRequest> = {},
    engine = this.engine(),
  ): Promise<DriveResult> {
    const { chain } = this;
    const result = await this.bench.drive(engine, {
      lineage: chain.lineage,
      journal_id: chain.journalId,
      expected_head: chain.expectedHead,
      epoch: this.epoch,
      waited: [...this.waited].map(([at, ms]) => [...(at.split('/').map(Number) as [number, number]), ms] as const),
      receipts: tokens,
      approval_waited: this.waitedForApproval,
      ...change,
    });
    chain.accept(result);
    this.epoch = result.epoch;
    this.last = result;
    await this.verify();
    return result;
  }

  /** Drives until the plan no longer waits for a sink. */
  async carry(
    tokens: readonly string[] = [],
    change: Partial<DriveRequest> = {},
    engine = this.engine(),
  ): Promise<DriveResult> {
    let result = await this.drive(tokens, change, engine);
    for (let turns = 0; result.status === 'waiting' && turns < 30; turns += 1) {
      this.pass(result.ms);
      for (const [ordinal, attempt] of result.pending) {
        const at = `${ordinal}/${attempt}`;
        this.waited.set(at, (this.waited.get(at) ?? 0) + result.ms);
      }
      const { receipts: _answered, ...again } = change;
      result = await this.drive([], again, engine);
    }
    return result;
  }

  pass(ms: number): void {
    this.bench.clockMs += ms;
  }

  /** Another Temporal run on the same journal, which knows nothing. */
  forget(): void {
    this.chain = new ChainKeeper(planToRecord(this.bench.plan), null);
    this.epoch = null;
    this.waited.clear();
  }

  question(result: DriveResult | null = this.last): Question {
    if (result?.status !== 'parked' || !result.question) throw new Error(`nothing is asked: ${JSON.stringify(result)}`);
    return questionFromRecord(result.question satisfies Dict);
  }

  /** Times for a receipt that is signed now. */
  get signed(): { readonly iat: number } {
    return { iat: Math.floor(this.now / 1000) };
  }

  async verify(): Promise<void> {
    const report = await verifyJournal(storeView(this.bench.store), { strict: true });
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({ ok: true, justified: true });
  }
}

/** How each receipt of the last drive was answered: null, or the code of its refusal. */
export function answersOf(result: DriveResult): readonly (string | null)[] {
  return (result.receipts ?? []).map(({ refused }) => refused?.code ?? null);
}
