/**
 * What is known of every effect right now. Invariant: slots are listed before sinks are asked, so that a send begun in
 * between is seen by the look-up or counted as begun, never missed by both.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import { commitEvidenceDigest } from '../rules/sends/evidence';
import { judge, type Attestation, type Facts, type Verdict } from '../rules/sends/proof';
import type { Slot } from '../rules/sends/slot';
import type { ProvenObservation } from '../rules/sends/witness';
import type { DriveRequest } from './contract';
import type { Caller, Engine } from './engine';
import { lookUp, type Target } from './look-up';
import type { Permission } from './permission';
import { traitsOf } from './registry';
import { waitedFor, type Held } from './takeover';

export interface Known {
  readonly target: Target;
  readonly slots: readonly Slot[];
  readonly waitedMs: (attempt: number) => number;
  readonly verdict: Verdict;
  /** What a person said of it, where nothing else could tell. */
  readonly attested: Attestation | null;
}

export async function observeAll(
  engine: Engine,
  caller: Caller,
  runId: string,
  held: Held | null,
  head: RecoveryCheckpoint,
  targets: readonly Target[],
  request: Pick<DriveRequest, 'waited' | 'intent'>,
  permission: Permission | null = null,
): Promise<readonly Known[]> {
  const used = await engine.journal.keysWithSlots(runId);
  const slots = await Promise.all(
    targets.map(({ item }) =>
      used.has(item.idempotencyKey) ? engine.journal.slots(runId, item.idempotencyKey) : Promise.resolve([]),
    ),
  );
  const answers = await lookUp(engine, targets);
  const now = engine.now();
  const refused = slots.some((list) => list.some(({ end }) => end?.outcome === 'refused'));
  const ending = refused || request.intent === 'cancel';
  const claimed = new Map(request.waited.map(([ordinal, attempt, ms]) => [`${ordinal}/${attempt}`, ms]));
  const found = targets.map((target, index) => {
    const own = slots[index] ?? [];
    const waitedMs = (attempt: number): number => {
      const ms = claimed.get(`${target.ordinal}/${attempt}`) ?? 0;
      if (held === null) return ms;
      return waitedFor(
        own.find((slot) => slot.attempt === attempt),
        ms,
        held,
        caller,
      );
    };
    const facts: Facts = {
      traits: traitsOf(target.definition, target.demand?.sideEffect),
      operationDigest: target.item.operationDigest,
      committed: head.effects[target.ordinal]?.state === 'committed',
      answer: answers[index] ?? null,
      slots: own,
      waitedMs,
      ending,
      now,
    };
    return { target, slots: own, waitedMs, verdict: judge(facts), attested: null, facts };
  });
  if (permission === null) return found;
  return Promise.all(
    found.map((known) => {
      const evidence = head.effects[known.target.ordinal]?.commitEvidenceDigest ?? null;
      return mayNeedAWord(known, evidence) ? withWord(known, known.facts, evidence, permission) : known;
    }),
  );
}

/** In doubt; or found under another name than the one under which the chain has it, which a person may have given. */
function mayNeedAWord({ verdict, target }: Known, evidence: string | null): boolean {
  if (verdict.state === 'ambiguous') return true;
  if (verdict.state !== 'committed' || evidence === null) return false;
  return commitEvidenceDigest({ ...target.item, externalId: verdict.externalId }) !== evidence;
}

async function withWord(known: Known, facts: Facts, evidence: string | null, permission: Permission): Promise<Known> {
  const attested = await permission.attestation(known.target, evidence, known.slots);
  if (attested?.says === 'committed' && known.verdict.state === 'committed') {
    const { externalId } = attested;
    return { ...known, attested, verdict: { state: 'committed', proof: 'attested', externalId } };
  }
  return { ...known, attested, verdict: judge({ ...facts, attested }) };
}

/** What the decision may rely on; null while an effect must still be waited for. */
export function proven(known: Known): ProvenObservation | null {
  const { verdict, target } = known;
  switch (verdict.state) {
    case 'wait':
      return null;
    case 'committed':
      return {
        state: 'committed',
        proof: verdict.proof,
        evidence: commitEvidenceDigest({ ...target.item, externalId: verdict.externalId }),
      };
    default:
      return verdict;
  }
}

/** Where nothing is to be waited for. */
export function observationsOf(known: readonly Known[]): readonly ProvenObservation[] {
  return known.map(proven) as ProvenObservation[];
}
