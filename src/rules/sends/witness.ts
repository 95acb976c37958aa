/**
 * Witnesses: what the decision behind one checkpoint saw. Invariant: a checkpoint is a pure function of its predecessor and
 * its witness, so whoever holds both can derive it again and compare digests; a witness holds no content.
 */
import {
  EffectObservation,
  RecoveryCheckpoint,
  advanceCheckpoint,
  canonicalJson,
  commitEffect,
  isDigest,
  recoverFromHead,
  type ObservationState,
  type RecoveryDecision,
} from '../recovery';
import { Fields, parseRecord, type Dict } from '../fields';
import { Refusal } from '../refusal';
import { groundFromWitness, groundToFields, type Ground, type GroundKind } from './ground';
import { ABSENT_PROOFS, COMMITTED_PROOFS, DOUBTS, type AbsentProof, type CommittedProof, type Doubt } from './proof';

export const WITNESS_SCHEMA_VERSION = 'countersign.witness.v1';

/** What was found for one effect, with what makes it count. In ordinal order in a witness. */
export type ProvenObservation =
  | { readonly state: 'absent'; readonly proof: AbsentProof }
  | { readonly state: 'committed'; readonly proof: CommittedProof; readonly evidence: string }
  | { readonly state: 'ambiguous'; readonly doubt: Doubt }
  | { readonly state: 'changed'; readonly operationDigest: string };

/**
 * How the checkpoint follows. `advance` is the contract's own step; `refused`, `cancelled` and `denied` end the plan; `approved`
 * records an approval; `opened` begins the next lineage with what is committed in this one.
 */
export const WITNESS_STEPS = ['advance', 'refused', 'cancelled', 'denied', 'approved', 'opened'] as const;
export type WitnessStep = (typeof WITNESS_STEPS)[number];

/** Whether a step looks at the sinks, and what it rests on beside them. */
export const STEP_RESTS_ON: Record<
  WitnessStep,
  { readonly observed: boolean; readonly ground: { readonly kind: GroundKind; readonly always: boolean } | null }
> = {
  advance: { observed: true, ground: null },
  refused: { observed: true, ground: null },
  cancelled: { observed: true, ground: { kind: 'resolution', always: false } },
  denied: { observed: true, ground: { kind: 'denial', always: true } },
  approved: { observed: false, ground: { kind: 'approval', always: true } },
  opened: { observed: false, ground: { kind: 'opening', always: true } },
};

export interface Witness {
  readonly step: WitnessStep;
  /** Unix milliseconds, as given to the decision. */
  readonly now: number;
  readonly observations: readonly ProvenObservation[];
  /** The effect that its sink refused, and the sink's code. */
  readonly refusal: { readonly ordinal: number; readonly code: string } | null;
  /** What people said. */
  readonly ground?: Ground;
  readonly checkpointDigest: string;
}

export interface Derived {
  readonly checkpoint: RecoveryCheckpoint;
  /** Null where the sinks are not asked. */
  readonly decision: RecoveryDecision | null;
}

const OBSERVED_AS = {
  absent: 'absent',
  committed: 'committed',
  ambiguous: 'ambiguous',
  changed: 'ambiguous',
} as const satisfies Record<ProvenObservation['state'], ObservationState>;

/** The contract's observations of a head's effects. */
export function toObservations(
  head: RecoveryCheckpoint,
  proven: readonly ProvenObservation[],
): readonly EffectObservation[] {
  if (proven.length !== head.effects.length) {
    throw new Refusal('invalid_record', 'must hold one observation for every effect of the plan', 'observations');
  }
  return head.effects.map((effect, index) => {
    const found = proven[index] as ProvenObservation;
    return EffectObservation.create({
      actionId: effect.actionId,
      operationDigest: found.state === 'changed' ? found.operationDigest : effect.operationDigest,
      idempotencyKey: effect.idempotencyKey,
      state: OBSERVED_AS[found.state],
      commitEvidenceDigest: found.state === 'committed' ? found.evidence : null,
    });
  });
}

/** The one way in which a checkpoint follows from its predecessor. `witness.checkpointDigest` is not looked at. */
export function deriveNext(head: RecoveryCheckpoint, witness: Omit<Witness, 'checkpointDigest'>): Derived {
  const { ground } = witness;
  if (ground?.kind === 'approval') return { decision: null, checkpoint: approved(head, ground) };
  if (ground?.kind === 'opening') return { decision: null, checkpoint: reopened(head) };
  const decision = decideOn(head, witness);
  if (witness.step !== 'advance') return { decision, checkpoint: stop(head, decision, 'aborted') };
  // The contract cannot complete from the first two phases: a reconciling checkpoint must stand between.
  const early = head.phase === 'planned' || head.phase === 'approval_recorded';
  if (decision.disposition === 'complete' && early) {
    return { decision, checkpoint: stop(head, decision, 'reconciling') };
  }
  return { decision, checkpoint: advanceCheckpoint(head, decision) };
}

/** What the contract decides on what was observed. */
export function decideOn(
  head: RecoveryCheckpoint,
  { observations, now }: Pick<Witness, 'observations' | 'now'>,
): RecoveryDecision {
  return recoverFromHead(head, toObservations(head, observations), { now: BigInt(now) });
}

function approved(head: RecoveryCheckpoint, { digest, expiresAt }: Ground & { kind: 'approval' }): RecoveryCheckpoint {
  return RecoveryCheckpoint.create({
    ...head,
    sequence: head.sequence + 1n,
    phase: 'approval_recorded',
    approvalActionDigest: head.planDigest,
    approvalReceiptDigest: digest,
    approvalExpiresAt: BigInt(expiresAt),
    previousCheckpointDigest: head.checkpointDigest,
    recoveryEvidenceDigest: null,
  });
}

/** Checkpoint 0 of the next lineage: the plan anew, with what is committed. */
function reopened({ workflowId, runId, planDigest, effects }: RecoveryCheckpoint): RecoveryCheckpoint {
  return RecoveryCheckpoint.create({ workflowId, runId, planDigest, effects, sequence: 0n, phase: 'planned' });
}

function stop(
  head: RecoveryCheckpoint,
  decision: RecoveryDecision,
  phase: 'aborted' | 'reconciling',
): RecoveryCheckpoint {
  const committed = new Map(decision.committedEffects.map((item) => [item.actionId, item.commitEvidenceDigest]));
  return RecoveryCheckpoint.create({
    ...head,
    sequence: head.sequence + 1n,
    phase,
    previousCheckpointDigest: head.checkpointDigest,
    recoveryEvidenceDigest: decision.evidenceDigest,
    effects: head.effects.map((effect) => {
      const evidence = committed.get(effect.actionId);
      return evidence === undefined || effect.state === 'committed' ? effect : commitEffect(effect, evidence);
    }),
  });
}

export function witnessToRecord(witness: Witness): Dict {
  return {
    schema_version: WITNESS_SCHEMA_VERSION,
    step: witness.step,
    now: witness.now,
    observations: witness.observations.map(observationToDict),
    refusal: witness.refusal === null ? null : { ordinal: witness.refusal.ordinal, code: witness.refusal.code },
    ...groundToFields(witness.ground ?? null),
    checkpoint_digest: witness.checkpointDigest,
  };
}

export function witnessToText(witness: Witness): string {
  return canonicalJson(witnessToRecord(witness));
}

export function witnessFromRecord(value: unknown): Witness {
  const at = new Fields(value, 'witness');
  at.oneOf('schema_version', [WITNESS_SCHEMA_VERSION]);
  const step = at.oneOf('step', WITNESS_STEPS);
  const restsOn = STEP_RESTS_ON[step];
  const ground = restsOn.ground === null ? null : groundFromWitness(at, restsOn.ground.kind, restsOn.ground.always);
  const witness = {
    step,
    now: at.count('now'),
    observations: at.list('observations', restsOn.observed ? 1 : 0).map(observationFromDict),
    refusal: at.nullable('refusal', (field) => refusalFromDict(at.raw(field))),
    ...(ground === null ? {} : { ground }),
    checkpointDigest: at.text('checkpoint_digest', 'a sha256 digest', isDigest),
  };
  at.end();
  if ((step === 'refused') !== (witness.refusal !== null)) {
    at.refuse('belongs to a refused step, and only there', 'refusal');
  }
  if (!restsOn.observed && witness.observations.length > 0) at.refuse('must be empty in this step', 'observations');
  return witness;
}

export function witnessFromBytes(bytes: Uint8Array | string): Witness {
  return parseRecord(bytes, 'witness', witnessFromRecord);
}

function observationToDict(found: ProvenObservation): Dict {
  switch (found.state) {
    case 'absent':
      return { state: found.state, proof: found.proof };
    case 'committed':
      return { state: found.state, proof: found.proof, evidence: found.evidence };
    case 'ambiguous':
      return { state: found.state, doubt: found.doubt };
    case 'changed':
      return { state: found.state, operation_digest: found.operationDigest };
  }
}

const STATES = ['absent', 'committed', 'ambiguous', 'changed'] as const;

function observationFromDict(value: unknown, index: number): ProvenObservation {
  const at = new Fields(value, `witness.observations[${index}]`);
  const state = at.oneOf('state', STATES);
  const read: Record<ProvenObservation['state'], () => ProvenObservation> = {
    absent: () => ({ state: 'absent', proof: at.oneOf('proof', ABSENT_PROOFS) }),
    committed: () => ({
      state: 'committed',
      proof: at.oneOf('proof', COMMITTED_PROOFS),
      evidence: at.text('evidence', 'a sha256 digest', isDigest),
    }),
    ambiguous: () => ({ state: 'ambiguous', doubt: at.oneOf('doubt', DOUBTS) }),
    changed: () => ({
      state: 'changed',
      operationDigest: at.text('operation_digest', 'a sha256 digest', isDigest),
    }),
  };
  const found = read[state]();
  at.end();
  return found;
}

function refusalFromDict(value: unknown): { ordinal: number; code: string } {
  const at = new Fields(value, 'witness.refusal');
  const refusal = { ordinal: at.count('ordinal'), code: at.text('code', 'a short word', (text) => text.length <= 64) };
  at.end();
  return refusal;
}
