/**
 * A closed chain as its author sees it. Invariant: a call answers only when every effect of it is committed; whatever else
 * became of it is thrown, and says of each effect whether it is committed, not sent, or unknown.
 */
import { ApplicationFailure, CancelledFailure } from '@temporalio/workflow';
import { refTo } from '../rules/calls/ref';
import type { EffectResult } from '../rules/calls/signature';
import { approvalRejected } from './approval-rejected';
import type { EffectOutcome } from './messages';
import type { DriveLoop } from './drive-loop';

/** An effect by its author's own names. */
export interface CallName {
  readonly effect: string;
  readonly id: string;
}

/** `details[0]` of a `CancelledFailure`, and of the failure `EffectCancelled`. */
export interface CancelledDetails {
  readonly committed: readonly CallName[];
  readonly notSent: readonly CallName[];
  /** Nobody could prove it; look at the sink. */
  readonly unknown: readonly CallName[];
}

/** `details[0]` of the failure `EffectRejected`. */
export interface RejectedDetails extends CancelledDetails, CallName {
  /** The sink's own word for why. */
  readonly code: string;
}

export function resultsOf(loop: DriveLoop, names: readonly CallName[], cancelled: boolean): readonly EffectResult[] {
  const { chain } = loop;
  const outcomes = chain.effects();
  if (chain.head?.phase !== 'completed') throw failureOf(loop, names, cancelled);
  return outcomes.map(({ ordinal, action_id: actionId, evidence }) => {
    const found = loop.results.find((result) => result.ordinal === ordinal);
    return {
      exposed: found?.exposed ?? null,
      ref: typeof found?.result_digest === 'string' ? refTo(found.result_digest) : null,
      replayed: loop.replayed,
      runId: chain.plan.runId,
      actionId,
      evidence: evidence ?? '',
    };
  });
}

/** Before anything is known of a call: nothing is proven of its effects. */
export function cancelledUnseen(names: readonly CallName[]): CancelledFailure {
  return cancelledFailure({ committed: [], notSent: [], unknown: names.map(nameOnly) });
}

function failureOf({ chain }: DriveLoop, names: readonly CallName[], cancelled: boolean): Error {
  const outcomes = chain.effects();
  const of = (state: EffectOutcome['state']): readonly CallName[] =>
    outcomes.filter((effect) => effect.state === state).map(({ ordinal }) => nameOnly(names[ordinal] as CallName));
  const details: CancelledDetails = { committed: of('committed'), notSent: of('not_sent'), unknown: of('unknown') };
  const { refusal } = chain;
  if (refusal !== null) {
    const { effect, id } = names[refusal.ordinal] as CallName;
    const rejected: RejectedDetails = { code: refusal.code, effect, id, ...details };
    const message = `the sink of "${effect}" refused it: ${refusal.code}; use another id to try it with other arguments`;
    return ApplicationFailure.create({ type: 'EffectRejected', nonRetryable: true, message, details: [rejected] });
  }
  if (chain.denial !== null) return approvalRejected(chain.denial, [details]);
  if (cancelled) return cancelledFailure(details);
  const message = 'this call was cancelled before, and stays so; use another id to do it after all';
  return ApplicationFailure.create({ type: 'EffectCancelled', nonRetryable: true, message, details: [details] });
}

function cancelledFailure(details: CancelledDetails): CancelledFailure {
  return new CancelledFailure('the effects were cancelled', [details]);
}

function nameOnly({ effect, id }: CallName): CallName {
  return { effect, id };
}
