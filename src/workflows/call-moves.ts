/**
 * The moves of one call, as its workflow makes them. Invariant: every move is one that the rules allow and is said in the session's log;
 * what became of the call is what its own chain says.
 */
import { log } from '@temporalio/workflow';
import type { EffectResultRecord } from '../activities/contract';
import type { PreparedCall } from '../activities/session-contract';
import { isResendSafe } from '../rules/invocations/class-table';
import {
  stepInvocation,
  type FinishGround,
  type Invocation,
  type InvocationCommand,
} from '../rules/invocations/invocation';
import { callRunId } from '../rules/invocations/names';
import type { SessionEvent } from '../rules/invocations/session-event';
import { isFinished, markedFailed, type GiveUpCode, type UnknownCode } from '../rules/invocations/vocabulary';
import { callEvent } from '../rules/sessions/call-events';
import type { ChainKeeper } from './chain-keeper';

/** Who had the call last, and since when, as far as that is known. */
export interface Sent {
  readonly worker: string | null;
  readonly at: number;
  /** When each execution of it began, as its slots say. @default nobody has told */
  readonly begun?: readonly number[];
  /** A person has said that it is to be sent once more. @default false */
  readonly byWord?: boolean;
}

/** `time`: of an event that may come several times for one call, which time it is. `at`: when it happened. @default now */
export type Say = (event: SessionEvent, time?: number, at?: number) => void;

export class CallMoves {
  invocation: Invocation | null = null;
  /** How often something of a kind was said. */
  private readonly said = new Map<SessionEvent['type'], number>();

  constructor(
    private readonly prepared: PreparedCall,
    private readonly say: Say,
  ) {}

  get isOver(): boolean {
    return this.invocation !== null && isFinished(this.invocation.status);
  }

  /** It stands still until a person says something. */
  get waitsForPeople(): boolean {
    const status = this.invocation?.status;
    return status === 'awaiting_approval' || status === 'indeterminate';
  }

  request(): void {
    const { prepared } = this;
    const { call_id: callId, side_effect: sideEffect, args_digest: argsDigest, tool: name, version } = prepared;
    const tool = { tool: name, version };
    const known = prepared.status === 'planned' || prepared.code !== 'call:unknown_tool';
    const runId = known ? callRunId(callId, tool) : null;
    this.step({ does: 'request', callId, runId, tool, sideEffect, argsDigest, at: Date.now() });
  }

  queue(): void {
    this.step({ does: 'queue', at: Date.now() });
  }

  /** People are asked; the questions themselves are said by whoever asks them. */
  ask(): void {
    this.step({ does: 'ask' });
  }

  /** That workers had it, each execution once. Where none is known of, a worker had it all the same. */
  sent({ worker, at, begun = [], byWord = false }: Sent): void {
    if (this.isOver) return;
    const times = begun.length === 0 ? [at] : begun;
    for (let had = this.invocation?.attempt ?? 0; had < times.length; had += 1) {
      const last = had === times.length - 1;
      this.again(had, byWord && last ? 'redispatch' : 'proven_absent', last ? worker : null, times[had] ?? at);
    }
  }

  /** After an execution that did not tell what became of it, a call that may not be sent twice was in doubt before it was sent again. */
  private again(had: number, why: 'redispatch' | 'proven_absent', worker: string | null, at: number): void {
    const resends = had > 0 && this.invocation?.status === 'dispatched' && isResendSafe(this.prepared.side_effect);
    if (had > 0 && !resends) this.step({ does: 'lose', code: 'dispatch:indeterminate', exhausted: true });
    const ground = had === 0 ? 'first' : resends ? 'resend_safe' : why;
    this.step({ does: 'dispatch', attempt: had + 1, ground, worker, at });
  }

  /** A call that may be sent twice goes on as it is; of any other a person has to say what became of it. */
  lost(code: UnknownCode): void {
    const exhausted = code === 'dispatch:indeterminate';
    if (isResendSafe(this.prepared.side_effect) && !exhausted) return;
    this.step({ does: 'lose', code, exhausted });
  }

  /** It was never begun. Where somebody had it before, that is not known of it, and a person says what became of it. */
  giveUp(code: GiveUpCode): void {
    if (this.invocation?.status === 'dispatched') this.lost('dispatch:indeterminate');
    else this.step({ does: 'give_up', code, at: Date.now() });
  }

  /** By the own word of who did it. */
  private failed(code: string, sent: Sent): void {
    this.sent(sent);
    const ground = this.invocation?.status === 'indeterminate' ? 'late_result' : 'result';
    this.step({ does: 'finish', status: 'failed', ground, resultDigest: null, code, at: Date.now() });
  }

  /** The chain has ended: what it says is what became of the call. `unsent`: for what it was ended, if it was for something. */
  conclude(chain: ChainKeeper, results: readonly EffectResultRecord[], sent: Sent, unsent: GiveUpCode | null): void {
    const [effect] = chain.effects();
    const at = Date.now();
    // A slot that was begun counts, whatever is known of its end.
    if ((sent.begun ?? []).length > 0) this.sent(sent);
    if (effect?.state === 'committed') {
      this.sent(sent);
      const resultDigest = results[0]?.result_digest ?? null;
      const ground = this.groundOf(effect.proof);
      return this.step({ does: 'finish', status: 'succeeded', ground, resultDigest, code: null, at });
    }
    if (chain.refusal !== null) return this.failed(chain.refusal.code, sent);
    if (unsent !== null && effect?.state === 'unknown') {
      this.sent(sent);
      return this.step({ does: 'lose', code: 'dispatch:indeterminate', exhausted: true });
    }
    const status = this.invocation?.status;
    if (status !== 'dispatched' && status !== 'indeterminate') {
      const late = chain.denial?.code === 'deadline' ? 'approval:expired' : 'approval:denied';
      return this.giveUp(unsent ?? late);
    }
    const ground = status === 'dispatched' ? 'looked_up' : 'resolution';
    this.step({
      does: 'finish',
      status: 'failed',
      ground,
      resultDigest: null,
      code: unsent ?? markedFailed(chain.reasonGiven),
      at,
    });
  }

  private groundOf(proof: string | null): FinishGround {
    if (this.invocation?.status !== 'indeterminate') return proof === 'looked_up' ? 'looked_up' : 'result';
    return proof === 'attested' ? 'resolution' : proof === 'acked' ? 'late_result' : 'looked_up';
  }

  private step(command: InvocationCommand): void {
    const answer = stepInvocation(this.invocation, command);
    if (answer.verdict === 'refused') {
      const { call_id: callId } = this.prepared;
      log.warn('countersign: a move of a call was refused', { callId, does: command.does, why: answer.why });
      return;
    }
    this.invocation = answer.invocation;
    if (answer.verdict === 'moved') this.tell(answer.invocation, command);
  }

  private tell(invocation: Invocation, command: InvocationCommand): void {
    const denied = this.prepared.status === 'refused' ? this.prepared.rule : null;
    const event = callEvent(invocation, command, denied);
    if (event === null) return;
    const time = (this.said.get(event.type) ?? 0) + 1;
    this.said.set(event.type, time);
    this.say(event, time);
  }
}
