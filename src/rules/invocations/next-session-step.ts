/**
 * What is to be done next in a session, from whatever state its log was left in. Invariant: the model is never asked for what it has
 * answered already; each call goes on by its own, whatever the others wait for; when the session is to be cancelled, nothing is
 * dispatched any more.
 */
import { isUnfollowed, type Approval, type ApprovalStatus } from './approval';
import { AFTER_UNKNOWN } from './class-table';
import type { Invocation } from './invocation';
import { limitReached } from './limits';
import type { SessionView } from './session-view';
import type { InvocationStatus, SessionLimit } from './vocabulary';

/** What is to be done about one call. */
export type CallAction =
  /** Ask the policy, then send it to its queue. */
  | 'begin'
  /** To its queue again, as it was sent before: the queue knows it, or takes it to its old place. */
  | 'enqueue'
  /** People are asked: keep every question open, each with its own expiry. */
  | 'wait_for_people'
  /** A question has gone on to others, who have not been asked yet. */
  | 'ask_next'
  /** People have said yes: send it to its queue. */
  | 'send_approved'
  /** People have said no, or nothing in time: it fails, and where the rule says so the session with it. */
  | 'reject'
  /** A worker may have had it. Drive it on: the same call again, in its next slot. */
  | 'resend'
  /** A worker may have had it. Ask the sink after the settle time; what that does not prove is a question to a person. */
  | 'look_up'
  /** Nobody knows: keep its review open. */
  | 'keep_review'
  /** It was never dispatched, and never will be. */
  | 'give_up'
  /** Only find out what became of it: nothing is sent any more. */
  | 'settle';

export type SessionStep =
  | { readonly does: 'start' }
  | { readonly does: 'wait_for_input' }
  | { readonly does: 'ask_model'; readonly turn: number; readonly round: number }
  /** `ask` people whether it may go on, where a policy says so; else, and when they have said no, it fails. */
  | { readonly does: 'limit'; readonly limit: SessionLimit; readonly action: 'ask' | 'ask_next' | 'fail' }
  /** Record these calls of the last answer. The model is not asked for them. */
  | { readonly does: 'request_calls'; readonly indexes: readonly number[] }
  /** All at once. */
  | { readonly does: 'go_on'; readonly calls: readonly { readonly callId: string; readonly action: CallAction }[] }
  | { readonly does: 'wait_for_people' }
  | { readonly does: 'complete' }
  | { readonly does: 'cancel' }
  | { readonly does: 'nothing' };

const GOES_ON: Record<InvocationStatus, (call: Invocation, view: SessionView) => CallAction | null> = {
  // What names no tool has nowhere to go.
  pending: ({ runId }) => (runId === null ? 'give_up' : 'begin'),
  queued: () => 'enqueue',
  awaiting_approval: ({ callId }, view) => afterQuestions(view.approvalsOf(callId)),
  dispatched: ({ sideEffect }) => AFTER_UNKNOWN[sideEffect],
  indeterminate: () => 'keep_review',
  succeeded: () => null,
  failed: () => null,
};

const WHEN_CANCELLED: Record<InvocationStatus, CallAction | null> = {
  pending: 'give_up',
  queued: 'give_up',
  awaiting_approval: 'give_up',
  dispatched: 'settle',
  // Its review stays open without the session.
  indeterminate: null,
  succeeded: null,
  failed: null,
};

export function nextSessionStep(view: SessionView, now: number, cancelling = false): SessionStep {
  if (view.ended !== null) return { does: 'nothing' };
  if (view.started === null) return { does: 'start' };
  if (cancelling) {
    const calls = actionsOf(view, ({ status }) => WHEN_CANCELLED[status]);
    return calls.length === 0 ? { does: 'cancel' } : { does: 'go_on', calls };
  }
  const indexes = view.unrequested;
  if (indexes.length > 0) return { does: 'request_calls', indexes };
  const calls = actionsOf(view, (call) => GOES_ON[call.status](call, view));
  if (calls.length > 0) return { does: 'go_on', calls };
  if (view.status === 'awaiting_approval') return { does: 'wait_for_people' };
  if (view.status === 'awaiting_input') return { does: 'wait_for_input' };
  if (view.isBetweenTurns) return { does: 'complete' };
  const limit = limitReached(view.spending(now));
  if (limit !== null) return { does: 'limit', limit, action: limitAction(view, limit) };
  return { does: 'ask_model', turn: view.turn, round: (view.round?.round ?? 0) + 1 };
}

/** One refusal is enough; and every question must have been answered, by those to whom it went on. */
function afterQuestions(approvals: readonly Approval[]): CallAction {
  const has = (status: ApprovalStatus): boolean => approvals.some((approval) => approval.status === status);
  if (has('denied') || has('expired')) return 'reject';
  if (approvals.some((approval) => isUnfollowed(approval, approvals))) return 'ask_next';
  return has('pending') ? 'wait_for_people' : 'send_approved';
}

function limitAction(view: SessionView, limit: SessionLimit): 'ask' | 'ask_next' | 'fail' {
  const action = afterQuestions([...view.approvals.values()].filter((approval) => approval.limit === limit));
  if (action === 'reject') return 'fail';
  return action === 'ask_next' ? 'ask_next' : 'ask';
}

function actionsOf(
  view: SessionView,
  choose: (call: Invocation) => CallAction | null,
): readonly { readonly callId: string; readonly action: CallAction }[] {
  return view.unfinished.flatMap((call) => {
    const action = choose(call);
    return action === null ? [] : [{ callId: call.callId, action }];
  });
}
