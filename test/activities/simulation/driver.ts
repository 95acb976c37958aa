/**
 * What the workflow does around `drive`, on simulated time. Invariant: it credits a wait only after a durable timer, forgets
 * its epoch whenever an execution did not come back, and keeps its chain with the workflow's own `ChainKeeper`.
 */
import type { DriveIntent, DriveRequest, DriveResult } from '../../../src/activities/contract';
import { drive } from '../../../src/activities/drive';
import type { Caller, Engine } from '../../../src/activities/engine';
import { StoreError } from '../../../src/ports';
import { carrierWorkflowId } from '../../../src/rules/plans/identity';
import { planToRecord, type GovernedPlan } from '../../../src/rules/plans/plan';
import { receiptDigest } from '../../../src/rules/receipts/jws';
import { questionFromRecord, type Question } from '../../../src/rules/receipts/question';
import { ChainKeeper } from '../../../src/workflows/chain-keeper';
import { Process, type Scheduler } from './scheduler';

const HEARTBEAT_TIMEOUT_MS = 10_000;
const PATIENCE_MS = 10 * 60_000;

export interface DriverWorld {
  readonly scheduler: Scheduler;
  readonly plan: GovernedPlan;
  engine(process: Process): Engine;
  /** What a broken engine would make of the request; the request itself in a sound one. */
  bend(request: DriveRequest, driver: SimulatedDriver): DriveRequest;
  /** Something that must never happen. */
  violated(what: string): void;
}

export class SimulatedDriver {
  readonly chain: ChainKeeper;
  /** The execution that this driver waits for, and the last one that it knew to be alive. */
  process: Process | null = null;
  state: 'driving' | 'waiting' | 'following' | 'parked' | 'closed' | 'gone' = 'driving';
  parkedFor = '';
  parks = 0;
  cancelling = false;
  epoch: number | null = null;
  lastEpoch: number | null = null;
  private reclaim = false;
  private followedMs = 0;
  private cancelPauseMs = 500;
  private executions = 0;
  private failures = 0;
  private readonly waited = new Map<string, number>();
  /** What this driver's workflow asks of people, and what it was answered. */
  question: Question | null = null;
  private readonly tokens = new Map<string, string>();
  private giveUp: (() => void) | null = null;
  private wake: (() => void) | null = null;

  constructor(
    readonly name: string,
    private readonly digest: string,
    private readonly world: DriverWorld,
  ) {
    this.chain = new ChainKeeper(planToRecord(world.plan), null);
  }

  get done(): boolean {
    return this.state === 'closed' || this.state === 'gone';
  }

  start(): void {
    this.run().catch((fault: unknown) => {
      this.state = 'closed';
      this.world.violated(
        `${this.name} failed: ${fault instanceof Error ? (fault.stack ?? fault.message) : 'unknown'}`,
      );
    });
  }

  /** The process dies; the server notices by its missing heartbeats. */
  crash(): void {
    const { process, giveUp } = this;
    if (process === null || giveUp === null) return;
    this.world.scheduler.kill(process);
    this.world.scheduler.after(null, HEARTBEAT_TIMEOUT_MS, giveUp);
  }

  /** The server hears no heartbeat, although the process lives on. */
  loseContact(): void {
    this.giveUp?.();
  }

  /** `temporal workflow reset`, or a terminated run: this history ends here, its execution does not know. */
  abandon(): void {
    this.state = 'gone';
  }

  cancel(): void {
    this.cancelling = true;
    this.wake?.();
  }

  /** A person looks and says go on. */
  reobserve(): void {
    this.reclaim = true;
    this.wake?.();
  }

  /** A person answers the question of this workflow. */
  answer(token: string): void {
    this.tokens.set(receiptDigest(token), token);
    this.wake?.();
  }

  private async run(): Promise<void> {
    while (!this.done) {
      const intent = this.cancelling ? 'cancel' : this.state === 'following' ? 'follow' : 'drive';
      const result = await this.execute(intent);
      if (this.done) return;
      if (result === null) await this.afterFailure();
      else await this.after(result);
    }
  }

  private async execute(intent: DriveIntent): Promise<DriveResult | null> {
    const { scheduler, plan } = this.world;
    const process = new Process(`${this.name}#${(this.executions += 1)}`);
    const caller: Caller = {
      workflowId: carrierWorkflowId(plan.runId),
      driver: this.digest,
      scheduledAt: scheduler.time,
      stopping: () => process.stopping,
    };
    const request = this.world.bend(
      {
        run_id: plan.runId,
        lineage: this.chain.lineage,
        intent,
        plan: this.chain.record,
        journal_id: this.chain.journalId,
        expected_head: this.chain.expectedHead,
        epoch: this.epoch,
        reclaim: this.reclaim,
        waited: [...this.waited].map(([at, ms]) => [...(at.split('/').map(Number) as [number, number]), ms] as const),
        receipts: intent === 'follow' ? [] : [...this.tokens.values()],
      },
      this,
    );
    this.process = process;
    const lost = new Promise<null>((resolve) => (this.giveUp = () => resolve(null)));
    const ended = drive(this.world.engine(process), caller, request).catch((fault: unknown) => {
      if (!(fault instanceof StoreError)) this.world.violated(`drive threw ${String(fault)}`);
      return null;
    });
    const result = await Promise.race([ended, lost]);
    this.giveUp = null;
    if (result !== null) this.failures = 0;
    if (result !== null) this.reclaim = false;
    return result;
  }

  private async after(result: DriveResult): Promise<void> {
    this.chain.accept(result);
    for (const { receipt } of result.receipts ?? []) this.tokens.delete(receipt);
    const question = result.status === 'parked' ? (result.question ?? null) : null;
    this.question = question === null ? null : questionFromRecord(question);
    this.epoch = result.epoch;
    this.lastEpoch = result.epoch ?? this.lastEpoch;
    if (result.status !== 'waiting') this.waited.clear();
    switch (result.status) {
      case 'done':
        this.state = 'closed';
        return;
      case 'waiting':
        this.state = 'waiting';
        if (await this.sleep(result.ms)) {
          for (const [ordinal, attempt] of result.pending) {
            const at = `${ordinal}/${attempt}`;
            this.waited.set(at, (this.waited.get(at) ?? 0) + result.ms);
          }
        }
        break;
      case 'stopped':
        await this.sleep(200);
        break;
      case 'fenced':
        return this.follow();
      case 'parked':
        this.state = 'parked';
        this.parkedFor = result.reason;
        this.parks += 1;
        if (this.tokens.size > 0 && result.reason !== 'reviewers_unavailable') break;
        await new Promise<void>((resolve) => (this.wake = resolve));
        this.wake = null;
        break;
      case 'refused':
      case 'previewed':
        throw new Error(`came back as ${result.status}`);
    }
    if (this.state !== 'gone') this.state = 'driving';
  }

  private async afterFailure(): Promise<void> {
    this.lastEpoch = this.epoch ?? this.lastEpoch;
    this.epoch = null;
    this.failures += 1;
    if (this.failures > 1) await this.sleep(Math.min(500 * 2 ** this.failures, 60_000));
  }

  private async follow(): Promise<void> {
    this.state = 'following';
    if (this.cancelling || this.followedMs >= PATIENCE_MS) {
      this.reclaim = true;
      this.followedMs = 0;
      this.state = 'driving';
      if (this.cancelling) await this.sleep((this.cancelPauseMs *= 2));
      return;
    }
    const ms = Math.min(Math.max(1_000, this.followedMs), 30_000);
    if (await this.sleep(ms)) this.followedMs += ms;
    if (this.reclaim) this.state = 'driving';
  }

  /** False when somebody spoke to the workflow before the time was over. */
  private async sleep(ms: number): Promise<boolean> {
    const over = await new Promise<boolean>((resolve) => {
      const callOff = this.world.scheduler.after(null, ms, () => resolve(true));
      this.wake = () => {
        callOff();
        resolve(false);
      };
    });
    this.wake = null;
    return over;
  }
}
