/**
 * The ledger of a session's calls: one row a call. Invariant: it is a projection of the log and of nothing else, so it can be made anew
 * at any time; a row holds digests in the place of contents.
 */
import type { SideEffectClass } from '../sends/traits';
import { REFUSAL_CODES } from '../refusal';
import type { Invocation } from './invocation';
import { DEFAULT_VERSION, callPlace } from './names';
import type { SessionView } from './session-view';
import { isMarkedFailed, type InvocationStatus, type UnknownCode, type UnsentCode } from './vocabulary';

/** As it is shown and exported. Times are unix milliseconds. */
export interface LedgerRow {
  readonly call_id: string;
  readonly session_id: string;
  readonly agent_version_id: string;
  readonly turn: number;
  readonly round: number;
  readonly index: number;
  readonly tool: string;
  readonly version: string;
  readonly side_effect_class: SideEffectClass;
  readonly args_digest: string;
  readonly result_digest: string | null;
  readonly status: InvocationStatus;
  readonly worker_identity: string | null;
  readonly attempt: number;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly created_at: number;
  readonly queued_at: number | null;
  readonly dispatched_at: number | null;
  readonly completed_at: number | null;
}

/** What each code of ours means. It is said by the code, so no handler can put contents into a message. */
const MESSAGES: Record<UnsentCode | UnknownCode, string> = {
  'dispatch:no_handler': 'no worker has ever registered for this version of the tool; start one',
  'dispatch:capacity_exhausted': 'its queue was full, or no worker of this tool took it in time; call it later',
  'dispatch:withdrawn': 'it was called off before a worker took it',
  'dispatch:indeterminate': 'nobody knows what became of it; a person must say',
  'dispatch:lease_expired': 'its worker gave no sign of life, and nobody knows what became of it; a person must say',
  'call:conflict': 'the same place asked for other arguments before',
  'call:unknown_tool': 'the agent has no such tool',
  'call:invalid_arguments': "its arguments do not fit the tool's input schema",
  'policy:denied': 'a policy forbids it',
  'approval:denied': 'a person has rejected it',
  'approval:expired': 'nobody approved it in time',
  'session:cancelled': 'the session was cancelled before a worker took it',
  'session:ended': 'the session ended before a worker took it',
};
const REFUSED = 'a worker refused it before anything of it had begun; the code says why';
const BY_A_PERSON = 'a person has looked, and says that it failed';
const HANDLERS_OWN = "the tool's handler failed with this code";

/** Every call of a session, in the order in which they were requested. */
export function ledgerRows(view: SessionView): readonly LedgerRow[] {
  return [...view.calls.values()].map(ledgerRow);
}

export function ledgerRow(call: Invocation): LedgerRow {
  const { session, agentVersion, turn, round, index } = callPlace(call.callId);
  return {
    call_id: call.callId,
    session_id: session,
    agent_version_id: agentVersion,
    turn,
    round,
    index,
    tool: call.tool.tool,
    version: call.tool.version ?? DEFAULT_VERSION,
    side_effect_class: call.sideEffect,
    args_digest: call.argsDigest,
    result_digest: call.resultDigest,
    status: call.status,
    worker_identity: call.worker,
    attempt: call.attempt,
    error_code: call.errorCode,
    error_message: call.errorCode === null ? null : messageOf(call.errorCode),
    created_at: call.createdAt,
    queued_at: call.queuedAt,
    dispatched_at: call.dispatchedAt,
    completed_at: call.completedAt,
  };
}

/** One sentence for a person, or for the model. */
export function messageOf(code: string): string {
  if (Object.hasOwn(MESSAGES, code)) return MESSAGES[code as UnsentCode | UnknownCode];
  if (isMarkedFailed(code)) return BY_A_PERSON;
  return (REFUSAL_CODES as readonly string[]).includes(code) ? REFUSED : HANDLERS_OWN;
}
