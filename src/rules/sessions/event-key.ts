/**
 * What makes two events of a session the same one. Invariant: said again after a reset, or by a second driver, an event has the key
 * that it had, so that a log holds it once; two events that both happened never share one.
 */
import type { SessionEvent } from '../invocations/session-event';
import type { SessionEventType } from '../invocations/vocabulary';

type Event<T extends SessionEventType> = Extract<SessionEvent, { readonly type: T }>;

/** A session ends once, however that was; and a call, too. */
const ENDED = 'ended';
const end = (): readonly string[] => [ENDED];
const endOfCall = ({ callId }: { readonly callId: string }): readonly string[] => [ENDED, callId];
const ofCall = ({ type, callId }: { readonly type: string; readonly callId: string }): readonly string[] => [
  type,
  callId,
];
const ofApproval = ({
  type,
  approvalId,
}: {
  readonly type: string;
  readonly approvalId: string;
}): readonly string[] => [type, approvalId];

const NAMES: { readonly [T in SessionEventType]: (event: Event<T>) => readonly (string | number)[] } = {
  'session.started': ({ type }) => [type],
  'session.completed': end,
  'session.failed': end,
  'session.cancelled': end,
  'message.user': ({ type, turn }) => [type, turn],
  'message.assistant': ({ type, turn, round }) => [type, turn, round],
  'tool.requested': ofCall,
  'tool.queued': ofCall,
  'tool.dispatched': ({ type, callId, attempt }) => [type, callId, attempt],
  'tool.completed': endOfCall,
  'tool.indeterminate': ofCall,
  'tool.policy_denied': endOfCall,
  'approval.required': ({ type, approval }) => [type, approval.approvalId],
  'approval.vote': ({ type, approvalId, person }) => [type, approvalId, person],
  'approval.decided': ofApproval,
  'approval.escalated': ofApproval,
  'approval.expired': ofApproval,
};

/** Events that may happen to one call several times: which time it is makes the difference. */
const COUNTED: readonly SessionEventType[] = ['tool.queued', 'tool.indeterminate'];

export function isCounted({ type }: SessionEvent): boolean {
  return COUNTED.includes(type);
}

/** `time`: from 1, of an event that is counted. */
export function eventKey(event: SessionEvent, time = 1): string {
  const name = NAMES[event.type] as (event: SessionEvent) => readonly (string | number)[];
  return [...name(event), ...(isCounted(event) ? [time] : [])].join('|');
}
