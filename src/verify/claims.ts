/**
 * Which proofs of a witness can stand beside the slots of its effect, as a table over every proof and doubt. Invariant: a
 * contradiction is only claimed where no order of any drivers' steps, crashes and pauses could have led to it.
 *
 * Slots and ends never change, so what a proof needed to exist must still exist. What must *not* have existed is harder, as
 * a slot may have been taken after the look: only attempt 1, begun under a head before the checkpoint, speaks against
 * `never_begun`, for a driver that takes over closes attempt 1 before it begins another.
 * `attested` needs a stored word of a person about this effect. Nothing is claimed of `looked_up` or `lookup_failed`: the sink
 * alone knows.
 */
import type { EffectRecord, RecoveryCheckpoint } from '../rules/recovery';
import { commitEvidenceDigest } from '../rules/sends/evidence';
import type { AbsentProof, CommittedProof, Doubt } from '../rules/sends/proof';
import type { Slot } from '../rules/sends/slot';
import type { ProvenObservation, Witness } from '../rules/sends/witness';
import type { Word } from './receipts';

interface Claim {
  readonly effect: EffectRecord;
  readonly slots: readonly Slot[];
  readonly evidence: string | null;
  /** What people said about this effect. */
  readonly words: readonly Word[];
  /** Whether the slot was taken under a head of this lineage before the witnessed checkpoint. */
  readonly before: (slot: Slot) => boolean;
}
type Holds = (claim: Claim) => boolean;

const begun = (slot: Slot): boolean => slot.record.state === 'begun';
const anything: Holds = () => true;
const someBegun: Holds = ({ slots }) => slots.some(begun);

const ABSENT: Record<AbsentProof, Holds> = {
  never_begun: ({ slots, before }) => slots[0] === undefined || !begun(slots[0]) || !before(slots[0]),
  closed: ({ slots }) => slots[0]?.record.state === 'closed',
  not_sent: ({ slots }) => slots.some(({ end }) => end?.outcome === 'not_sent' || end?.outcome === 'refused'),
  looked_up: anything,
  resend_safe: someBegun,
  attested: ({ words }) => words.some(({ says }) => says === 'absent'),
};

const COMMITTED: Record<CommittedProof, Holds> = {
  looked_up: anything,
  acked: ({ slots, effect, evidence }) =>
    slots.some(
      ({ end }) =>
        end?.outcome === 'acked' && commitEvidenceDigest({ ...effect, externalId: end.externalId }) === evidence,
    ),
  attested: ({ words, effect, evidence }) =>
    words.some(
      ({ says, externalId }) => says === 'committed' && commitEvidenceDigest({ ...effect, externalId }) === evidence,
    ),
};

const DOUBTED: Record<Doubt, Holds> = {
  lookup_failed: anything,
  in_flight_too_long: anything,
  outcome_unknown: someBegun,
  acked_but_absent: ({ slots }) => slots.some(({ end }) => end?.outcome === 'acked'),
  committed_then_absent: ({ effect }) => effect.state === 'committed',
  beyond_horizon: someBegun,
  attempts_exhausted: someBegun,
};

function holds(found: ProvenObservation, claim: Claim): boolean {
  switch (found.state) {
    case 'absent':
      return ABSENT[found.proof](claim);
    case 'committed':
      return COMMITTED[found.proof]({ ...claim, evidence: found.evidence });
    case 'ambiguous':
      return DOUBTED[found.doubt](claim);
    case 'changed':
      return true;
  }
}

/** The word that one observation rests on, for a message. */
function basis(found: ProvenObservation): string {
  if (found.state === 'ambiguous') return found.doubt;
  return found.state === 'changed' ? 'changed' : found.proof;
}

export interface Contradiction {
  readonly ordinal: number;
  readonly key: string;
  readonly basis: string;
}

/** `head` is the checkpoint that the witness's driver stood on. */
export function contradictions(
  lineage: number,
  head: RecoveryCheckpoint,
  witness: Witness,
  slotsOf: (key: string) => readonly Slot[],
  allWords: readonly Word[],
): readonly Contradiction[] {
  const found: Contradiction[] = [];
  const before = ({ record }: Slot): boolean =>
    record.head.lineage === lineage && record.head.sequence <= Number(head.sequence);
  for (const [ordinal, effect] of head.effects.entries()) {
    const seen = witness.observations[ordinal];
    if (seen === undefined) continue;
    const slots = slotsOf(effect.idempotencyKey);
    const key = effect.idempotencyKey;
    const words = allWords.filter(({ actionId }) => actionId === effect.actionId);
    if (!holds(seen, { effect, slots, evidence: null, words, before }))
      found.push({ ordinal, key, basis: basis(seen) });
    if (witness.refusal?.ordinal === ordinal && !refusedAs(slots, witness.refusal.code)) {
      found.push({ ordinal, key, basis: 'refused' });
    }
  }
  return found;
}

function refusedAs(slots: readonly Slot[], code: string): boolean {
  return slots.some(({ end }) => end?.outcome === 'refused' && end.code === code);
}
