/** The real engine over stores in memory, with one plan and one programmable sink, for tests of `drive` itself. */
import { Contents } from '../../src/activities/contents';
import type { DriveRequest, DriveResult } from '../../src/activities/contract';
import { withDeadline } from '../../src/activities/deadline';
import { drive } from '../../src/activities/drive';
import { newOwner } from '../../src/activities/drive-activity';
import type { Caller, Engine } from '../../src/activities/engine';
import { Journal } from '../../src/activities/journal';
import { Registry } from '../../src/activities/registry';
import type { DispatchOutcome, EffectDefinition, EffectSink, SinkAnswer, SinkItem } from '../../src/ports';
import { journalToText } from '../../src/rules/journal-record';
import { carrierWorkflowId } from '../../src/rules/plans/identity';
import { draftFromJson, planFromDraft } from '../../src/rules/plans/draft';
import { planToRecord, type GovernedPlan } from '../../src/rules/plans/plan';
import { sha256Digest } from '../../src/rules/recovery';
import { ChainKeeper } from '../../src/workflows/chain-keeper';
import { MemoryStore } from './simulation/store';

export const TOOL = 'tool:example.org/book@1.0.0';
const SALT = 'cd'.repeat(32);
const encoder = new TextEncoder();

/** A sink that answers as told: one outcome a send from `outcomes`, then accepts. It keeps keys, and looks them up. */
export class ToldSink {
  readonly sent: SinkItem[] = [];
  readonly held = new Map<string, SinkAnswer>();
  /** Answers for the next look-ups, before what is really held. */
  readonly answers: (SinkAnswer | 'throw')[] = [];
  readonly outcomes: (DispatchOutcome | 'throw' | 'late')[] = [];
  atOnce = 0;
  mostAtOnce = 0;
  lookUps = 0;

  sink(traits: Partial<EffectSink> = {}): EffectSink {
    return {
      kind: 'local_tool',
      lookup: 'authoritative',
      enforcesKey: 'no',
      deadlineMs: 1_000,
      settleMs: 2_000,
      observe: (items) => {
        this.lookUps += 1;
        const told = this.answers.shift();
        if (told === 'throw') return Promise.reject(new Error('no answer'));
        return Promise.resolve(items.map((item) => told ?? this.held.get(item.idempotencyKey) ?? { state: 'absent' }));
      },
      dispatch: async (item) => {
        this.sent.push(item);
        this.atOnce += 1;
        this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
        await new Promise((resolve) => setImmediate(resolve));
        this.atOnce -= 1;
        const outcome = this.outcomes.shift() ?? { outcome: 'accepted', externalId: 'row-1', result: { row: 1 } };
        if (outcome === 'throw') throw new Error('connection reset');
        if (outcome === 'late' || outcome.outcome === 'accepted') {
          const externalId = outcome === 'late' ? 'row-1' : outcome.externalId;
          this.held.set(item.idempotencyKey, { state: 'committed', operationDigest: item.operationDigest, externalId });
        }
        if (outcome === 'late') throw new Error('connection reset');
        return outcome;
      },
      ...traits,
    };
  }
}

export interface EffectSpec {
  readonly toolId?: string;
  readonly operation?: unknown;
  readonly approvalRequired?: boolean;
}

export class Bench {
  readonly store = new MemoryStore();
  readonly contents = new MemoryStore();
  readonly told = new ToldSink();
  readonly plan: GovernedPlan;
  clockMs = 1_700_000_000_000;
  readonly slept: number[] = [];

  constructor(
    effects: readonly EffectSpec[] = [{}],
    order = 'ordered',
    name = 'drive',
    requester: string | null = null,
  ) {
    const { plan, envelopes } = planFromDraft(
      draftFromJson({
        workflow_id: 'workflow:example.org/drive',
        name,
        order,
        effects: effects.map((effect, index) => ({
          id: `e${index}`,
          tool_id: effect.toolId ?? TOOL,
          kind: 'local_tool',
          operation: effect.operation ?? { index },
          approval_required: effect.approvalRequired ?? false,
        })),
      }),
      SALT,
      { origin: null, requester },
    );
    this.plan = plan;
    for (const { digest, text } of envelopes)
      this.contents.put(`operations/${digest.slice('sha256:'.length)}`, encoder.encode(text));
    this.contents.put(`salts/${plan.runId}`, encoder.encode(SALT));
    this.store.put('journal.json', encoder.encode(journalToText('0'.repeat(32))));
  }

  engine(definition: Partial<EffectDefinition> = {}, change: Partial<Engine> = {}): Engine {
    return {
      journal: new Journal(this.store),
      contents: new Contents(this.contents),
      registry: new Registry([{ toolId: TOOL, sink: this.told.sink(), ...definition }]),
      policy: null,
      reviewers: null,
      newOwner,
      now: () => this.clockMs,
      monotonic: () => this.clockMs,
      sleep: (ms) => {
        this.slept.push(ms);
        this.clockMs += ms;
        return Promise.resolve();
      },
      withDeadline,
      ...change,
    };
  }

  caller(change: Partial<Caller> = {}): Caller {
    return {
      workflowId: carrierWorkflowId(this.plan.runId),
      driver: sha256Digest('driver'),
      scheduledAt: this.clockMs,
      stopping: () => false,
      ...change,
    };
  }

  request(change: Partial<DriveRequest> = {}): DriveRequest {
    return {
      run_id: this.plan.runId,
      lineage: 1,
      intent: 'drive',
      plan: planToRecord(this.plan),
      journal_id: null,
      expected_head: null,
      epoch: null,
      reclaim: false,
      waited: [],
      ...change,
    };
  }

  drive(
    engine = this.engine(),
    request: Partial<DriveRequest> = {},
    caller: Partial<Caller> = {},
  ): Promise<DriveResult> {
    return drive(engine, this.caller(caller), this.request(request));
  }

  /** Drives as a workflow would, until the plan is no longer waiting; the workflow's own chain must follow. */
  async carry(engine = this.engine(), most = 20): Promise<DriveResult> {
    const chain = new ChainKeeper(planToRecord(this.plan), null);
    const waited = new Map<string, number>();
    let epoch: number | null = null;
    for (let turn = 0; ; turn += 1) {
      const result = await this.drive(engine, {
        journal_id: chain.journalId,
        expected_head: chain.expectedHead,
        epoch,
        waited: [...waited].map(([at, ms]) => [...(at.split('/').map(Number) as [number, number]), ms] as const),
      });
      chain.accept(result);
      epoch = result.epoch;
      if (result.status !== 'waiting' || turn === most) return result;
      this.clockMs += result.ms;
      for (const [ordinal, attempt] of result.pending) {
        const at = `${ordinal}/${attempt}`;
        waited.set(at, (waited.get(at) ?? 0) + result.ms);
      }
    }
  }

  /** Everything in the journal, for comparing. */
  bytes(): string {
    return [...this.store.entries].map(([path, bytes]) => `${path}\n${Buffer.from(bytes).toString()}`).join('\n');
  }

  path(part: string): string {
    const path = [...this.store.entries.keys()].find((name) => name.includes(part));
    if (path === undefined) throw new Error(`nothing in the journal is called ${part}`);
    return path;
  }
}
