/**
 * How a workflow carries a plan: drive, wait, park, follow, until it is closed. Invariant: an execution that did not come
 * back is unknown, never a failure of the plan; the next one takes the turn anew. Waits are durable timers.
 */
import {
  ActivityFailure,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  proxyActivities,
  type ActivityOptions,
} from '@temporalio/workflow';
import {
  DRIVE_ACTIVITY,
  isParkable,
  type CountersignActivities,
  type DriveIntent,
  type DriveResult,
  type EffectResultRecord,
} from '../activities/contract';
import { Refusal } from '../rules/refusal';
import { Answers, type CarriedAnswers } from './answers';
import type { ChainKeeper } from './chain-keeper';
import type { ParkedSince, PlanState, PlanStatus } from './messages';
import { Outage, isUntaken } from './outage';
import { isLookedAt, Parking } from './parking';
import { CARRIER, type Host } from './story';
import { sleepUnless } from './timer';
import { Waited } from './waited';

/** How the loop was left: the chain is closed, all is permitted and others send it, nothing ever happened, or a new run is wanted. */
export type LoopEnd =
  | { readonly end: 'closed' | 'permitted' | 'renew' }
  | { readonly end: 'turned_down'; readonly refusal: Refused }
  /** Only where the host does not wait for people: another workflow is to carry the plan on. */
  | { readonly end: 'handed_over' };
type Refused = Extract<DriveResult, { status: 'refused' }>;

export const DRIVING: ActivityOptions = {
  startToCloseTimeout: '2 hours',
  heartbeatTimeout: '10 seconds',
  retry: { maximumAttempts: 1 },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
};
const LONGEST_PAUSE_MS = 60_000;
/** Between two looks at a plan that another workflow carries, perhaps for weeks. */
const LONGEST_WATCH_MS = 10 * 60_000;
/** An author's history is not to fill up with failures: after these, the plan gets a workflow of its own. */
const MOST_FAILURES = 6;
/** Another driver that shows nothing new for this long is asked no more: we take over. Doubles each time. */
const FOLLOW_PATIENCE_MS = 10 * 60_000;
const ANSWERS_TAKE_THE_TURN = 'countersign_answers_take_the_turn';

export class DriveLoop {
  state: PlanState = 'driving';
  reason: PlanStatus['reason'] = null;
  message: string | null = null;
  replayed = true;
  /** Executions that have come back; a handler waits for the next one. */
  returned = 0;
  closed = false;
  /** What the effects of a closed plan gave back. */
  results: readonly EffectResultRecord[] = [];
  /** Of a call: when each execution of it began, as far as a drive has told. */
  begun: readonly number[] = [];
  /** How long each execution may wait for a worker; when none has come by then, the loop ends as `handed_over`. */
  startsWithinMs: number | null = null;
  /** Another workflow carries the plan: never take the turn from it, but ask now and then whether it is still there. */
  onlyFollows = false;
  private untaken = false;
  private epoch: number | null = null;
  private reclaim = false;
  private cancelling = false;
  private woken = false;
  private resumesAt: number | null = null;
  private failures = 0;
  private followed = 0;
  private patienceMs = FOLLOW_PATIENCE_MS;
  private claimPauseMs = 1_000;
  /** What the memo says; null while there is none. */
  private memo: PlanState | null = null;
  private readonly outage = new Outage();
  private readonly parking = new Parking();
  private readonly waited = new Waited();
  readonly answers: Answers;
  private scope: CancellationScope | null = null;

  constructor(
    readonly chain: ChainKeeper,
    private readonly taskQueue: string | undefined,
    /** True when the workflow would rather continue as new than wait any longer here. */
    private readonly wantsRenewal: () => boolean = () => false,
    private readonly host: Host = CARRIER,
    carried?: CarriedAnswers,
  ) {
    this.answers = new Answers(carried);
  }

  /** A person asks to look again, whoever has the turn. */
  reobserve(): void {
    this.reclaim = true;
    this.woken = true;
  }

  /** Somebody has answered. */
  wake(): void {
    this.woken = true;
  }

  /** Finishes the effect in hand, then closes the plan. */
  cancel(): void {
    this.cancelling = true;
    this.woken = true;
    this.scope?.cancel();
  }

  /** @param driven What the first drive came to, where it was asked for already. */
  async run(driven?: DriveResult | null): Promise<LoopEnd> {
    for (let before = driven; ; before = undefined) {
      if (this.cancelling) this.enter('cancelling', null, null);
      const follows = this.onlyFollows || this.state === 'following';
      const intent = this.cancelling ? 'cancel' : follows ? 'follow' : 'drive';
      const result = before === undefined ? await this.drive(intent) : before;
      if (this.untaken) return { end: 'handed_over' };
      this.returned += 1;
      const end = result === null ? await this.afterFailure() : await this.after(result);
      if (end !== null) return end;
    }
  }

  /** The run before this one was parked, and so says the memo that it left. */
  inherit(parked: ParkedSince): void {
    this.parking.inherit(parked);
    this.memo = 'parked';
  }

  get parked(): ParkedSince | null {
    return this.parking.since;
  }

  /** A memo that says where the plan stood must not outlive it; one that was never written costs an event for nothing. */
  remembered(): void {
    if (this.memo !== null || this.chain.known !== null || this.chain.head?.phase !== 'completed') this.remember();
  }

  private remember(): void {
    this.host.remember(this.status());
    this.memo = this.state;
  }

  status(): PlanStatus {
    const { chain } = this;
    return {
      run_id: chain.plan.runId,
      journal_id: chain.journalId,
      state: this.state,
      phase: chain.head?.phase ?? null,
      lineage: chain.lineage,
      head: chain.expectedHead,
      reason: this.reason,
      message: this.message,
      asks: this.answers.asks,
      observed_at: chain.observedAt,
      parked_at: this.state === 'parked' ? (this.parked?.at ?? null) : null,
      resumes_at: this.resumesAt,
      effects: chain.effects(!this.closed && !isLookedAt(this.state, this.reason)),
    };
  }

  /** Null when the execution did not come back. */
  async drive(intent: DriveIntent): Promise<DriveResult | null> {
    this.host.tell(this.status());
    const starts = this.startsWithinMs === null ? {} : { scheduleToStartTimeout: this.startsWithinMs };
    const options = { ...DRIVING, ...starts, summary: this.host.summary(this.status()) };
    const activities = proxyActivities<CountersignActivities>(
      this.taskQueue === undefined ? options : { ...options, taskQueue: this.taskQueue },
    );
    const { chain } = this;
    const request = {
      run_id: chain.plan.runId,
      lineage: chain.lineage,
      intent,
      plan: chain.record,
      journal_id: chain.journalId,
      expected_head: chain.expectedHead,
      known_head: chain.unseenHead,
      epoch: this.epoch,
      reclaim: this.reclaim,
      waited: this.waited.record,
      ...this.answers.forRequest(intent),
      ...(chain.callId === null ? {} : { call_id: chain.callId }),
      ...(chain.allow === null ? {} : { allow: chain.allow }),
    };
    try {
      // A cancellation of the workflow reaches the drive, which then finishes the effect in hand; the last drive must not hear it.
      const scope = new CancellationScope({ cancellable: intent !== 'cancel' });
      this.scope = intent === 'cancel' ? null : scope;
      const result = await scope.run(() => activities[DRIVE_ACTIVITY](request));
      this.failures = 0;
      this.reclaim = false;
      return result;
    } catch (fault) {
      if (!(fault instanceof ActivityFailure) && !isCancellation(fault)) throw fault;
      this.untaken = this.startsWithinMs !== null && isUntaken(fault);
      this.outage.failed(chain.plan.runId, fault);
      return null;
    } finally {
      this.scope = null;
    }
  }

  private async after(result: DriveResult): Promise<LoopEnd | null> {
    const before = this.chain.expectedHead?.digest;
    try {
      this.chain.accept(result);
    } catch (fault) {
      if (!(fault instanceof Refusal) || !isParkable(fault.code)) throw fault;
      return this.park(fault.code, fault.message);
    }
    this.answers.hear(result);
    this.epoch = result.epoch;
    this.begun = result.begun ?? this.begun;
    this.replayed = this.replayed && result.replayed;
    const moved = before !== this.chain.expectedHead?.digest;
    if (moved) this.followed = 0;
    if (result.status !== 'waiting') this.waited.forgetSinks();
    switch (result.status) {
      case 'done':
        this.closed = true;
        this.parking.over();
        this.results = result.results ?? [];
        this.enter('closed', null, null);
        return { end: 'closed' };
      case 'refused':
        // After an execution that did not come back, or in a continued run, more may have happened than is known here.
        return this.chain.mayHaveBegun && isParkable(result.code)
          ? this.park(result.code, result.message)
          : { end: 'turned_down', refusal: result };
      case 'previewed':
        return { end: 'closed' };
      case 'stopped':
        // The same worker may answer at once while it shuts down: leave another the time to take the task.
        return moved ? null : this.pause('driving', 'settling', null, 200);
      case 'parked':
        return this.park(result.reason, result.message);
      case 'waiting':
        return this.pause('waiting', 'settling', result.message ?? null, result.ms, (ms) =>
          this.waited.credit(result.pending, ms),
        );
      case 'elsewhere':
        return { end: 'permitted' };
      case 'fenced':
        return this.follow();
    }
  }

  private async afterFailure(): Promise<LoopEnd | null> {
    this.epoch = null;
    this.chain.mayHaveBegun = true;
    this.replayed = false;
    this.failures += 1;
    if (this.failures === 1) return null;
    const tired = this.failures > MOST_FAILURES && !this.cancelling && !this.onlyFollows;
    if (tired && !this.host.waitsForPeople) return { end: 'handed_over' };
    const message = this.outage.goesOn(this.host.waitsForPeople);
    const state = this.cancelling ? 'cancelling' : 'waiting';
    return this.pause(state, 'activity_failed', message, Math.min(500 * 2 ** this.failures, LONGEST_PAUSE_MS));
  }

  private async follow(): Promise<LoopEnd | null> {
    if (this.cancelling || this.followed >= this.patienceMs) {
      if (this.followed >= this.patienceMs) this.patienceMs *= 2;
      this.followed = 0;
      if (this.onlyFollows && !this.cancelling) return { end: 'handed_over' };
      this.reclaim = true;
      this.enter('driving', null, null);
      return this.cancelling ? this.pause('cancelling', null, null, this.nextClaimMs()) : null;
    }
    const message = 'another driver has taken over this run; this workflow follows the journal';
    // Only a driver can keep what people have answered, and the other one, which may be gone, has not heard of it.
    const claims = this.answers.arePending && patched(ANSWERS_TAKE_THE_TURN);
    this.reclaim ||= claims;
    const longest = this.onlyFollows ? LONGEST_WATCH_MS : LONGEST_PAUSE_MS / 2;
    const ms = claims ? this.nextClaimMs() : Math.min(Math.max(1_000, this.followed), longest);
    const end = await this.pause('following', 'another_driver', message, ms, (waited) => (this.followed += waited));
    if (this.reclaim) this.enter('driving', null, null);
    return end;
  }

  /** Two drivers that both want the turn must not take it from each other for ever: each gives the other twice as long. */
  private nextClaimMs(): number {
    const ms = this.claimPauseMs;
    this.claimPauseMs = Math.min(2 * ms, FOLLOW_PATIENCE_MS);
    return ms;
  }

  private async park(reason: NonNullable<PlanStatus['reason']>, message: string): Promise<LoopEnd | null> {
    const committed = this.chain.effects().filter((effect) => effect.state === 'committed').length;
    this.parking.begin(reason, committed, this.host.waitsForPeople);
    this.enter('parked', reason, message);
    if (!this.host.waitsForPeople) return { end: 'handed_over' };
    this.remember();
    const over = (): boolean => this.woken || this.wantsRenewal();
    const ms = this.nextLookMs(reason);
    await CancellationScope.nonCancellable(async () => {
      if (ms === null) await condition(over);
      else await condition(over, ms);
    });
    this.parking.left();
    return this.rested('driving');
  }

  /** A deadline of an approval ends a rest, and so does the hope that the reviewers' keys can be had again; nothing else does. */
  private nextLookMs(reason: PlanStatus['reason']): number | null {
    return this.parking.nextLookMs(reason) ?? this.answers.question?.deadlineMs ?? null;
  }

  /** Waits on a durable timer, unless somebody speaks before it is over. `elapsed` is told what has passed. */
  private async pause(
    state: PlanState,
    reason: PlanStatus['reason'],
    message: string | null,
    ms: number,
    elapsed?: (ms: number) => void,
  ): Promise<LoopEnd | null> {
    this.enter(state, reason, message, Date.now() + ms);
    // A list of plans must not go on to show one as parked that is not; what is driven at this moment has an activity to show.
    if (this.outage.changesMemo(reason) || (this.memo !== null && this.memo !== state)) this.remember();
    const passed = await sleepUnless(() => this.woken, ms);
    elapsed?.(passed);
    return this.rested(state);
  }

  private rested(next: PlanState): LoopEnd | null {
    if (!this.woken && this.wantsRenewal()) return { end: 'renew' };
    this.woken = false;
    if (next !== 'following') this.enter('driving', null, null);
    return null;
  }

  private enter(state: PlanState, reason: PlanStatus['reason'], message: string | null, resumesAt?: number): void {
    this.state = state;
    this.reason = reason;
    this.message = message;
    this.resumesAt = resumesAt ?? null;
    this.host.tell(this.status());
  }
}
