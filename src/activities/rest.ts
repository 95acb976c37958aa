/**
 * How a plan comes to rest: waiting for a sink, or parked for people. Invariant: each waited-for attempt is named, so that only a
 * durable timer credits it; a parked plan says why.
 */
import type { RecoveryCheckpoint, RecoveryDecision } from '../rules/recovery';
import { contentJson } from '../rules/plans/content-json';
import { decideOn, type Witness } from '../rules/sends/witness';
import type { DriveStatus, ParkReason } from './contract';
import { observationsOf, type Known } from './observe';
import { retryPauseMs } from './send';
import type { BatchEnd } from './send-batch';

/** The soonest wait of all; each waited-for attempt is credited with it. */
export function waitStatus(known: readonly Known[]): DriveStatus | null {
  const waits = known.flatMap(({ target, verdict }) => (verdict.state === 'wait' ? [{ target, verdict }] : []));
  if (waits.length === 0) return null;
  return {
    status: 'waiting',
    ms: Math.min(...waits.map(({ verdict }) => verdict.waitMs)),
    pending: waits.flatMap(({ target, verdict }) =>
      verdict.attempts.map((attempt) => [target.ordinal, attempt] as const),
    ),
  };
}

const LATE =
  'the time of a send was over before its request could leave: the journal or the sink answers too slowly; nothing was sent, and it is tried again by itself';

/** Not counted against the time that the sink has for an answer: it asked for the pause, or was not asked for anything. */
export function notSentStatus({ known, retryAfterMs, late }: Extract<BatchEnd, { ended: 'not_sent' }>): DriveStatus {
  const waiting = { status: 'waiting', ms: retryPauseMs(known.slots, retryAfterMs), pending: [] } as const;
  return late ? { ...waiting, message: LATE } : waiting;
}

export function reviewReason(decision: RecoveryDecision): ParkReason {
  switch (decision.reason) {
    case 'effect_mismatch':
    case 'approval_missing':
    case 'approval_expired':
      return decision.reason;
    default:
      return 'ambiguous_effect';
  }
}

export function reviewMessage(decision: RecoveryDecision): string {
  return `${reviewReason(decision)}: nothing is sent until a person has looked at the sink and decided`;
}

/**
 * The question that the head already asks, when what is found now is what was found then: it is not recorded again, so that an
 * answer to it that is being signed stays good however often somebody looks.
 */
export async function sameQuestion(
  head: RecoveryCheckpoint,
  known: readonly Known[],
  now: number,
  witness: () => Promise<Witness | null>,
): Promise<RecoveryDecision | null> {
  if (head.phase !== 'reconciling') return null;
  const observations = observationsOf(known);
  const decision = decideOn(head, { observations, now });
  if (decision.disposition !== 'review_required') return null;
  const before = await witness();
  return before !== null && contentJson(before.observations) === contentJson(observations) ? decision : null;
}

/** A refusal ends the plan, also when its sender did not live to say so: the end record does. */
export function refusalIn(known: readonly Known[]): Witness['refusal'] {
  for (const { target, slots, verdict } of known) {
    const code = slots.find((slot) => slot.end?.outcome === 'refused')?.end?.code;
    if (typeof code === 'string' && verdict.state === 'absent') return { ordinal: target.ordinal, code };
  }
  return null;
}
