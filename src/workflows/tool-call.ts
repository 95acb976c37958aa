/**
 * One tool call inside its session, from its plan to its outcome. Invariant: nothing is sent before everybody who is asked has said yes;
 * what became of it is read from its own chain; once the session is cancelled nothing of it is begun any more.
 */
import { ApplicationFailure, CancellationScope, condition, isCancellation, log, sleep } from '@temporalio/workflow';
import type { DriveResult } from '../activities/contract';
import type { PreparedCall, TermsRecord } from '../activities/session-contract';
import { callPlace, toolTaskQueue } from '../rules/invocations/names';
import {
  GIVE_UP_CODES,
  TRIGGERS,
  type GiveUpCode,
  type SessionFailure,
  type Trigger,
  type UnknownCode,
} from '../rules/invocations/vocabulary';
import { carrierWorkflowId } from '../rules/plans/identity';
import { Refusal } from '../rules/refusal';
import { CallApproval } from './call-approval';
import { LONGEST_PAUSE_MS, answeredAt, carriedOn } from './call-carrier';
import { DRIVE_SLACK_MS, driveOnce } from './call-drive';
import { CallMoves, type Say, type Sent } from './call-moves';
import { ChainKeeper } from './chain-keeper';
import { DriveLoop, type LoopEnd } from './drive-loop';
import type { CallReport } from './queue-messages';
import type { CallStatus } from './session-messages';
import { guestOf } from './story';

/** By so much later than its wait ends, a call that no worker took has been reported. */
const ASK_AGAIN_MS = 10_000;
/** A worker of the tool that is there takes what is to be closed at once. */
const TAKE_MS = 3_000;

/** What a call needs of its session. */
export interface CallHost {
  readonly journalId: () => string | null;
  readonly say: Say;
  /** Where the call goes that is to wait in its tool's queue. */
  enqueue(call: ToolCall): Promise<void>;
  withdraw(call: ToolCall): Promise<void>;
  /** Why no worker took a call that had no queue of ours. */
  untaken(call: ToolCall): Promise<GiveUpCode>;
  /** What people said of a call ends the session. */
  fail(failure: SessionFailure): void;
}

/** `over`: its outcome is known. `people`: that takes time, or a person. `unsent`: nothing of it was begun, somebody says. */
type Next = 'over' | 'people' | { readonly unsent: GiveUpCode };

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
  /** Why nobody knows what became of it. */
  private doubt: UnknownCode | null = null;
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
      const stands = TRIGGERS.find((trigger) => trigger === next.unsent);
      const asked = stands === undefined ? null : await this.asking().termsAt(stands);
      if (stands === undefined || asked === null) return await this.unsent(next.unsent);
      if (!(await this.permitted(stands, asked))) return;
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
    const { prepared, chain, host } = this;
    const { call_id: callId, args_digest: argsDigest } = prepared;
    return (this.approval ??= new CallApproval({
      ...{ session: callPlace(callId).session, about: { callId, argsDigest, limit: null } },
      ...{ chain, journalId: host.journalId, say: host.say },
      demand: prepared.status === 'planned' ? prepared.demand : 0,
    }));
  }

  private answered(): Promise<'permitted' | 'closed'> {
    this.review = carrierWorkflowId(this.chain.plan.runId);
    return answeredAt(this.chain, () => this.newKeeper() ?? this.chain);
  }

  /** Without a queue of ours: Temporal's own task queue, and the time that it may take to start. */
  private async first(): Promise<Next> {
    const at = Date.now();
    this.moves.queue();
    const result = await driveOnce(this.chain, this.prepared);
    if (this.cancelled && (result === 'not_taken' || result === 'lost')) return 'over';
    if (result === 'not_taken') return { unsent: await this.host.untaken(this) };
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
    // A queue that was lost says nothing; asked again, it says it again. One that has the call needs ever less asking.
    const longest = waitMs + executionMs + 2 * DRIVE_SLACK_MS;
    let patience = Math.min(waitMs + ASK_AGAIN_MS, longest);
    await this.host.enqueue(this);
    while (!(await condition(heard, patience))) {
      patience = Math.min(2 * patience, longest);
      await this.host.enqueue(this);
    }
    const { status, code, worker_identity: worker, dispatched_at, result } = this.report as unknown as CallReport;
    const sent = { worker, at: dispatched_at ?? Date.now() };
    if (status === 'failed') return { unsent: giveUpCodeOf(code) };
    return this.hear(result ?? (status === 'unknown' ? 'lost' : 'untold'), sent);
  }

  /** What the first execution answered: the end, or something that takes time or a person. */
  private hear(result: DriveResult | 'lost' | 'untold', sent: Sent): Next {
    if (result === 'untold') return 'people';
    if (result === 'lost') return this.doubted('dispatch:lease_expired', sent);
    if (result.status === 'refused') {
      return result.head === null ? { unsent: result.code } : this.doubted('dispatch:indeterminate', sent);
    }
    if (!this.accepts(result)) return 'people';
    const had: Sent = { ...sent, begun: result.begun ?? [], byWord: this.chain.sentByWord };
    if (result.status === 'done') {
      this.moves.conclude(this.chain, result.results ?? [], had, this.cancelled ? 'session:cancelled' : null);
      return 'over';
    }
    if (result.status === 'parked' && result.reason === 'approval_missing') this.moves.ask();
    // A look-up that is still waited for may yet tell; what may be sent twice goes on by itself.
    else if (result.status === 'parked') return this.doubted('dispatch:indeterminate', had);
    else if (result.status === 'waiting') return this.doubted('dispatch:lease_expired', had);
    return 'people';
  }

  /** Somebody may have done it: it is looked for, sent again where that is safe, or asked of a person. */
  private doubted(code: UnknownCode, sent: Sent): 'people' {
    this.doubt = code;
    this.chain.mayHaveBegun = true;
    this.moves.sent(sent);
    this.moves.lost(code);
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
    if (this.doubt !== null) await this.asking().reviewed(this.doubt);
    this.review = carrierWorkflowId(this.chain.plan.runId);
    for (let pauseMs = 1_000; !this.isOver; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const end = await carriedOn(this.chain, toolTaskQueue(this.prepared));
      if (end instanceof ApplicationFailure && this.doubt === null) return this.moves.giveUp(giveUpCodeOf(end.type));
      if (end !== 'child') await sleep(pauseMs);
      await this.followed();
    }
  }

  /** What the journal says, read by the session's own workers. */
  private async followed(): Promise<void> {
    const loop = new DriveLoop(this.chain, undefined, undefined, guestOf(this.prepared.tool));
    loop.onlyFollows = true;
    this.following = loop;
    const end = await CancellationScope.nonCancellable(() => loop.run());
    this.following = null;
    if (end.end !== 'closed') return;
    // Whom it asked, nobody here knows; what they said, the journal does.
    if (this.moves.invocation?.status === 'awaiting_approval') await this.asking().hear();
    this.conclude(loop);
  }

  /**
   * Nobody had it, says a queue, which may have lost who had. It is believed once nobody can have it any more; where the journal knows of
   * somebody, that is carried on.
   */
  private async unsent(code: GiveUpCode): Promise<void> {
    if (await CancellationScope.nonCancellable(() => this.mayHaveBegun())) return this.byPeople();
    await CancellationScope.nonCancellable(() => this.closed(code, false));
    // Begun between the look and the end, by a worker that is gone: there is nobody left who could say it, so nobody guesses.
    if (this.isReviewed) await condition(() => this.cancelled);
  }

  private async mayHaveBegun(): Promise<boolean> {
    const look = new DriveLoop(this.newKeeper() ?? this.chain, undefined);
    const seen = await look.drive('preview');
    return seen?.status !== 'previewed' || seen.effects.some(({ proof }) => proof !== 'never_begun');
  }

  /** Nothing of the call may be begun from here on, whoever still holds a task for it. */
  private async closed(unsent: GiveUpCode, begun?: boolean): Promise<void> {
    if (this.moves.invocation?.status === 'queued' && this.request > 0) await this.host.withdraw(this);
    // Only workers of the tool can look for what was begun; where none is there, those of the session close it all the same.
    const tools = (begun ?? (await this.mayHaveBegun())) ? await this.closing(toolTaskQueue(this.prepared)) : null;
    const [loop, { end }] = tools !== null && tools[1].end !== 'handed_over' ? tools : await this.closing(undefined);
    if (end === 'closed') return this.conclude(loop, unsent);
    if (end === 'turned_down') return this.moves.giveUp(unsent);
    this.moves.sent({ worker: null, at: Date.now() });
    this.moves.lost('dispatch:indeterminate');
  }

  private async closing(taskQueue: string | undefined): Promise<readonly [DriveLoop, LoopEnd]> {
    const loop = new DriveLoop(this.newKeeper() ?? this.chain, taskQueue, undefined, guestOf(this.prepared.tool));
    if (taskQueue !== undefined) loop.startsWithinMs = TAKE_MS;
    loop.cancel();
    return [loop, await loop.run()];
  }

  private conclude({ chain, results, begun }: DriveLoop, unsent: GiveUpCode | null = null): void {
    const sent: Sent = { worker: null, at: Date.now(), begun, byWord: chain.sentByWord };
    this.moves.conclude(chain, results, sent, unsent);
  }

  private newKeeper(): ChainKeeper | null {
    const { prepared, host } = this;
    if (prepared.status !== 'planned') return null;
    const keeper = new ChainKeeper(prepared.plan, null, host.journalId(), prepared.call_id);
    if (prepared.descriptor_hash !== null) keeper.allow = { descriptor_hashes: [prepared.descriptor_hash] };
    return keeper;
  }
}

/** A word of somebody else's is one of ours, or it is not believed to say more than that. */
function giveUpCodeOf(code: string | null | undefined): GiveUpCode {
  return GIVE_UP_CODES.find((known) => known === code) ?? 'dispatch:withdrawn';
}
