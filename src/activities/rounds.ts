/**
 * The rounds of one `drive`: observe, decide, append, send, and again until the plan is done or has to wait. Invariant: every
 * checkpoint is appended before anything is done on its strength, and a send happens only on the strength of a `resume`.
 */
import type { RecoveryCheckpoint, RecoveryDecision } from '../rules/recovery';
import type { GovernedPlan } from '../rules/plans/plan';
import { deriveNext, type ProvenObservation, type Witness, type WitnessStep } from '../rules/sends/witness';
import type { DriveRequest, DriveStatus, ParkReason } from './contract';
import type { Caller, Engine } from './engine';
import type { Target } from './look-up';
import { observeAll, proven, type Known } from './observe';
import { sendBatch, type BatchEnd } from './send-batch';
import { retryPauseMs } from './send';
import type { Held } from './takeover';

/** A drive comes back by itself after this long, so that its history stays fresh and its time-outs can be short. */
const LONGEST_DRIVE_MS = 10 * 60_000;

export class Rounds {
  /** The witnesses of the checkpoints that this execution appended. */
  readonly steps: Witness[] = [];
  /** Another driver came in between: the epoch must be taken anew. */
  lost = false;
  private readonly started: number;

  constructor(
    private readonly engine: Engine,
    private readonly caller: Caller,
    private readonly plan: GovernedPlan,
    private readonly request: DriveRequest,
    private readonly held: Held,
    private readonly targets: readonly Target[],
    /** The head that this execution has come to. */
    public head: RecoveryCheckpoint,
  ) {
    this.started = engine.monotonic();
  }

  async run(): Promise<DriveStatus> {
    if (this.request.intent === 'cancel') return this.cancel();
    if (this.approvalMissing()) return park('approval_missing', 'the plan, or this worker’s policy, wants an approval');
    for (;;) {
      const known = await this.observe();
      const waiting = waitStatus(known);
      if (waiting !== null) return waiting;
      const refusal = refusalIn(known);
      if (refusal !== null) return this.stopAs('refused', known, refusal);
      const decision = await this.append('advance', known);
      if (decision === null) return { status: 'stopped' };
      if (decision.disposition === 'review_required') return park(reviewReason(decision), reviewMessage(decision));
      if (this.head.phase === 'completed') return { status: 'done' };
      if (decision.disposition === 'complete') continue;
      const status = await this.after(await this.send(known, decision));
      if (status !== null) return status;
    }
  }

  /** What a batch's end means for the plan; null to observe again. */
  private async after(end: BatchEnd): Promise<DriveStatus | null> {
    switch (end.ended) {
      case 'all_sent':
      case 'refused':
        return null;
      case 'fenced':
        this.lost = await this.engine.journal.isLatestEpoch(this.plan.runId, this.held.epoch);
        return this.lost ? { status: 'stopped' } : { status: 'fenced' };
      case 'stopped':
        return { status: 'stopped' };
      case 'not_sent':
        return {
          status: 'waiting',
          ms: retryPauseMs(end.known.slots, end.retryAfterMs),
          // Asked for by the sink, so not counted against its time to come to an answer.
          pending: [],
        };
      case 'unknown':
        return this.afterUnknown();
    }
  }

  /** An unknown outcome is looked at once more; where sending again would be safe, it still waits its turn. */
  private async afterUnknown(): Promise<DriveStatus | null> {
    const known = await this.observe();
    const waiting = waitStatus(known);
    if (waiting !== null) return waiting;
    const again = known.find(({ verdict }) => verdict.state === 'absent' && verdict.proof === 'resend_safe');
    if (again === undefined) return null;
    return {
      status: 'waiting',
      ms: retryPauseMs(again.slots, null),
      pending: [[again.target.ordinal, again.slots.length]],
    };
  }

  /** Every slot is closed by now, so what is still unknown is waited for, and then recorded as unknown. */
  private async cancel(): Promise<DriveStatus> {
    const known = await this.observe();
    return waitStatus(known) ?? this.stopAs('cancelled', known);
  }

  private async stopAs(
    step: WitnessStep,
    known: readonly Known[],
    refusal: Witness['refusal'] = null,
  ): Promise<DriveStatus> {
    const decision = await this.append(step, known, refusal);
    return decision === null ? { status: 'stopped' } : { status: 'done' };
  }

  private observe(): Promise<readonly Known[]> {
    const { engine, caller, plan, held, head, targets, request } = this;
    return observeAll(engine, caller, plan.runId, held, head, targets, request);
  }

  /** Null when another driver put another checkpoint there: nothing was decided. */
  private async append(
    step: WitnessStep,
    known: readonly Known[],
    refusal: Witness['refusal'] = null,
  ): Promise<RecoveryDecision | null> {
    const draft = { step, now: this.now(), observations: known.map(proven) as ProvenObservation[], refusal };
    const { checkpoint, decision } = deriveNext(this.head, draft);
    const witness = { ...draft, checkpointDigest: checkpoint.checkpointDigest };
    await this.engine.at?.('before_append');
    const latest = await this.engine.journal.isLatestEpoch(this.plan.runId, this.held.epoch);
    const outcome = latest
      ? await this.engine.journal.append(this.plan.runId, this.request.lineage, this.head, checkpoint, witness)
      : 'conflict';
    if (outcome === 'conflict') {
      this.lost = true;
      return null;
    }
    await this.engine.at?.('after_append');
    this.steps.push(witness);
    this.head = checkpoint;
    return decision;
  }

  private async send(known: readonly Known[], decision: RecoveryDecision): Promise<BatchEnd> {
    const retry = new Set(decision.retryEffectIds);
    const { engine, plan, held, head } = this;
    const at = { lineage: this.request.lineage, sequence: Number(head.sequence), digest: head.checkpointDigest };
    const turn = { runId: plan.runId, epoch: held.epoch, owner: held.owner, head: at };
    const due = known.filter(({ target }) => retry.has(target.item.actionId));
    const mustStop = (): boolean =>
      this.caller.stopping() || engine.monotonic() - this.started > LONGEST_DRIVE_MS || this.approvalExpired();
    return sendBatch(engine, turn, plan.order, due, mustStop);
  }

  private approvalMissing(): boolean {
    if (this.head.approvalReceiptDigest !== null) return false;
    const { policy } = this.engine;
    return this.targets.some(({ item, definition, ordinal }) => {
      const asked = this.plan.effects[ordinal]?.approvalRequired === true || definition.approvalRequired === true;
      return asked || policy?.approvalRequired(item.toolId, item.operation) === true;
    });
  }

  private approvalExpired(): boolean {
    const { approvalExpiresAt } = this.head;
    return approvalExpiresAt !== null && approvalExpiresAt <= BigInt(this.now());
  }

  /** Never earlier than the server scheduled this execution, so a slow clock here cannot stretch an expiry. */
  private now(): number {
    return Math.max(this.engine.now(), this.caller.scheduledAt);
  }
}

/** A refusal ends the plan, also when its sender did not live to say so: the end record does. */
function refusalIn(known: readonly Known[]): Witness['refusal'] {
  for (const { target, slots, verdict } of known) {
    const code = slots.find((slot) => slot.end?.outcome === 'refused')?.end?.code;
    if (typeof code === 'string' && verdict.state === 'absent') return { ordinal: target.ordinal, code };
  }
  return null;
}

/** The soonest wait of all; each waited-for attempt is credited with it. */
function waitStatus(known: readonly Known[]): DriveStatus | null {
  const waits = known.flatMap(({ target, verdict }) => (verdict.state === 'wait' ? [{ target, verdict }] : []));
  if (waits.length === 0) return null;
  return {
    status: 'waiting',
    ms: Math.min(...waits.map(({ verdict }) => verdict.waitMs)),
    pending: waits.flatMap(({ target, verdict }) =>
      verdict.attempts.map((attempt) => [target.ordinal, attempt] as const),
    ),
  };
}

function park(reason: ParkReason, message: string): DriveStatus {
  return { status: 'parked', reason, message };
}

function reviewReason(decision: RecoveryDecision): ParkReason {
  switch (decision.reason) {
    case 'effect_mismatch':
    case 'approval_missing':
    case 'approval_expired':
      return decision.reason;
    default:
      return 'ambiguous_effect';
  }
}

function reviewMessage(decision: RecoveryDecision): string {
  return `${reviewReason(decision)}: nothing is sent until a person has looked at the sink and decided`;
}
