/**
 * The rounds of one `drive`: observe, decide, append, send, and again until the plan is done or has to wait. Invariant: every
 * checkpoint is appended before anything is done on its strength, and a send happens only on the strength of a `resume`.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import type { GovernedPlan } from '../rules/plans/plan';
import type { Decision } from '../rules/receipts/decision';
import { openingWitness } from '../rules/receipts/lineage-record';
import { questionToRecord } from '../rules/receipts/question';
import { Refusal } from '../rules/refusal';
import type { Ground } from '../rules/sends/ground';
import { decideOn, witnessFromRecord, type Witness, type WitnessStep } from '../rules/sends/witness';
import { isEndedBehind, type Adopted } from './adopt';
import { ask, doubtfulIn } from './ask';
import type { DriveRequest, DriveStatus, ParkReason, ReceiptAnswer } from './contract';
import type { Caller, Engine } from './engine';
import type { Owed } from './entries';
import { Ledger, type Added } from './ledger';
import type { Target } from './look-up';
import { observationsOf, observeAll, type Known } from './observe';
import { Permission, type Standing } from './permission';
import { receive } from './receive';
import { notSentStatus, refusalIn, reviewMessage, reviewReason, sameQuestion, waitStatus } from './rest';
import { retryPauseMs } from './send';
import type { BatchEnd } from './send-batch';
import { Sending, type Round } from './sending';
import { closeSlots, type Held } from './takeover';
import { tellFound } from './telemetry';

/** Where a drive stands when its rounds begin. */
export interface Place {
  readonly plan: GovernedPlan;
  readonly journalId: string;
  readonly targets: readonly Target[];
  readonly held: Held;
  readonly head: RecoveryCheckpoint;
  /** What makes it so, where that is still to be written. */
  readonly owed: readonly Owed[];
  readonly adopted: Adopted;
}

export class Rounds {
  readonly ledger: Ledger;
  /** What became of the receipts that came with the request. */
  answers: readonly ReceiptAnswer[] = [];
  private readonly sending: Sending;
  private permission: Permission;
  /** Nothing is sent any more: every slot that somebody could still take is closed. */
  private ending = false;

  constructor(
    private readonly engine: Engine,
    private readonly caller: Caller,
    private readonly request: DriveRequest,
    private readonly place: Place,
  ) {
    this.sending = new Sending(engine, caller, place, () => this.now());
    this.ledger = new Ledger(engine, place.held, place.adopted.lineage, place.head, place.owed);
    const { approval_waited: waited = 0, approval_waited_in: lineage = request.lineage } = request;
    this.permission = this.permissionHere(lineage === this.ledger.lineage ? waited : 0);
  }

  async run(): Promise<DriveStatus> {
    try {
      const status = await this.drive();
      await this.ledger.settle();
      return status;
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      // Whoever hears of it will look for this head.
      await this.ledger.settle();
      if (fault.code !== 'reviewers_unavailable') throw fault;
      return { status: 'parked', reason: fault.code, message: fault.message, question: null };
    }
  }

  private async drive(): Promise<DriveStatus> {
    if (this.place.adopted.unwritten !== null) await this.openNext(this.place.adopted.unwritten);
    if (!this.unheard) await this.ledger.settle();
    const turned = await this.hear();
    if (turned !== null) return turned;
    const standing = await this.standing();
    if (standing.standing === 'denied') return this.end('denied', standing.ground);
    if (this.ledger.head.phase === 'planned') {
      if (standing.standing === 'wanting') return this.park(standing.reason, standing.message);
      if (standing.met !== null && !(await this.approve(standing.met))) return { status: 'stopped' };
    }
    if (!this.engine.registry.sends(this.place.plan)) {
      await this.ledger.settle();
      return { status: 'elsewhere' };
    }
    for (;;) {
      const known = await this.observe();
      const waiting = waitStatus(known);
      if (waiting !== null) return waiting;
      const refusal = refusalIn(known);
      if (refusal !== null) return this.stopAs('refused', known, { refusal });
      const forbidden = await this.forbidden(known);
      if (forbidden !== null) return forbidden;
      const again = await sameQuestion(this.ledger.head, known, this.now(), () => this.lastWitness());
      if (again !== null) return this.park(reviewReason(again), reviewMessage(again));
      const round = { known, lineage: this.ledger.lineage, permission: this.permission };
      const added = await this.append('advance', known, {}, round);
      const decision = added?.decision ?? null;
      if (added === null || decision === null) return { status: 'stopped' };
      if (decision.disposition === 'review_required') {
        return this.park(reviewReason(decision), reviewMessage(decision));
      }
      if (this.ledger.head.phase === 'completed') return { status: 'done' };
      if (decision.disposition === 'complete') continue;
      const status = await this.after(await this.sending.send(round, added));
      if (status !== null) return status;
    }
  }

  private get cancelled(): boolean {
    return this.request.intent === 'cancel' || this.place.adopted.overtaken;
  }

  /** A run that begins here has heard nobody yet. */
  private get unheard(): boolean {
    const { request, permission, place, cancelled } = this;
    const silent = (request.receipts ?? []).length === 0 && permission.rules.length === 0 && !cancelled;
    return silent && place.held.turn === 'first';
  }

  /** What people have said since, and whatever follows from it at once; null to go on. */
  private async hear(): Promise<DriveStatus | null> {
    if (this.unheard) return null;
    const { request, permission, cancelled } = this;
    const tokens = request.receipts ?? [];
    if (tokens.length > 0) await this.take(tokens, cancelled);
    const turning = await permission.turning(this.ledger.head);
    const resolution = turning?.claims.resolution;
    if (turning !== null && resolution === 'abort') {
      return this.end('cancelled', { kind: 'resolution', receipt: turning.digest });
    }
    if (cancelled) return this.end('cancelled');
    if (turning !== null && resolution === 'new_lineage') return this.reopen(turning);
    return null;
  }

  private async take(tokens: readonly string[], cancelled: boolean): Promise<void> {
    const { engine, permission, place, ledger } = this;
    try {
      const doubtful = doubtfulIn(ledger.head, await this.witness());
      const position = { head: ledger.head, standing: await this.standing(), doubtful };
      this.answers = await receive(engine, permission, place.held, position, tokens, () => this.now());
    } catch (fault) {
      // What is to end does not wait for the keys by which somebody could be heard.
      if (!cancelled || !(fault instanceof Refusal) || fault.code !== 'reviewers_unavailable') throw fault;
    }
  }

  /** As of when it was judged: whoever judges it again comes to the same. False when another driver came in between. */
  private async approve({ ground, at: now }: { readonly ground: Ground; readonly at: number }): Promise<boolean> {
    const draft = { step: 'approved', now, observations: [], refusal: null, ground } as const;
    return (await this.ledger.add(draft)) !== null;
  }

  /** Leaves this head for the next lineage, which begins with what is committed. Null: go on there. */
  private async reopen({ digest: receipt }: Decision): Promise<DriveStatus | null> {
    const { lineage, head } = this.ledger;
    const from = { lineage, sequence: Number(head.sequence), digest: head.checkpointDigest };
    const { owner } = this.place.held;
    const record = { lineage: lineage + 1, owner, from, receipt, openedAt: this.now() };
    if (!(await this.ledger.mayWrite()) || (await this.permission.files.openLineage(record)) === 'conflict') {
      this.ledger.lost = true;
      return { status: 'stopped' };
    }
    await this.openNext(openingWitness(head, record));
    const left = await this.engine.journal.chain(head.runId, lineage);
    return isEndedBehind(left, record) ? this.end('cancelled') : null;
  }

  private async openNext(witness: Witness): Promise<void> {
    await this.ledger.open(witness);
    this.permission = this.permissionHere(0);
  }

  /** What a batch's end means for the plan; null to observe again. */
  private async after(end: BatchEnd): Promise<DriveStatus | null> {
    switch (end.ended) {
      case 'all_sent':
        this.ledger.owe(end.owed);
        return null;
      case 'refused':
        return null;
      case 'fenced':
        this.ledger.lost = await this.engine.journal.isLatestEpoch(this.place.plan.runId, this.place.held.epoch);
        return this.ledger.lost ? { status: 'stopped' } : { status: 'fenced' };
      case 'stopped':
        // Where it was for want of permission, what was sent before is looked at first.
        return (await this.standing()).standing === 'permitted' ? { status: 'stopped' } : null;
      case 'not_sent':
        return notSentStatus(end);
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

  /** Every slot is closed, so what is still unknown is waited for, and then recorded as unknown. */
  private async end(step: WitnessStep, ground?: Ground): Promise<DriveStatus> {
    const { engine, request } = this;
    const { plan, held } = this.place;
    const { lineage, head } = this.ledger;
    this.ending = true;
    if (request.intent !== 'cancel') await closeSlots(engine, plan.runId, held, head, lineage);
    const known = await this.observe();
    return waitStatus(known) ?? this.stopAs(step, known, ground === undefined ? {} : { ground });
  }

  private async stopAs(
    step: WitnessStep,
    known: readonly Known[],
    why: Pick<Partial<Witness>, 'refusal' | 'ground'>,
  ): Promise<DriveStatus> {
    const added = await this.append(step, known, why);
    return added === null ? { status: 'stopped' } : { status: 'done' };
  }

  /** What is not found as it was after its send is judged by what became of that send, too. */
  private async observe(): Promise<readonly Known[]> {
    const known = await this.look();
    if (!this.ledger.owesEnd || known.every(({ verdict }) => verdict.state === 'committed')) return known;
    await this.ledger.settle();
    return this.look();
  }

  private look(): Promise<readonly Known[]> {
    const { engine, caller, request, permission, ending } = this;
    const { plan, held, targets } = this.place;
    const { head } = this.ledger;
    const { waited, intent } = request;
    const how = { waited, intent: ending ? ('cancel' as const) : intent };
    return observeAll(engine, caller, plan.runId, held, head, targets, how, permission);
  }

  /** Null when another driver put another checkpoint there: nothing was decided. With `round`, what follows from it is to be sent. */
  private async append(
    step: WitnessStep,
    known: readonly Known[],
    { refusal = null, ground }: Pick<Partial<Witness>, 'refusal' | 'ground'> = {},
    round: Round | null = null,
  ): Promise<Added | null> {
    const observations = observationsOf(known);
    const draft = { step, now: this.now(), observations, refusal, ...(ground === undefined ? {} : { ground }) };
    const before = this.ledger.head;
    const added = await this.ledger.add(draft, async (next) =>
      round === null ? null : this.sending.slotFor(round, next),
    );
    if (added !== null) tellFound(this.engine, this.place.held.owner, before, known);
    return added;
  }

  /** Something is to be sent, and may not be. What is newly seen to be there is recorded all the same. */
  private async forbidden(known: readonly Known[]): Promise<DriveStatus | null> {
    if (this.permission.rules.length === 0) return null;
    const { head } = this.ledger;
    const observations = observationsOf(known);
    if (decideOn(head, { observations, now: this.now() }).disposition !== 'resume') return null;
    const standing = await this.standing();
    if (standing.standing === 'permitted') return null;
    if (standing.standing === 'denied') return this.end('denied', standing.ground);
    const news = observations.some(
      ({ state }, ordinal) => state === 'committed' && head.effects[ordinal]?.state === 'pending',
    );
    if (news && (await this.append('advance', known)) === null) return { status: 'stopped' };
    return this.park(standing.reason, standing.message, standing);
  }

  private standing(): Promise<Standing> {
    return this.permission.standing(this.ledger.head);
  }

  /** Parks with a question to everybody who could answer it. */
  private async park(reason: ParkReason, message: string, known?: Standing): Promise<DriveStatus> {
    const parked = { status: 'parked', reason, message } as const;
    if (this.engine.reviewers === null) return parked;
    const { permission } = this;
    const { head } = this.ledger;
    const keys = await permission.keys();
    const standing = known ?? (await this.standing());
    const doubtful = doubtfulIn(head, await this.lastWitness());
    const question = await ask(permission, { head, standing, doubtful }, keys);
    return { ...parked, question: questionToRecord(question) };
  }

  private async lastWitness(): Promise<Witness | null> {
    return this.ledger.steps.at(-1) ?? (await this.witness());
  }

  /** The witness of the head that this drive began with. */
  private async witness(): Promise<Witness | null> {
    const { head, previous, steps } = this.place.adopted;
    const last = steps.at(-1);
    if (last !== undefined) return witnessFromRecord(last);
    if (head === undefined || previous === undefined) return null;
    return this.engine.journal.justification(head.runId, previous, head);
  }

  private permissionHere(claimedMs: number): Permission {
    const { plan, targets, journalId, held } = this.place;
    const waitedMs = Math.min(claimedMs, Math.max(0, this.caller.scheduledAt - held.begunAt));
    const now = (): number => this.now();
    return new Permission(this.engine, plan, targets, journalId, this.ledger.lineage, waitedMs, now);
  }

  /** Never earlier than the server scheduled this execution, so a slow clock here cannot stretch an expiry. */
  private now(): number {
    return Math.max(this.engine.now(), this.caller.scheduledAt);
  }
}
