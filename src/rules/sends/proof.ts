/**
 * Which facts prove what about one effect. Invariant: `absent` and `committed` are only ever said with a proof of the closed
 * table below; whatever the table does not name is a wait (bounded) or `ambiguous`, and a look-up that says committed or
 * ambiguous beats every slot.
 */
import type { KeyEnforcement, LookupStrength, SideEffectClass, SinkAnswer } from './traits';
import { openSlots, quietMs, type Slot } from './slot';

export const ABSENT_PROOFS = ['never_begun', 'closed', 'not_sent', 'looked_up', 'resend_safe', 'attested'] as const;
export const COMMITTED_PROOFS = ['looked_up', 'acked', 'attested'] as const;
export type AbsentProof = (typeof ABSENT_PROOFS)[number];
export type CommittedProof = (typeof COMMITTED_PROOFS)[number];

/** Why an effect stays unproven; shown to the person who must decide. */
export const DOUBTS = [
  'lookup_failed',
  'in_flight_too_long',
  'outcome_unknown',
  'acked_but_absent',
  'committed_then_absent',
  'beyond_horizon',
  'attempts_exhausted',
] as const;
export type Doubt = (typeof DOUBTS)[number];

export type Verdict =
  | { readonly state: 'absent'; readonly proof: AbsentProof }
  | { readonly state: 'committed'; readonly proof: CommittedProof; readonly externalId: string | null }
  /** The sink holds another operation under our key. */
  | { readonly state: 'changed'; readonly operationDigest: string }
  | { readonly state: 'ambiguous'; readonly doubt: Doubt }
  /** Not decidable yet: ask again after `waitMs` on a durable timer; `attempts` says whose quiet time is being waited for. */
  | { readonly state: 'wait'; readonly waitMs: number; readonly attempts: readonly number[] };

export interface SinkTraits {
  readonly sideEffect: SideEffectClass;
  readonly lookup: LookupStrength;
  readonly enforcesKey: KeyEnforcement;
  readonly deadlineMs: number;
  readonly settleMs: number;
  readonly horizonMs: number | null;
  readonly maxAttempts: number;
}

/** A person's signed word about one effect. */
export type Attestation =
  | { readonly says: 'committed'; readonly externalId: string | null }
  /** Nothing of the first so many attempts ever happened, or will. Of later ones it says nothing. */
  | { readonly says: 'absent'; readonly attempts: number };

export interface Facts {
  readonly traits: SinkTraits;
  readonly operationDigest: string;
  /** The chain already says committed. */
  readonly committed: boolean;
  /** `null` when the sink has no look-up. A failed look-up is `unknown`. */
  readonly answer: SinkAnswer | null;
  /** Every slot of the effect except one that this execution holds and has not used. */
  readonly slots: readonly Slot[];
  /** Milliseconds that durable timers have waited for an attempt of this effect (0: for the sink itself). */
  readonly waitedMs: (attempt: number) => number;
  /** Nothing will be sent again: what counts is whether it happened, not whether repeating it would do harm. */
  readonly ending: boolean;
  /** Counts only where everything else leaves the effect ambiguous. @default nobody has said anything */
  readonly attested?: Attestation | null;
  readonly now: number;
}

/** Waits for the sink itself, not for a slot, are booked under this attempt number. */
export const SINK_WAIT = 0;

const ASK_AGAIN_MS = 1_000;
const MOST_SENDS = 100;

export function judge(facts: Facts): Verdict {
  const verdict = proven(facts);
  return verdict.state === 'ambiguous' ? (attested(facts) ?? verdict) : verdict;
}

function attested(facts: Facts): Verdict | null {
  const word = facts.attested ?? null;
  if (word?.says === 'committed') return { state: 'committed', proof: 'attested', externalId: word.externalId };
  // What the chain says is committed stays so.
  if (word === null || facts.committed) return null;
  const later = facts.slots.filter((slot) => slot.attempt > word.attempts);
  const mayGoOn = facts.ending || !spent({ ...facts, slots: later });
  return coversAll(word.attempts, later) && mayGoOn ? { state: 'absent', proof: 'attested' } : null;
}

/** Whether what a person said of the first so many attempts says all: no later one can have changed anything. */
export function coversAll(attempts: number, slots: readonly Slot[]): boolean {
  return slots.every(({ attempt, record, end }) => {
    return attempt <= attempts || record.state === 'closed' || (end !== null && end.outcome !== 'acked');
  });
}

function proven(facts: Facts): Verdict {
  const { answer, operationDigest } = facts;
  if (answer?.state === 'committed') {
    return answer.operationDigest === operationDigest
      ? { state: 'committed', proof: 'looked_up', externalId: answer.externalId }
      : { state: 'changed', operationDigest: answer.operationDigest };
  }
  if (answer?.state === 'in_flight') return patience(facts, 'in_flight_too_long', answer.retryAfterMs);
  const unanswered = answer === null && facts.traits.lookup === 'authoritative';
  if (answer?.state === 'unknown' || unanswered) return patience(facts, 'lookup_failed');
  const acked = facts.slots.find((slot) => slot.end?.outcome === 'acked');
  if (acked !== undefined) {
    // A hint or no look-up at all cannot contradict a durable end record; an authoritative look-up can.
    return facts.traits.lookup === 'authoritative'
      ? patience(facts, 'acked_but_absent')
      : { state: 'committed', proof: 'acked', externalId: acked.end?.externalId ?? null };
  }
  if (facts.committed) return patience(facts, 'committed_then_absent');
  const verdict = absence(facts);
  return verdict.state === 'absent' && !facts.ending && spent(facts) ? doubt('attempts_exhausted') : verdict;
}

/** Nothing says committed: is it proven that nothing happened? */
function absence(facts: Facts): Verdict {
  const { traits, slots } = facts;
  const open = openSlots(slots);
  if (open.length > 0 && resendSafe(facts)) return { state: 'absent', proof: 'resend_safe' };
  const unquiet = open.filter((slot) => facts.waitedMs(slot.attempt) < quietMs(slot));
  if (unquiet.length > 0) return waitForQuiet(facts, unquiet);
  if (traits.lookup === 'authoritative') {
    return withinHorizon(facts) ? { state: 'absent', proof: 'looked_up' } : doubt('beyond_horizon');
  }
  if (open.length > 0) return doubt('outcome_unknown');
  if (slots.length === 0) return { state: 'absent', proof: 'never_begun' };
  const begun = slots.some((slot) => slot.record.state === 'begun');
  return { state: 'absent', proof: begun ? 'not_sent' : 'closed' };
}

/** Sending again cannot do harm: it only reads, or the sink itself still refuses a second write under this key. */
function resendSafe(facts: Facts): boolean {
  const { sideEffect, enforcesKey } = facts.traits;
  if (sideEffect === 'read_only') return true;
  // Where nothing is sent again, an earlier send that may still land must be waited for like any other.
  if (facts.ending || spent(facts)) return false;
  if (enforcesKey === 'always') return true;
  return enforcesKey === 'within_horizon' && withinHorizon(facts);
}

/** The horizon is counted from the first begun slot, with a whole send's time to spare. */
function withinHorizon(facts: Facts): boolean {
  const { horizonMs, deadlineMs, settleMs } = facts.traits;
  if (horizonMs === null) return true;
  const begun = facts.slots.filter((slot) => slot.record.state === 'begun').map((slot) => slot.record.openedAt);
  return begun.length === 0 || facts.now + deadlineMs + settleMs < Math.min(...begun) + horizonMs;
}

/** Attempts that may have changed the sink are counted; those proven not sent or refused are only bounded. */
function spent(facts: Facts): boolean {
  const begun = facts.slots.filter((slot) => slot.record.state === 'begun');
  const risky = begun.filter((slot) => slot.end === null || slot.end.outcome === 'acked');
  return risky.length >= facts.traits.maxAttempts || begun.length >= MOST_SENDS;
}

function doubt(reason: Doubt): Verdict {
  return { state: 'ambiguous', doubt: reason };
}

/** The sink's answer is no answer yet: ask again, ever more slowly, until every open slot is quiet and the sink had its own time too. */
function patience(facts: Facts, reason: Doubt, retryAfterMs?: number): Verdict {
  const unquiet = openSlots(facts.slots).filter((slot) => facts.waitedMs(slot.attempt) < quietMs(slot));
  const sinkLeft = facts.traits.deadlineMs + facts.traits.settleMs - facts.waitedMs(SINK_WAIT);
  if (unquiet.length === 0 && sinkLeft <= 0) return doubt(reason);
  const longest = Math.max(sinkLeft, ...unquiet.map((slot) => quietMs(slot) - facts.waitedMs(slot.attempt)));
  const waitMs = Math.max(1, Math.min(longest, Math.max(retryAfterMs ?? 0, ASK_AGAIN_MS, facts.waitedMs(SINK_WAIT))));
  return { state: 'wait', waitMs, attempts: [SINK_WAIT, ...unquiet.map((slot) => slot.attempt)] };
}

function waitForQuiet(facts: Facts, unquiet: readonly Slot[]): Verdict {
  const longest = Math.max(...unquiet.map((slot) => quietMs(slot) - facts.waitedMs(slot.attempt)));
  return { state: 'wait', waitMs: Math.max(1, longest), attempts: unquiet.map((slot) => slot.attempt) };
}
