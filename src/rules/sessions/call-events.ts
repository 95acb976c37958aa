/**
 * The moves of a call as events of its session's log. Invariant: every move is told once, by the command that made it, and nothing is
 * told that has not moved the call.
 */
import type { Invocation, InvocationCommand, InvocationCommandName } from '../invocations/invocation';
import type { SessionEvent } from '../invocations/session-event';

type Does<Name extends InvocationCommandName> = Extract<InvocationCommand, { readonly does: Name }>;
/** An approval tells of itself; see `approval.required`. */
type Told = Exclude<InvocationCommandName, 'ask'>;

const EVENTS: { readonly [Name in Told]: (callId: string, command: Does<Name>) => SessionEvent } = {
  request: (callId, { runId, tool, sideEffect, argsDigest }) => ({
    type: 'tool.requested',
    ...{ callId, runId, tool, sideEffect, argsDigest },
  }),
  queue: (callId, { at: queuedAt }) => ({ type: 'tool.queued', callId, queuedAt }),
  dispatch: (callId, { attempt, ground, worker, at: dispatchedAt }) => ({
    type: 'tool.dispatched',
    ...{ callId, attempt, ground, worker, dispatchedAt },
  }),
  finish: (callId, { status, ground, resultDigest, code: errorCode, at: completedAt }) => ({
    type: 'tool.completed',
    ...{ callId, status, ground, resultDigest, errorCode, completedAt },
  }),
  give_up: (callId, { code: errorCode, at: completedAt }) => ({
    type: 'tool.completed',
    ...{ callId, status: 'failed', ground: 'unsent', resultDigest: null, errorCode, completedAt },
  }),
  lose: (callId, { code, exhausted }) => ({ type: 'tool.indeterminate', callId, code, exhausted }),
};

/** Null for a move that something else tells of. `denied`: the rule that denied the call; null where none allowed it. */
export function callEvent(
  { callId }: Invocation,
  command: InvocationCommand,
  denied: string | null,
): SessionEvent | null {
  if (command.does === 'ask') return null;
  if (command.does === 'give_up' && command.code === 'policy:denied') {
    return { type: 'tool.policy_denied', callId, rule: denied };
  }
  // The table is exhaustive; that each entry gets its own command, TypeScript cannot follow through an index.
  const event = EVENTS[command.does] as (callId: string, command: InvocationCommand) => SessionEvent;
  return event(callId, command);
}
