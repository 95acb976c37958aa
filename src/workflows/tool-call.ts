/**
 * One tool call inside its session, from its plan to its outcome. Invariant: nothing is sent before everybody who is asked has said yes;
 * what became of it is read from its own chain; once the session is cancelled nothing of it is begun any more.
 */
import { ApplicationFailure, CancellationScope, condition, isCancellation, log, sleep } from '@temporalio/workflow';
import type { DriveResult } from '../activities/contract';
import type { PreparedCall, TermsRecord } from '../activities/session-contract';
import { toolTaskQueue } from '../rules/invocations/names';
import { TRIGGERS, type SessionFailure, type Trigger, type UnsentCode } from '../rules/invocations/vocabulary';
import { carrierWorkflowId } from '../rules/plans/identity';
import { Refusal } from '../rules/refusal';
import { CallApproval } from './call-approval';
import { DRIVE_SLACK_MS, driveOnce } from './call-drive';
import { CallMoves, type Say, type Sent } from './call-moves';
import { carriedByChild, type CarriedBy } from './carrier-child';
import { ChainKeeper } from './chain-keeper';
import { DriveLoop } from './drive-loop';
import type { CallReport } from './queue-messages';
import type { CallStatus } from './session-messages';
import { guestOf } from './story';

const LONGEST_PAUSE_MS = 10 * 60_000;

/** What a call needs of its session. */
export interface CallHost {
  readonly journalId: () => string | null;
  readonly say: Say;
  /** Where the call goes that is to wait in its tool's queue. */
  enqueue(call: ToolCall): Promise<void>;
  withdraw(call: ToolCall): Promise<void>;
  /** What people said of a call ends the session. */
  fail(failure: SessionFailure): void;
}

/** `over`: its outcome is known. `people`: that takes time, or a person. */
type Next = 'over' | 'people' | { readonly stands: Trigger };

export class ToolCall {
  /** The last word of the queue. */
  report: CallReport | null = null;
  /** Times that it was handed to its queue. */
  request = 0;
  private readonly moves: CallMoves;
  private readonly scope = new CancellationScope();
  private keeper: ChainKeeper | null;
  private approval: CallApproval | null = null;
  private review: string | null = null;
  private cancelled = false;
  private following: DriveLoop | null = null;

  constructor(
    readonly prepared: PreparedCall,
    private readonly host: CallHost,
  ) {
    this.moves = new CallMoves(prepared, host.say);
    this.keeper = this.newKeeper();
  }

  get callId(): string {
    return this.prepared.call_id;
  }

  get chain(): ChainKeeper {
    if (this.keeper === null) throw new Error('this call has no plan');
    return this.keeper;
  }

  get isOver(): boolean {
    return this.moves.isOver;
  }

  get waitsForPeople(): boolean {
    return this.moves.waitsForPeople;
  }

  status(): CallStatus {
    const { call_id, tool, version } = this.prepared;
    const { keeper } = this;
    const { invocation } = this.moves;
    return {
      ...{ call_id, tool, version, run_id: keeper?.plan.runId ?? '' },
      status: invocation?.status ?? 'pending',
      attempt: invocation?.attempt ?? 0,
      code: invocation?.errorCode ?? null,
      review: this.isOver ? null : this.review,
    };
  }

  /** Begins nothing more; `run` goes on until it is known what became of the call. */
  cancel(): void {
    this.cancelled = true;
    this.scope.cancel();
    this.following?.cancel();
  }

  async run(): Promise<void> {
    const { prepared, moves } = this;
    moves.request();
    if (prepared.status === 'refused') return moves.giveUp(prepared.code);
    try {
      if (!this.cancelled) await this.scope.run(() => this.carried(prepared.terms));
    } catch (fault) {
      if (!isCancellation(fault)) throw fault;
    }
    if (!this.isOver && !this.isReviewed)
      await CancellationScope.nonCancellable(() => this.closed('session:cancelled'));
  }

  /** Nobody knows what became of it: that is asked of people with or without the session. */
  private get isReviewed(): boolean {
    return this.moves.invocation?.status === 'indeterminate';
  }

  private async carried(terms: readonly TermsRecord[]): Promise<void> {
    if (terms.length > 0 && !(await this.permitted('policy', terms))) return;
    for (;;) {
      const next = this.prepared.capacity === 'native' ? await this.first() : await this.queued();
      if (next === 'over' || this.cancelled) return;
      if (next === 'people') return await this.byPeople();
      const asked = await this.asking().termsAt(next.stands);
      if (asked === null) return await this.unsent(next.stands as UnsentCode);
      if (!(await this.permitted(next.stands, asked))) return;
    }
  }

  /** Asks people. False when the call will not be sent. */
  private async permitted(reason: 'policy' | Trigger, terms: readonly TermsRecord[]): Promise<boolean> {
    this.moves.ask();
    const asking = this.asking();
    const end = await asking.decided(reason, terms, () => this.answered());
    if (end === 'permitted') {
      // What follows derives the whole chain anew, from the answers of those who send.
      this.keeper = this.newKeeper();
      return true;
    }
    if (asking.endsSession) this.host.fail(end === 'expired' ? 'approval:expired' : 'approval:denied');
    if (end === 'closed') await this.followed();
    else await CancellationScope.nonCancellable(() => this.closed('approval:expired'));
    return false;
  }

  private asking(): CallApproval {
    return (this.approval ??= new CallApproval(this.prepared, this.chain.plan, this.host.journalId, this.host.say));
  }

  /** A workflow of the call's own takes the answers, driven by the session's workers: no tool worker has to be there for that. */
  private async answered(): Promise<'permitted' | 'closed'> {
    this.review = carrierWorkflowId(this.chain.plan.runId);
    for (let pauseMs = 500; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const end = await this.child(undefined);
      if (end === 'permitted') return end;
      if (end === 'child' || end instanceof ApplicationFailure) return 'closed';
      await sleep(pauseMs);
      const seen = await new DriveLoop(this.newKeeper() ?? this.chain, undefined).drive('follow');
      if (seen?.status === 'done') return 'closed';
    }
  }

  /** Without a queue of ours: Temporal's own task queue, and the time that it may take to start. */
  private async first(): Promise<Next> {
    const at = Date.now();
    this.moves.queue();
    const result = await driveOnce(this.chain, this.prepared);
    if (this.cancelled && (result === 'not_taken' || result === 'lost')) return 'over';
    if (result === 'not_taken') return { stands: 'dispatch:capacity_exhausted' };
    if (result === 'lost') return this.hear(result, { worker: null, at });
    return this.hear(result, { worker: result.worker?.identity ?? null, at: result.worker?.took_at ?? at });
  }

  /** In the tool's queue, which sends it and says once what came of that. */
  private async queued(): Promise<Next> {
    const { queue_wait_ms: waitMs, execution_ms: executionMs } = this.prepared;
    this.moves.queue();
    this.report = null;
    this.request += 1;
    const heard = (): boolean => this.report !== null;
    do await this.host.enqueue(this);
    while (
      // A queue that went with its server says nothing; asked again, it says it again.
      !(await condition(heard, waitMs + executionMs + 2 * DRIVE_SLACK_MS))
    );
    const { status, code, worker_identity: worker, dispatched_at, result } = this.report as unknown as CallReport;
    const sent = { worker, at: dispatched_at ?? Date.now() };
    if (status === 'failed') {
      const stands = TRIGGERS.find((trigger) => trigger === code);
      if (stands !== undefined) return { stands };
      if (code === 'dispatch:withdrawn') this.moves.giveUp(code);
      else this.moves.failed(code ?? 'dispatch:failed', sent);
      return 'over';
    }
    return this.hear(result ?? (status === 'unknown' ? 'lost' : 'untold'), sent);
  }

  /** What the first execution answered: the end, or something that takes time or a person. */
  private hear(result: DriveResult | 'lost' | 'untold', sent: Sent): Next {
    if (result === 'untold') return 'people';
    if (result === 'lost') {
      this.moves.sent(sent);
      this.moves.lost('dispatch:lease_expired');
      return 'people';
    }
    if (result.status === 'refused') {
      this.moves.failed(result.code, sent);
      return 'over';
    }
    if (!this.accepts(result)) return 'people';
    if (result.status === 'done') {
      this.moves.conclude(this.chain, result.results ?? [], sent, this.cancelled ? 'session:cancelled' : null);
      return 'over';
    }
    if (result.status === 'parked' && result.reason === 'approval_missing') this.moves.ask();
    else if (result.status === 'parked' || result.status === 'waiting') {
      this.moves.sent(sent);
      // A look-up that is still waited for may yet tell; what may be sent twice goes on by itself.
      this.moves.lost(result.status === 'parked' ? 'dispatch:indeterminate' : 'dispatch:lease_expired');
    }
    return 'people';
  }

  /** A chain that does not follow is shown to people by the workflow that carries the plan. */
  private accepts(result: DriveResult): boolean {
    try {
      this.chain.accept(result);
      return true;
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      log.warn('countersign: the journal does not say what the worker of a call said', { callId: this.callId });
      return false;
    }
  }

  /** A workflow of its own carries the plan on: it asks people, waits for look-ups, and sends what may be sent again. */
  private async byPeople(): Promise<void> {
    this.review = carrierWorkflowId(this.chain.plan.runId);
    for (let pauseMs = 1_000; !this.isOver; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const end = await this.child(toolTaskQueue(this.prepared));
      if (end instanceof ApplicationFailure) {
        return this.moves.failed(end.type ?? 'dispatch:failed', { worker: null, at: Date.now() });
      }
      if (end !== 'child') await sleep(pauseMs);
      await this.followed();
    }
  }

  private async child(taskQueue: string | undefined): Promise<CarriedBy | ApplicationFailure> {
    try {
      return await carriedByChild(this.chain, taskQueue, 'TRY_CANCEL');
    } catch (fault) {
      if (isCancellation(fault)) throw fault;
      // Terminated by somebody: what became of the plan, the journal says; another one carries it on.
      return fault instanceof ApplicationFailure ? fault : 'another';
    }
  }

  /** What the journal says, read by the session's own workers. */
  private async followed(): Promise<void> {
    const loop = new DriveLoop(this.chain, undefined, undefined, guestOf(this.prepared.tool));
    loop.onlyFollows = true;
    this.following = loop;
    const end = await CancellationScope.nonCancellable(() => loop.run());
    this.following = null;
    if (end.end === 'closed') this.conclude(loop);
  }

  /**
   * Nobody had it, says a queue, which may have lost who had. It is believed once nobody can have it any more; where the journal knows of
   * somebody, that is carried on.
   */
  private async unsent(code: UnsentCode): Promise<void> {
    const look = new DriveLoop(this.newKeeper() ?? this.chain, undefined);
    const seen = await CancellationScope.nonCancellable(() => look.drive('preview'));
    if (seen?.status !== 'previewed' || seen.effects.some(({ proof }) => proof !== 'never_begun')) {
      return this.byPeople();
    }
    await CancellationScope.nonCancellable(() => this.closed(code));
    // Begun between the look and the end, by a worker that is gone: there is nobody left who could say it, so nobody guesses.
    if (this.isReviewed) await condition(() => this.cancelled);
  }

  /** Nothing of the call may be begun from here on, whoever still holds a task for it. */
  private async closed(unsent: UnsentCode): Promise<void> {
    if (this.moves.invocation?.status === 'queued' && this.request > 0) await this.host.withdraw(this);
    const loop = new DriveLoop(this.newKeeper() ?? this.chain, undefined, undefined, guestOf(this.prepared.tool));
    loop.cancel();
    const end = await loop.run();
    if (end.end === 'closed') return this.conclude(loop, unsent);
    if (end.end === 'turned_down') return this.moves.giveUp(unsent);
    this.moves.sent({ worker: null, at: Date.now() });
    this.moves.lost('dispatch:indeterminate');
  }

  private conclude({ chain, results }: DriveLoop, unsent: UnsentCode | null = null): void {
    this.moves.conclude(chain, results, { worker: null, at: Date.now() }, unsent);
  }

  private newKeeper(): ChainKeeper | null {
    const { prepared, host } = this;
    return prepared.status === 'planned'
      ? new ChainKeeper(prepared.plan, null, host.journalId(), prepared.call_id)
      : null;
  }
}
