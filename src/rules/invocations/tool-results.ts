/**
 * The results of one answer's calls, as the provider wants them. Invariant: they come in the order in which the model asked, whatever the
 * order in which they came, and only when every one of them is there.
 */
import { messageOf } from './ledger';
import { wireIdOf } from './names';
import type { Round, SessionView } from './session-view';
import { isFinished, type FinishedStatus } from './vocabulary';

export interface ToolResult {
  readonly callId: string;
  readonly wireId: string;
  readonly status: FinishedStatus;
  readonly resultDigest: string | null;
  readonly errorCode: string | null;
  /** What the model is told of a failure that has no content of its own. */
  readonly errorMessage: string | null;
}

/** Null while a call of the round is not finished. */
export function resultsInOrder(view: SessionView, round: Round): readonly ToolResult[] | null {
  const results: ToolResult[] = [];
  for (const index of round.calls.keys()) {
    const callId = view.callIdAt(round, index);
    const call = view.calls.get(callId);
    if (call === undefined || !isFinished(call.status)) return null;
    const { status, resultDigest, errorCode } = call;
    const errorMessage = errorCode === null ? null : messageOf(errorCode);
    results.push({ callId, wireId: wireIdOf(callId), status, resultDigest, errorCode, errorMessage });
  }
  return results;
}
