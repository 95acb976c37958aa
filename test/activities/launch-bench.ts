/** The real launch engine over stores in memory, with one programmable launcher, for tests of launching itself. */
import { expect } from 'vitest';
import { Contents } from '../../src/activities/contents';
import { withDeadline } from '../../src/activities/deadline';
import { newOwner } from '../../src/activities/drive-activity';
import { Journal } from '../../src/activities/journal';
import { launch } from '../../src/activities/launch';
import type { LaunchRequest, LaunchResult, SettleRequest, SettleResult } from '../../src/activities/launch-contract';
import type { LaunchEngine } from '../../src/activities/launch-engine';
import { Launchers } from '../../src/activities/launchers';
import { settle } from '../../src/activities/settle';
import { stageLaunch } from '../../src/activities/stage-launch';
import type { LaunchContext, LaunchOutcome } from '../../src/ports';
import type { Dict } from '../../src/rules/fields';
import { journalToText } from '../../src/rules/journal-record';
import { jobWorkflowId, orderFromRecord } from '../../src/rules/launches/job-order';
import { sha256Hex } from '../../src/rules/recovery';
import { signReceipt } from '../../src/rules/receipts/jws';
import { storeView, verifyJournal } from '../../src/verify';
import { APPROVER, signer } from '../rules/receipts/support';
import { TestReviewers } from '../support/reviewers';
import { MemoryStore } from './simulation/store';

export const AT = 1_700_000_000_000;
export const quiet = { submitted: () => Promise.resolve(), changed: () => Promise.resolve() };

export class LaunchBench {
  readonly kept = new MemoryStore();
  readonly launched: LaunchContext[] = [];
  clockMs = AT;
  outcome: LaunchOutcome | 'throw' = { outcome: 'started' };
  record: Dict = {};
  receipt = '';

  private constructor(
    private readonly id: string,
    readonly store: MemoryStore,
  ) {}

  /** A launch of its own; several may share a journal. */
  static async make(
    id = 'one',
    store = new MemoryStore(),
    context: (kept: MemoryStore) => unknown = () => ({ prompt: 'x' }),
    cost_ceiling = 5,
  ): Promise<LaunchBench> {
    const bench = new LaunchBench(id, store);
    bench.store.put('journal.json', new TextEncoder().encode(journalToText('0'.repeat(32))));
    const staged = await stageLaunch(bench.engine, 'author', {
      ...{ origin: 'test', id, provider: 'p', model: 'm', cost_ceiling, content_boundary: 'whole_context' },
      context: await context(bench.kept),
    });
    bench.record = staged.order;
    const { role: _role, parent: _parent, origin: _origin, ...fixed } = orderFromRecord(staged.order);
    const claims = { kind: 'launch', journalId: staged.journal_id, retryLimit: 0, authorizer: 'human' } as const;
    const times = {
      jti: `nonce_${sha256Hex(`${id}${cost_ceiling}`).slice(0, 32)}`,
      iat: AT / 1000,
      exp: AT / 1000 + 60,
    };
    bench.receipt = signReceipt({ ...claims, ...fixed, role: APPROVER, ...times }, signer('ann'));
    return bench;
  }

  get engine(): LaunchEngine {
    const launcher = {
      deadlineMs: 1_000,
      launch: async (_job: unknown, context: LaunchContext): Promise<LaunchOutcome> => {
        this.launched.push(context);
        await new Promise((resolve) => setImmediate(resolve));
        if (this.outcome === 'throw') throw new Error('lost');
        return this.outcome;
      },
    };
    return {
      journal: new Journal(this.store),
      contents: new Contents(this.kept),
      reviewers: new TestReviewers(),
      launchers: new Launchers([{ provider: 'p', model: 'm', launcher }]),
      launchRoles: null,
      newOwner,
      newSecret: () => `${newOwner().slice(4)}${newOwner().slice(4)}`,
      now: () => this.clockMs,
      withDeadline,
    };
  }

  private get own(): string {
    return jobWorkflowId(String(this.record['job_id']));
  }

  launch(workflowId: string | null = this.own): Promise<LaunchResult> {
    return this.handOff(workflowId, workflowId === this.own ? {} : { call: { origin: 'test', id: this.id } });
  }

  /** By the job's own workflow, which was told whose job it is. */
  launchFromOwn(
    call: LaunchRequest['call'] = { origin: 'test', id: this.id, workflow_id: 'author' },
  ): Promise<LaunchResult> {
    return this.handOff(this.own, { call });
  }

  private handOff(workflowId: string | null, call: Pick<LaunchRequest, 'call'>): Promise<LaunchResult> {
    const request = { order: this.record, ...call, journal_id: null, receipt: this.receipt, lease_ms: 120_000 };
    return launch(this.engine, { workflowId, scheduledAt: 0 }, quiet, request);
  }

  settle(does: SettleRequest['does'], workflowId: string | null = this.own): Promise<SettleResult> {
    const { record: order, receipt } = this;
    return settle(this.engine, { workflowId, scheduledAt: 0 }, { order, journal_id: null, receipt, does });
  }

  async verified(): Promise<void> {
    const report = await verifyJournal(storeView(this.store), { strict: true });
    expect(report.findings).toEqual([]);
  }
}
