/**
 * What happens in a session, as its log tells it. Invariant: an event holds names, digests, numbers and words of closed tables, never
 * what was said, asked or answered; each type has one form, and what is read is exactly what was written.
 */
import { Fields, type Dict } from '../fields';
import { isRunId } from '../recovery';
import type { SideEffectClass } from '../sends/traits';
import { APPROVAL_VOTES, type ApprovalVote } from './approval';
import { approvalAt, approvalFields, approvalToRecord, type AskedApproval } from './approval-record';
import { DISPATCH_GROUNDS, FINISH_GROUNDS, type DispatchGround, type FinishGround } from './invocation';
import { DEFAULT_VERSION, isAskedTool, isSessionName, type Tool } from './names';
import { callAt, digestAt, identityAt, positionAt, ruleAt, versionAt, wordAt } from './record-fields';
import {
  GIVE_UP_CODES,
  SESSION_FAILURES,
  SIDE_EFFECT_CLASSES,
  UNKNOWN_CODES,
  type FinishedStatus,
  type SessionEventType,
  type SessionFailure,
  type UnknownCode,
} from './vocabulary';

export const SESSION_MODES = ['interactive', 'detached'] as const;
export type SessionMode = (typeof SESSION_MODES)[number];
/** A turn of a `root` ends in a wait for its user, one of a `child` ends the session. */
export const SESSION_KINDS = ['root', 'child'] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

/** Null is no limit. */
export interface SessionLimits {
  /** Of all answers of the model together. */
  readonly tokens: number | null;
  /** Of one turn. */
  readonly rounds: number | null;
  /** From the start of the session, without the time for which people were waited for. */
  readonly wallClockMs: number | null;
}

export interface SessionBodies {
  readonly 'session.started': {
    readonly agentVersion: string;
    readonly mode: SessionMode;
    readonly kind: SessionKind;
    /** Digest of what the agent is: its instructions, model, tools and policies. */
    readonly definition: string | null;
    /** Digest of the person who started it. */
    readonly requester: string | null;
    readonly limits: SessionLimits;
  };
  readonly 'session.completed': Nothing;
  readonly 'session.failed': { readonly code: SessionFailure };
  readonly 'session.cancelled': Nothing;
  /** `message`: digest of what was said. */
  readonly 'message.user': { readonly turn: number; readonly message: string };
  readonly 'message.assistant': {
    readonly turn: number;
    readonly round: number;
    readonly message: string;
    /** The provider's word for why the answer ended. */
    readonly stop: string;
    readonly inputTokens: number;
    readonly outputTokens: number;
    /** In the order in which their results are wanted. */
    readonly calls: readonly AskedCall[];
  };
  readonly 'tool.requested': {
    readonly callId: string;
    readonly runId: string | null;
    readonly tool: Tool;
    readonly sideEffect: SideEffectClass;
    readonly argsDigest: string;
  };
  readonly 'tool.queued': { readonly callId: string; readonly queuedAt: number };
  readonly 'tool.dispatched': {
    readonly callId: string;
    readonly attempt: number;
    readonly ground: DispatchGround;
    readonly worker: string | null;
    readonly dispatchedAt: number;
  };
  /** `unsent`: it was never dispatched. */
  readonly 'tool.completed': {
    readonly callId: string;
    readonly status: FinishedStatus;
    readonly ground: FinishGround | 'unsent';
    readonly resultDigest: string | null;
    readonly errorCode: string | null;
    readonly completedAt: number;
  };
  readonly 'tool.indeterminate': { readonly callId: string; readonly code: UnknownCode; readonly exhausted: boolean };
  /** `rule`: the policy's; null where no rule allows it. */
  readonly 'tool.policy_denied': { readonly callId: string; readonly rule: string | null };
  readonly 'approval.required': { readonly approval: AskedApproval };
  readonly 'approval.vote': {
    readonly approvalId: string;
    readonly person: string;
    readonly decision: ApprovalVote;
    /** Digest of the signed receipt. */
    readonly receipt: string | null;
  };
  /** `timeout`: where the policy takes silence for consent. */
  readonly 'approval.decided': {
    readonly approvalId: string;
    readonly decision: 'approved' | 'denied';
    readonly by: 'votes' | 'timeout';
  };
  readonly 'approval.escalated': { readonly approvalId: string; readonly next: string };
  readonly 'approval.expired': { readonly approvalId: string };
}
type Nothing = Readonly<Record<never, never>>;

/** A call as the model asked for it: `tool` may be a name that nobody knows. */
export interface AskedCall {
  readonly tool: string;
  readonly argsDigest: string;
}

export type SessionEvent = {
  readonly [T in SessionEventType]: { readonly type: T } & SessionBodies[T];
}[SessionEventType];

type Event<T extends SessionEventType> = { readonly type: T } & SessionBodies[T];
type Form<T extends SessionEventType> = {
  readonly write: (event: Event<T>) => Dict;
  readonly read: (at: Fields, path: string) => SessionBodies[T];
};

const NOTHING = { write: () => ({}), read: () => ({}) };

const FORMS: { readonly [T in SessionEventType]: Form<T> } = {
  'session.started': {
    write: ({ agentVersion, mode, kind, definition, requester, limits }) => ({
      agent_version: agentVersion,
      mode,
      kind,
      definition,
      requester,
      limits: { tokens: limits.tokens, rounds: limits.rounds, wall_clock_ms: limits.wallClockMs },
    }),
    read: (at, path) => ({
      agentVersion: at.text('agent_version', 'a name of [A-Za-z0-9._-]', isSessionName),
      mode: at.oneOf('mode', SESSION_MODES),
      kind: at.oneOf('kind', SESSION_KINDS),
      definition: at.nullable('definition', (field) => digestAt(at, field)),
      requester: at.nullable('requester', (field) => digestAt(at, field)),
      limits: limitsFrom(at.raw('limits'), `${path}.limits`),
    }),
  },
  'session.completed': NOTHING,
  'session.failed': {
    write: ({ code }) => ({ code }),
    read: (at) => ({ code: at.oneOf('code', SESSION_FAILURES) }),
  },
  'session.cancelled': NOTHING,
  'message.user': {
    write: ({ turn, message }) => ({ turn, message }),
    read: (at) => ({ turn: positionAt(at, 'turn'), message: digestAt(at, 'message') }),
  },
  'message.assistant': {
    write: ({ turn, round, message, stop, inputTokens, outputTokens, calls }) => ({
      turn,
      round,
      message,
      stop,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      calls: calls.map(({ tool, argsDigest }) => ({ tool, args_digest: argsDigest })),
    }),
    read: (at, path) => ({
      turn: positionAt(at, 'turn'),
      round: positionAt(at, 'round'),
      message: digestAt(at, 'message'),
      stop: wordAt(at, 'stop'),
      inputTokens: at.count('input_tokens'),
      outputTokens: at.count('output_tokens'),
      calls: at.list('calls').map((call, index) => askedFrom(call, `${path}.calls[${index}]`)),
    }),
  },
  'tool.requested': {
    write: ({ callId, runId, tool, sideEffect, argsDigest }) => ({
      call_id: callId,
      run_id: runId,
      tool: tool.tool,
      version: tool.version ?? DEFAULT_VERSION,
      side_effect_class: sideEffect,
      args_digest: argsDigest,
    }),
    read: (at) => ({
      callId: callAt(at),
      runId: at.nullable('run_id', (field) => at.text(field, 'a run id', isRunId)),
      tool: { tool: at.text('tool', 'the name of a tool', isAskedTool), version: versionAt(at) },
      sideEffect: at.oneOf('side_effect_class', SIDE_EFFECT_CLASSES),
      argsDigest: digestAt(at, 'args_digest'),
    }),
  },
  'tool.queued': {
    write: ({ callId, queuedAt }) => ({ call_id: callId, queued_at: queuedAt }),
    read: (at) => ({ callId: callAt(at), queuedAt: at.count('queued_at') }),
  },
  'tool.dispatched': {
    write: ({ callId, attempt, ground, worker, dispatchedAt }) => ({
      call_id: callId,
      attempt,
      ground,
      worker_identity: worker,
      dispatched_at: dispatchedAt,
    }),
    read: (at) => ({
      callId: callAt(at),
      attempt: positionAt(at, 'attempt'),
      ground: at.oneOf('ground', DISPATCH_GROUNDS),
      worker: at.nullable('worker_identity', (field) => identityAt(at, field)),
      dispatchedAt: at.count('dispatched_at'),
    }),
  },
  'tool.completed': {
    write: ({ callId, status, ground, resultDigest, errorCode, completedAt }) => ({
      call_id: callId,
      status,
      ground,
      result_digest: resultDigest,
      error_code: errorCode,
      completed_at: completedAt,
    }),
    read: readCompleted,
  },
  'tool.indeterminate': {
    write: ({ callId, code, exhausted }) => ({ call_id: callId, code, exhausted }),
    read: (at) => ({ callId: callAt(at), code: at.oneOf('code', UNKNOWN_CODES), exhausted: at.flag('exhausted') }),
  },
  'tool.policy_denied': {
    write: ({ callId, rule }) => ({ call_id: callId, rule }),
    read: (at) => ({ callId: callAt(at), rule: at.nullable('rule', () => ruleAt(at)) }),
  },
  'approval.required': {
    write: ({ approval }) => approvalToRecord(approval),
    read: (at, path) => ({ approval: approvalFields(at, path) }),
  },
  'approval.vote': {
    write: ({ approvalId, person, decision, receipt }) => ({ approval_id: approvalId, person, decision, receipt }),
    read: (at) => ({
      approvalId: approvalAt(at, 'approval_id'),
      person: digestAt(at, 'person'),
      decision: at.oneOf('decision', APPROVAL_VOTES),
      receipt: at.nullable('receipt', (field) => digestAt(at, field)),
    }),
  },
  'approval.decided': {
    write: ({ approvalId, decision, by }) => ({ approval_id: approvalId, decision, by }),
    read: (at) => ({
      approvalId: approvalAt(at, 'approval_id'),
      decision: at.oneOf('decision', ['approved', 'denied'] as const),
      by: at.oneOf('by', ['votes', 'timeout'] as const),
    }),
  },
  'approval.escalated': {
    write: ({ approvalId, next }) => ({ approval_id: approvalId, next }),
    read: (at) => ({ approvalId: approvalAt(at, 'approval_id'), next: approvalAt(at, 'next') }),
  },
  'approval.expired': {
    write: ({ approvalId }) => ({ approval_id: approvalId }),
    read: (at) => ({ approvalId: approvalAt(at, 'approval_id') }),
  },
};

/** The body of an event as it stands in a record. */
export function eventToBody(event: SessionEvent): Dict {
  const { write } = FORMS[event.type] as Form<SessionEventType>;
  return write(event as Event<SessionEventType>);
}

/** Throws a `Refusal` for anything that is not exactly the body of such an event. */
export function eventFromBody(type: SessionEventType, value: unknown, path = 'body'): SessionEvent {
  const at = new Fields(value, path);
  const body = FORMS[type].read(at, path);
  at.end();
  return { type, ...body } as SessionEvent;
}

function readCompleted(at: Fields): SessionBodies['tool.completed'] {
  const completed = {
    callId: callAt(at),
    status: at.oneOf('status', ['succeeded', 'failed'] as const),
    ground: at.oneOf('ground', [...FINISH_GROUNDS, 'unsent'] as const),
    resultDigest: at.nullable('result_digest', (field) => digestAt(at, field)),
    errorCode: at.nullable('error_code', (field) => wordAt(at, field)),
    completedAt: at.count('completed_at'),
  };
  const unsent = completed.ground === 'unsent';
  if (unsent && completed.status !== 'failed') at.refuse('must be failed where nothing was sent', 'status');
  if (unsent) at.oneOf('error_code', GIVE_UP_CODES);
  return completed;
}

function limitsFrom(value: unknown, path: string): SessionLimits {
  const at = new Fields(value, path);
  const limits = {
    tokens: at.nullable('tokens', (field) => at.count(field)),
    rounds: at.nullable('rounds', (field) => at.count(field)),
    wallClockMs: at.nullable('wall_clock_ms', (field) => at.count(field)),
  };
  at.end();
  return limits;
}

function askedFrom(value: unknown, path: string): AskedCall {
  const at = new Fields(value, path);
  const call = { tool: at.text('tool', 'a word', isAskedTool), argsDigest: digestAt(at, 'args_digest') };
  at.end();
  return call;
}
