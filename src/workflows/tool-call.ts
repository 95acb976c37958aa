/**
 * One tool call inside its session, from its plan to its outcome. Invariant: every move of it is one that the rules allow, and is said
 * in the session's log; what became of it is read from its own chain; once the session is cancelled nothing of it is begun any more.
 */
import { ApplicationFailure, CancellationScope, condition, isCancellation, log, sleep } from '@temporalio/workflow';
import type { DriveResult, EffectResultRecord } from '../activities/contract';
import type { PreparedCall } from '../activities/session-contract';
import { isResendSafe } from '../rules/invocations/class-table';
import {
  stepInvocation,
  type FinishGround,
  type Invocation,
  type InvocationCommand,
} from '../rules/invocations/invocation';
import type { SessionEvent } from '../rules/invocations/session-event';
import { callRunId, toolTaskQueue } from '../rules/invocations/names';
import { isFinished, type UnsentCode } from '../rules/invocations/vocabulary';
import { carrierWorkflowId } from '../rules/plans/identity';
import { Refusal } from '../rules/refusal';
import { callEvent } from '../rules/sessions/call-events';
import { DRIVE_SLACK_MS, driveOnce } from './call-drive';
import { carriedByChild } from './carrier-child';
import { ChainKeeper } from './chain-keeper';
import { DriveLoop } from './drive-loop';
import type { CallReport } from './queue-messages';
import type { CallStatus } from './session-messages';
import { guestOf } from './story';

const LONGEST_PAUSE_MS = 10 * 60_000;

/** What a call needs of its session. */
export interface CallHost {
  readonly journalId: () => string | null;
  /** Something about the call, for the log; `time` says which time it is of an event that comes several times. */
  say(event: SessionEvent, time?: number): void;
  /** Where the call goes that is to wait in its tool's queue. */
  enqueue(call: ToolCall): Promise<void>;
  withdraw(call: ToolCall): Promise<void>;
}

/** What the drives of a call have come to. */
interface Seen {
  readonly results: readonly EffectResultRecord[];
  readonly worker: string | null;
  readonly dispatchedAt: number;
}

export class ToolCall {
  invocation: Invocation | null = null;
  /** The last word of the queue. */
  report: CallReport | null = null;
  /** Times that it was handed to its queue anew. */
  request = 1;
  private review: string | null = null;
  private cancelled = false;
  /** How often something of a kind was told. */
  private readonly told = new Map<SessionEvent['type'], number>();
  private following: DriveLoop | null = null;
  private readonly scope = new CancellationScope();
  private readonly keeper: ChainKeeper | null;

  constructor(
    readonly prepared: PreparedCall,
    private readonly host: CallHost,
  ) {
    this.keeper =
      prepared.status === 'planned' ? new ChainKeeper(prepared.plan, null, host.journalId(), prepared.call_id) : null;
  }

  get callId(): string {
    return this.prepared.call_id;
  }

  get chain(): ChainKeeper {
    if (this.keeper === null) throw new Error('this call has no plan');
    return this.keeper;
  }

  get isOver(): boolean {
    return this.invocation !== null && isFinished(this.invocation.status);
  }

  /** It stands still until a person says something. */
  get waitsForPeople(): boolean {
    const status = this.invocation?.status;
    return status === 'awaiting_approval' || status === 'indeterminate';
  }

  status(): CallStatus {
    const { call_id, tool, version } = this.prepared;
    const { invocation, keeper } = this;
    return {
      call_id,
      run_id: keeper?.plan.runId ?? '',
      tool,
      version,
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
    const { prepared } = this;
    const { call_id: callId, side_effect: sideEffect, args_digest: argsDigest } = prepared;
    const tool = toolOf(prepared);
    const known = prepared.status === 'planned' || prepared.code !== 'call:unknown_tool';
    const runId = known ? callRunId(callId, tool) : null;
    this.step({ does: 'request', callId, runId, tool, sideEffect, argsDigest, at: Date.now() });
    if (prepared.status === 'refused') return this.giveUp(prepared.code);
    if (prepared.approval !== null) this.step({ does: 'ask' });
    try {
      await this.scope.run(() => this.carried());
    } catch (fault) {
      if (!isCancellation(fault)) throw fault;
    }
    if (!this.isOver) await CancellationScope.nonCancellable(() => this.closed());
  }

  private async carried(): Promise<void> {
    if (this.cancelled) return;
    const asked = this.invocation?.status === 'awaiting_approval';
    const next = asked ? 'people' : this.prepared.capacity === 'native' ? await this.first() : await this.queued();
    if (next === 'people' && !this.cancelled) await this.byPeople();
  }

  /** Without a queue of ours: Temporal's own task queue, and the time that it may take to start. */
  private async first(): Promise<'over' | 'people'> {
    const queuedAt = Date.now();
    this.step({ does: 'queue', at: queuedAt });
    const result = await driveOnce(this.chain, this.prepared);
    if (result === 'not_taken' && !this.cancelled) this.giveUp('dispatch:capacity_exhausted');
    if (result === 'not_taken' || (result === 'lost' && this.cancelled)) return 'over';
    const worker = result === 'lost' ? undefined : result.worker;
    return this.hear(result, { worker: worker?.identity ?? null, dispatchedAt: worker?.took_at ?? queuedAt });
  }

  /** In the tool's queue, which sends it and says once what came of that. */
  private async queued(): Promise<'over' | 'people'> {
    this.step({ does: 'queue', at: Date.now() });
    this.report = null;
    const { queue_wait_ms: waitMs, execution_ms: executionMs } = this.prepared;
    for (;;) {
      await this.host.enqueue(this);
      // A queue that is gone with its server says nothing; asked again, it says it again.
      if (await condition(() => this.report !== null, waitMs + executionMs + 2 * DRIVE_SLACK_MS)) break;
    }
    const report = this.report as CallReport | null;
    if (report === null) return 'over';
    const { status, code, worker_identity: worker, dispatched_at: dispatchedAt, result } = report;
    const seen = { worker, dispatchedAt: dispatchedAt ?? Date.now() };
    if (status === 'failed') {
      if (isUnsent(code)) this.giveUp(code);
      else this.failed(code ?? 'dispatch:failed', seen);
      return 'over';
    }
    return this.hear(result ?? (status === 'unknown' ? 'lost' : 'untold'), seen);
  }

  /** What the first execution answered: the end, or something that takes time or a person. */
  private hear(
    result: DriveResult | 'lost' | 'untold',
    { worker, dispatchedAt }: Omit<Seen, 'results'>,
  ): 'over' | 'people' {
    if (result === 'untold') return 'people';
    if (result === 'lost') {
      this.step({ does: 'dispatch', attempt: 1, ground: 'first', worker, at: dispatchedAt });
      this.lost('dispatch:lease_expired');
      return 'people';
    }
    if (result.status === 'refused') {
      this.failed(result.code, { worker, dispatchedAt });
      return 'over';
    }
    if (!this.accepts(result)) return 'people';
    if (result.status === 'done') {
      this.conclude({ results: result.results ?? [], worker, dispatchedAt });
      return 'over';
    }
    if (result.status === 'parked' && result.reason === 'approval_missing') this.step({ does: 'ask' });
    else if (result.status === 'parked') {
      this.step({ does: 'dispatch', attempt: 1, ground: 'first', worker, at: dispatchedAt });
      this.lost('dispatch:indeterminate');
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
    const taskQueue = toolTaskQueue(toolOf(this.prepared));
    this.review = carrierWorkflowId(this.chain.plan.runId);
    for (let pauseMs = 1_000; !this.isOver; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const by = await carriedByChild(this.chain, taskQueue, 'TRY_CANCEL').catch((fault: unknown) => {
        if (isCancellation(fault)) throw fault;
        if (fault instanceof ApplicationFailure) return fault;
        // Somebody has terminated it: what became of the plan, the journal says; another one carries it on.
        return 'another' as const;
      });
      if (by instanceof ApplicationFailure) {
        this.failed(by.type ?? 'dispatch:failed', { worker: null, dispatchedAt: Date.now() });
        return;
      }
      if (by === 'another') await sleep(pauseMs);
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
    if (end.end === 'closed') this.conclude({ results: loop.results, worker: null, dispatchedAt: Date.now() });
  }

  /** Nothing of the call may be begun from here on, whoever still holds a task for it. */
  private async closed(): Promise<void> {
    if (this.prepared.status !== 'planned') return;
    if (this.invocation?.status === 'queued' && this.prepared.capacity === 'queue') await this.host.withdraw(this);
    const loop = new DriveLoop(this.chain, undefined, undefined, guestOf(this.prepared.tool));
    loop.cancel();
    const end = await loop.run();
    if (end.end === 'closed') {
      return this.conclude({ results: loop.results, worker: null, dispatchedAt: Date.now() });
    }
    if (end.end === 'turned_down') return this.giveUp('session:cancelled');
    this.sent({ worker: null, dispatchedAt: Date.now() });
    this.step({ does: 'lose', code: 'dispatch:indeterminate', exhausted: true });
  }

  /** The chain has ended: what it says is what became of the call. */
  private conclude(seen: Seen): void {
    const { chain } = this;
    const [effect] = chain.effects();
    const at = Date.now();
    if (effect?.state === 'committed') {
      this.sent(seen);
      const resultDigest = seen.results[0]?.result_digest ?? null;
      this.step({
        does: 'finish',
        status: 'succeeded',
        ground: this.ground(effect.proof),
        resultDigest,
        code: null,
        at,
      });
    } else if (chain.refusal !== null) {
      this.failed(chain.refusal.code, seen);
    } else if (chain.denial !== null && this.invocation?.status === 'awaiting_approval') {
      this.giveUp(chain.denial.code === 'deadline' ? 'approval:expired' : 'approval:denied');
    } else if (this.invocation?.status === 'dispatched' || this.invocation?.status === 'indeterminate') {
      const code = this.cancelled ? 'session:cancelled' : 'mark_failed';
      const ground = this.invocation.status === 'dispatched' ? 'looked_up' : 'resolution';
      if (effect?.state === 'unknown') this.step({ does: 'lose', code: 'dispatch:indeterminate', exhausted: true });
      else this.step({ does: 'finish', status: 'failed', ground, resultDigest: null, code, at });
    } else {
      this.giveUp(this.cancelled ? 'session:cancelled' : 'approval:denied');
    }
  }

  /** That a worker had it, where nobody has said so before. */
  private sent({ worker, dispatchedAt: at }: Omit<Seen, 'results'>): void {
    const status = this.invocation?.status;
    if (status === 'dispatched' || status === 'indeterminate' || this.isOver) return;
    this.step({ does: 'dispatch', attempt: (this.invocation?.attempt ?? 0) + 1, ground: 'first', worker, at });
  }

  private failed(code: string, seen: Omit<Seen, 'results'>): void {
    this.sent(seen);
    const ground = this.invocation?.status === 'indeterminate' ? 'late_result' : 'result';
    this.step({ does: 'finish', status: 'failed', ground, resultDigest: null, code, at: Date.now() });
  }

  private ground(proof: string | null): FinishGround {
    if (this.invocation?.status !== 'indeterminate') return 'result';
    return proof === 'attested' ? 'resolution' : proof === 'acked' ? 'late_result' : 'looked_up';
  }

  /** A call that may be sent twice goes on as it is; of any other a person has to say what became of it. */
  private lost(code: 'dispatch:lease_expired' | 'dispatch:indeterminate'): void {
    const exhausted = code === 'dispatch:indeterminate';
    if (isResendSafe(this.prepared.side_effect) && !exhausted) return;
    this.step({ does: 'lose', code, exhausted });
  }

  private giveUp(code: UnsentCode): void {
    this.step({ does: 'give_up', code, at: Date.now() });
  }

  private tell(event: SessionEvent | null): void {
    if (event === null) return;
    const time = (this.told.get(event.type) ?? 0) + 1;
    this.told.set(event.type, time);
    this.host.say(event, time);
  }

  private step(command: InvocationCommand): void {
    const answer = stepInvocation(this.invocation, command);
    if (answer.verdict === 'refused') {
      log.warn('countersign: a move of a call was refused', {
        callId: this.callId,
        does: command.does,
        why: answer.why,
      });
      return;
    }
    this.invocation = answer.invocation;
    if (answer.verdict === 'moved') this.tell(callEvent(answer.invocation, command));
  }
}

function toolOf({ tool, version }: PreparedCall): { readonly tool: string; readonly version: string | null } {
  return { tool, version };
}

function isUnsent(
  code: string | null,
): code is 'dispatch:no_handler' | 'dispatch:capacity_exhausted' | 'dispatch:withdrawn' {
  return code === 'dispatch:no_handler' || code === 'dispatch:capacity_exhausted' || code === 'dispatch:withdrawn';
}
