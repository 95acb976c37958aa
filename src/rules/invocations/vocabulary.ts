/**
 * The words of tool sessions. Invariant: these are wire words and the lists are closed; what each word allows is said by exhaustive
 * tables elsewhere, so a new word does not compile until every table knows it.
 */
import { REFUSAL_CODES, type RefusalCode } from '../refusal';
import type { SideEffectClass } from '../sends/traits';

export const SIDE_EFFECT_CLASSES = [
  'read_only',
  'idempotent_write',
  'non_idempotent_write',
  'irreversible_action',
] as const satisfies readonly SideEffectClass[];

export const INVOCATION_STATUSES = [
  'pending',
  'queued',
  'awaiting_approval',
  'dispatched',
  'succeeded',
  'failed',
  'indeterminate',
] as const;
export type InvocationStatus = (typeof INVOCATION_STATUSES)[number];
export type FinishedStatus = 'succeeded' | 'failed';

export function isFinished(status: InvocationStatus): status is FinishedStatus {
  return status === 'succeeded' || status === 'failed';
}

export const SESSION_STATUSES = [
  'pending',
  'running',
  'awaiting_input',
  'awaiting_tool',
  'awaiting_approval',
  'completed',
  'failed',
  'cancelled',
] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];
export type EndedStatus = 'completed' | 'failed' | 'cancelled';

export function isEnded(status: SessionStatus): status is EndedStatus {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

export const SESSION_EVENTS = [
  'session.started',
  'session.completed',
  'session.failed',
  'session.cancelled',
  'message.user',
  'message.assistant',
  'tool.requested',
  'tool.queued',
  'tool.dispatched',
  'tool.completed',
  'tool.indeterminate',
  'tool.policy_denied',
  'approval.required',
  'approval.vote',
  'approval.decided',
  'approval.escalated',
  'approval.expired',
] as const;
export type SessionEventType = (typeof SESSION_EVENTS)[number];

/** What a policy can be asked about beside a call's arguments: why a call, or the session, stands still. */
export const TRIGGERS = [
  'dispatch:no_handler',
  'dispatch:capacity_exhausted',
  'dispatch:indeterminate',
  'dispatch:lease_expired',
  'limit:escalate',
] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** Why a call failed without ever having been dispatched. */
export const UNSENT_CODES = [
  'dispatch:no_handler',
  'dispatch:capacity_exhausted',
  'dispatch:withdrawn',
  'call:conflict',
  'call:unknown_tool',
  'call:invalid_arguments',
  'policy:denied',
  'approval:denied',
  'approval:expired',
  'session:cancelled',
  'session:ended',
] as const;
export type UnsentCode = (typeof UNSENT_CODES)[number];
/** As a worker refuses a call before anything of it has begun, too. */
export type GiveUpCode = UnsentCode | RefusalCode;
export const GIVE_UP_CODES: readonly GiveUpCode[] = [...UNSENT_CODES, ...REFUSAL_CODES];

/** Why nobody knows what became of a dispatched call. */
export const UNKNOWN_CODES = ['dispatch:indeterminate', 'dispatch:lease_expired'] as const;
export type UnknownCode = (typeof UNKNOWN_CODES)[number];

export const SESSION_LIMITS = ['tokens', 'rounds', 'wall_clock'] as const;
export type SessionLimit = (typeof SESSION_LIMITS)[number];

/** Why a session failed. */
export const SESSION_FAILURES = [
  'limit:tokens',
  'limit:rounds',
  'limit:wall_clock',
  'approval:denied',
  'approval:expired',
  'model:failed',
  'model:refused',
] as const;
export type SessionFailure = (typeof SESSION_FAILURES)[number];

/** How a person settles a call of which nobody knows what became. */
export const CALL_RESOLUTIONS = ['mark_succeeded', 'mark_failed', 'redispatch', 'reobserve'] as const;
export type CallResolution = (typeof CALL_RESOLUTIONS)[number];

const MARKED_FAILED: CallResolution = 'mark_failed';

/** The code of a call that failed by a person's word, with the reason where they gave one: no handler's own code reads like it. */
export function markedFailed(reason: string | null): string {
  return reason === null ? MARKED_FAILED : `${MARKED_FAILED}:${reason}`;
}

export function isMarkedFailed(code: string): boolean {
  return code.split(':', 1)[0] === MARKED_FAILED;
}
