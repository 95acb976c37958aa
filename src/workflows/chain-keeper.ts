/**
 * The chain inside a workflow. Invariant: every checkpoint that the journal is said to hold is derived here again, from the
 * plan and the witnesses, with the same rules; a digest that differs stops the plan, so a history proves its own chain.
 */
import type { DriveResult } from '../activities/contract';
import type { AllowedWorkers } from '../activities/tool-contract';
import { planFromRecord, openingCheckpoint, type GovernedPlan } from '../rules/plans/plan';
import type { Dict } from '../rules/fields';
import { RecoveryError, validateSuccessor, type RecoveryCheckpoint } from '../rules/recovery';
import { isReason } from '../rules/receipts/claims';
import { Refusal } from '../rules/refusal';
import type { Ground } from '../rules/sends/ground';
import { deriveNext, witnessFromRecord, type ProvenObservation, type Witness } from '../rules/sends/witness';
import type { EffectOutcome, KnownHead } from './messages';

export class ChainKeeper {
  readonly plan: GovernedPlan;
  /** Digests of each lineage, the first one first; those of a lineage in order of their sequence. */
  readonly lineages: string[][] = [[]];
  head: RecoveryCheckpoint | null = null;
  journalId: string | null;
  /** A drive did not come back, or another execution drove before: a refusal is then a question to a person, not the end. */
  mayHaveBegun: boolean;
  /** A person has said that something is to be sent once more. */
  sentByWord = false;
  /** Workers that may send it; null for every worker. */
  allow: AllowedWorkers | null = null;
  /** The code that a person gave for ending the plan. */
  reasonGiven: string | null = null;
  private lastWitness: Witness | null = null;

  constructor(
    readonly record: Dict,
    readonly known: KnownHead | null,
    journalId: string | null = null,
    /** The call of a tool session that the plan is, for its handler to know. */
    readonly callId: string | null = null,
  ) {
    this.plan = planFromRecord(record);
    this.journalId = known?.journal_id ?? journalId;
    this.mayHaveBegun = known !== null;
  }

  get lineage(): number {
    return this.lineages.length;
  }

  /** Of the lineage that this chain has come to. */
  get digests(): readonly string[] {
    return this.lineages.at(-1) ?? [];
  }

  get expectedHead(): { sequence: number; digest: string } | null {
    return this.head === null ? null : { sequence: Number(this.head.sequence), digest: this.head.checkpointDigest };
  }

  /** The head that an earlier run knew, while this one has not derived its way there. */
  get unseenHead(): { lineage?: number; sequence: number; digest: string } | null {
    const { known } = this;
    if (known === null || digestAt(this.lineages, known) !== undefined) return null;
    const { journal_id: _journal, ...head } = known;
    return head;
  }

  /** Where this history stands, for the run that continues it. */
  get position(): KnownHead | undefined {
    const { expectedHead: head, journalId, lineage } = this;
    if (head === null || journalId === null) return this.known ?? undefined;
    return { journal_id: journalId, ...(lineage === 1 ? {} : { lineage }), ...head };
  }

  /** Derives what the result says was appended or adopted; throws `Refusal` when it does not follow. */
  accept(result: DriveResult): void {
    if (!isWellFormed(result)) throw divergence((this.expectedHead?.sequence ?? -1) + 1);
    if (result.status === 'done') this.reasonGiven = reasonIn(result);
    if (this.journalId === null && result.journal_id !== '') this.journalId = result.journal_id;
    if (result.head === null) return;
    let head = this.head ?? openingCheckpoint(this.plan);
    const lineages = this.lineages.map((digests) => [...digests]);
    if (this.head === null) lineages.at(-1)?.push(head.checkpointDigest);
    let witness = this.lastWitness;
    for (const step of result.steps) {
      const next = successor(head, step, lineages.length);
      if (next === null) throw divergence(Number(head.sequence) + 1);
      const { checkpoint } = next;
      witness = next.witness;
      if (isAttestedAbsent(witness)) this.sentByWord = true;
      if (witness.step === 'opened') lineages.push([]);
      lineages.at(-1)?.push(checkpoint.checkpointDigest);
      head = checkpoint;
    }
    if (head.checkpointDigest !== result.head.digest) throw divergence(result.head.sequence);
    const { known } = this;
    const met = known === null ? undefined : digestAt(lineages, known);
    // A long chain is handed over in pieces, each `stopped`.
    if (known !== null && met !== known.digest && !(met === undefined && result.status === 'stopped')) {
      throw new Refusal(
        'journal_behind',
        'the journal does not hold the head that the earlier run of this workflow knew',
      );
    }
    this.lineages.splice(0, this.lineages.length, ...lineages);
    this.head = head;
    this.lastWitness = witness;
  }

  get refusal(): Witness['refusal'] {
    return this.lastWitness?.refusal ?? null;
  }

  /** What people said that ended the plan. */
  get denial(): (Ground & { kind: 'denial' }) | null {
    const ground = this.lastWitness?.ground;
    return ground?.kind === 'denial' ? ground : null;
  }

  /** When the sinks were asked last, unix milliseconds. */
  get observedAt(): number | null {
    return this.lastWitness === null || this.lastWitness.observations.length === 0 ? null : this.lastWitness.now;
  }

  /** `underWay`: whoever drives may have sent since what the last checkpoint allowed. */
  effects(
    underWay = false,
  ): readonly (EffectOutcome & { ordinal: number; doubt: string | null; proof: string | null })[] {
    return this.plan.effects.map((effect, ordinal) => {
      const record = this.head?.effects[ordinal];
      const committed = record?.state === 'committed';
      const mayBeSent = underWay && !committed && this.head?.phase === 'dispatching';
      const found = mayBeSent ? undefined : this.lastWitness?.observations[ordinal];
      return {
        ordinal,
        action_id: effect.actionId,
        tool_id: effect.toolId,
        state: committed ? 'committed' : mayBeSent || isUnknown(found) ? 'unknown' : 'not_sent',
        evidence: record?.commitEvidenceDigest ?? null,
        doubt: found?.state === 'ambiguous' ? found.doubt : null,
        proof: found !== undefined && 'proof' in found ? found.proof : null,
      };
    });
  }
}

/** A result may come from a worker of another version: what is not of the expected form is not followed. */
function isWellFormed({ journal_id, steps, head }: { readonly [Field in keyof DriveResult]?: unknown }): boolean {
  const { sequence, digest } = (head ?? {}) as { sequence?: unknown; digest?: unknown };
  const sound = head === null || (Number.isSafeInteger(sequence) && typeof digest === 'string');
  return sound && typeof journal_id === 'string' && Array.isArray(steps);
}

function digestAt(
  lineages: readonly (readonly string[])[],
  { lineage = 1, sequence }: { readonly lineage?: number; readonly sequence: number },
): string | undefined {
  return lineages[lineage - 1]?.[sequence];
}

/** Null when the step is no witness, derives another checkpoint, or one that may not stand behind `head`. */
function successor(
  head: RecoveryCheckpoint,
  step: Dict,
  lineage: number,
): { checkpoint: RecoveryCheckpoint; witness: Witness } | null {
  try {
    const witness = witnessFromRecord(step);
    const { checkpoint } = deriveNext(head, witness);
    const { ground } = witness;
    if (ground?.kind === 'opening') {
      if (ground.lineage !== lineage + 1) return null;
      validateSuccessor(null, checkpoint, 0n);
    } else {
      validateSuccessor(head, checkpoint, head.sequence + 1n);
    }
    return checkpoint.checkpointDigest === witness.checkpointDigest ? { checkpoint, witness } : null;
  } catch (fault) {
    if (fault instanceof Refusal || fault instanceof RecoveryError) return null;
    throw fault;
  }
}

function reasonIn({ reason_given: reason }: { readonly reason_given?: unknown }): string | null {
  return typeof reason === 'string' && isReason(reason) ? reason : null;
}

function isAttestedAbsent({ observations }: Witness): boolean {
  return observations.some((found) => found.state === 'absent' && found.proof === 'attested');
}

function isUnknown(found: ProvenObservation | undefined): boolean {
  return found?.state === 'ambiguous' || found?.state === 'changed';
}

function divergence(sequence: number): Refusal {
  return new Refusal(
    'chain_divergence',
    `checkpoint ${sequence} of the journal does not follow from its witness; compare worker versions and the journal`,
  );
}
