/**
 * One tool call, from the moment it is recorded to its end. Invariant: only the moves of the tables below happen; a stored end is
 * never changed and is what every later request for the call is answered; one call id never stands for two sets of arguments.
 */
import type { SideEffectClass } from '../sends/traits';
import { isResendSafe } from './class-table';
import type { Tool } from './names';
import {
  isFinished,
  type FinishedStatus,
  type GiveUpCode,
  type InvocationStatus,
  type UnknownCode,
} from './vocabulary';

export interface Invocation {
  readonly callId: string;
  /** The run of its plan; null of a call that names no tool of the agent. */
  readonly runId: string | null;
  /** As the model asked for it, which may be none of the agent's. */
  readonly tool: Tool;
  readonly sideEffect: SideEffectClass;
  readonly argsDigest: string;
  readonly status: InvocationStatus;
  /** Dispatches so far. */
  readonly attempt: number;
  /** Identity of the worker of the last dispatch; null while none is known. */
  readonly worker: string | null;
  readonly resultDigest: string | null;
  /** Why it failed, or why nobody knows: one of our codes, or the handler's own word. */
  readonly errorCode: string | null;
  /** Unix milliseconds, of the server's clock. */
  readonly createdAt: number;
  readonly queuedAt: number | null;
  readonly dispatchedAt: number | null;
  readonly completedAt: number | null;
}

/** What makes a dispatch right. */
export const DISPATCH_GROUNDS = ['first', 'resend_safe', 'proven_absent', 'redispatch'] as const;
export type DispatchGround = (typeof DISPATCH_GROUNDS)[number];

/** How an outcome became known. */
export const FINISH_GROUNDS = ['result', 'late_result', 'looked_up', 'resolution'] as const;
export type FinishGround = (typeof FINISH_GROUNDS)[number];

export type InvocationCommand =
  | ({ readonly does: 'request'; readonly at: number } & CallRequest)
  /** A policy asks for a person. */
  | { readonly does: 'ask' }
  | { readonly does: 'queue'; readonly at: number }
  /** `attempt`: which one this is, from 1. */
  | {
      readonly does: 'dispatch';
      readonly attempt: number;
      readonly ground: DispatchGround;
      readonly worker: string | null;
      readonly at: number;
    }
  /** `code`: the handler's own word; null of a success. */
  | {
      readonly does: 'finish';
      readonly status: FinishedStatus;
      readonly ground: FinishGround;
      readonly resultDigest: string | null;
      readonly code: string | null;
      readonly at: number;
    }
  /** It will not be dispatched, and never was since somebody last said that it may. */
  | { readonly does: 'give_up'; readonly code: GiveUpCode; readonly at: number }
  /** Dispatched, and nobody knows what became of it. `exhausted`: it may not be sent again, whatever its class. */
  | { readonly does: 'lose'; readonly code: UnknownCode; readonly exhausted: boolean };
export type InvocationCommandName = InvocationCommand['does'];

export type CallRequest = Pick<Invocation, 'callId' | 'runId' | 'tool' | 'sideEffect' | 'argsDigest'>;

export type MoveRefusal = 'call_conflict' | 'call_closed';

export type InvocationStep =
  | { readonly verdict: 'moved'; readonly invocation: Invocation }
  /** It was so already; nothing changes. */
  | { readonly verdict: 'same'; readonly invocation: Invocation }
  /** Nothing changes, and the caller must not go on. */
  | {
      readonly verdict: 'refused';
      readonly invocation: Invocation | null;
      readonly code: MoveRefusal;
      readonly why: string;
    };

/** `finished`: the status that the outcome has. */
type Answer = InvocationStatus | 'finished' | 'same' | 'refused';

/** What each command does to a call in each status. The class of the call and the grounds below may still refuse a move. */
export const MOVES: Record<Exclude<InvocationCommandName, 'request'>, Record<InvocationStatus, Answer>> = {
  ask: {
    pending: 'awaiting_approval',
    queued: 'awaiting_approval',
    awaiting_approval: 'same',
    dispatched: 'refused',
    succeeded: 'refused',
    failed: 'refused',
    indeterminate: 'refused',
  },
  queue: {
    pending: 'queued',
    queued: 'same',
    awaiting_approval: 'queued',
    dispatched: 'refused',
    succeeded: 'refused',
    failed: 'refused',
    indeterminate: 'refused',
  },
  dispatch: {
    pending: 'dispatched',
    queued: 'dispatched',
    awaiting_approval: 'dispatched',
    dispatched: 'dispatched',
    succeeded: 'refused',
    failed: 'refused',
    indeterminate: 'dispatched',
  },
  finish: {
    pending: 'refused',
    queued: 'refused',
    awaiting_approval: 'refused',
    dispatched: 'finished',
    succeeded: 'same',
    failed: 'same',
    indeterminate: 'finished',
  },
  give_up: {
    pending: 'failed',
    queued: 'failed',
    awaiting_approval: 'failed',
    dispatched: 'refused',
    succeeded: 'refused',
    failed: 'same',
    indeterminate: 'refused',
  },
  lose: {
    pending: 'refused',
    queued: 'refused',
    awaiting_approval: 'refused',
    dispatched: 'indeterminate',
    succeeded: 'refused',
    failed: 'refused',
    indeterminate: 'same',
  },
};

/** From which statuses each ground lets a call be dispatched, and whether only a call that may safely be sent twice. */
const DISPATCHES: Record<DispatchGround, { readonly from: readonly InvocationStatus[]; readonly onlySafe: boolean }> = {
  first: { from: ['pending', 'queued', 'awaiting_approval'], onlySafe: false },
  resend_safe: { from: ['dispatched'], onlySafe: true },
  proven_absent: { from: ['indeterminate'], onlySafe: false },
  redispatch: { from: ['indeterminate'], onlySafe: false },
};

const FINISHES: Record<FinishGround, readonly InvocationStatus[]> = {
  // Of a worker that is not told that people are asked meanwhile.
  result: ['dispatched', 'indeterminate'],
  late_result: ['indeterminate'],
  looked_up: ['dispatched', 'indeterminate'],
  resolution: ['indeterminate'],
};

type Does<Name extends InvocationCommandName> = Extract<InvocationCommand, { readonly does: Name }>;
type Rules = { readonly [Name in keyof typeof MOVES]: (call: Invocation, command: Does<Name>) => InvocationStep };

const RULES: Rules = {
  ask: (call) => moved(call, { status: 'awaiting_approval' }),
  // A call that comes back after an approval waits anew, and only its last wait is told.
  queue: (call, { at }) => moved(call, { status: 'queued', queuedAt: at }),
  dispatch: (call, { attempt, ground, worker, at }) => {
    if (call.status === 'dispatched' && attempt === call.attempt) return same(call);
    const { from, onlySafe } = DISPATCHES[ground];
    if (!from.includes(call.status))
      return refused(call, `may not be dispatched as ${ground} while it is ${call.status}`);
    if (onlySafe && !isResendSafe(call.sideEffect))
      return refused(call, 'may have happened, and must not happen twice');
    if (attempt !== call.attempt + 1) return refused(call, 'is at another attempt');
    return moved(call, { status: 'dispatched', attempt, worker, dispatchedAt: at, errorCode: null });
  },
  finish: (call, { status, ground, resultDigest, code, at }) => {
    if (isFinished(call.status)) {
      const identical = call.status === status && call.resultDigest === resultDigest && call.errorCode === code;
      return identical ? same(call) : refused(call, 'has another outcome already');
    }
    if (!FINISHES[ground].includes(call.status)) return refused(call, `has no ${ground} while it is ${call.status}`);
    if ((status === 'succeeded') !== (code === null)) return refused(call, 'fails with a code and succeeds without');
    return moved(call, { status, resultDigest, errorCode: code, completedAt: at });
  },
  give_up: (call, { code, at }) => {
    if (call.status !== 'failed') return moved(call, { status: 'failed', errorCode: code, completedAt: at });
    return call.errorCode === code ? same(call) : refused(call, 'has failed for another reason already');
  },
  lose: (call, { code, exhausted }) => {
    if (isResendSafe(call.sideEffect) && !exhausted) return refused(call, 'may be sent again; nobody has to be asked');
    return moved(call, { status: 'indeterminate', errorCode: code });
  },
};

/** What a command makes of a call; null is one that nobody has asked for yet. */
export function stepInvocation(call: Invocation | null, command: InvocationCommand): InvocationStep {
  if (command.does === 'request') return requested(call, command);
  if (call === null) return { verdict: 'refused', invocation: null, code: 'call_closed', why: 'was never requested' };
  const answer = MOVES[command.does][call.status];
  if (answer === 'refused') return refused(call, `is ${call.status}, which this does not follow`);
  // A repeated end is compared with the stored one by its rule.
  if (answer === 'same' && !isFinished(call.status)) return same(call);
  // The tables are exhaustive; that each rule gets its own command, TypeScript cannot follow through an index.
  const rule = RULES[command.does] as (call: Invocation, command: InvocationCommand) => InvocationStep;
  return rule(call, command);
}

function requested(
  call: Invocation | null,
  { at, callId, runId, tool, sideEffect, argsDigest }: Does<'request'>,
): InvocationStep {
  const nothingYet = {
    worker: null,
    resultDigest: null,
    errorCode: null,
    queuedAt: null,
    dispatchedAt: null,
    completedAt: null,
  };
  if (call === null) {
    const request = { callId, runId, tool, sideEffect, argsDigest };
    return {
      verdict: 'moved',
      invocation: { ...request, ...nothingYet, status: 'pending', attempt: 0, createdAt: at },
    };
  }
  if (isSameCall(call, { callId, runId, tool, argsDigest })) return same(call);
  const why = 'stands for another tool or other arguments already; the same place asks for the same call';
  return { verdict: 'refused', invocation: call, code: 'call_conflict', why };
}

function isSameCall(call: Invocation, other: Omit<CallRequest, 'sideEffect'>): boolean {
  const sameTool = call.tool.tool === other.tool.tool && call.tool.version === other.tool.version;
  return call.callId === other.callId && call.runId === other.runId && sameTool && call.argsDigest === other.argsDigest;
}

function moved(call: Invocation, change: Partial<Invocation>): InvocationStep {
  return { verdict: 'moved', invocation: { ...call, ...change } };
}

function same(call: Invocation): InvocationStep {
  return { verdict: 'same', invocation: call };
}

function refused(call: Invocation, why: string): InvocationStep {
  return { verdict: 'refused', invocation: call, code: 'call_closed', why };
}
