/**
 * The chain inside a workflow. Invariant: every checkpoint that the journal is said to hold is derived here again, from the
 * plan and the witnesses, with the same rules; a digest that differs stops the plan, so a history proves its own chain.
 */
import type { DriveResult } from '../activities/contract';
import { planFromRecord, openingCheckpoint, type GovernedPlan } from '../rules/plans/plan';
import type { Dict } from '../rules/fields';
import { RecoveryError, validateSuccessor, type RecoveryCheckpoint } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import { deriveNext, witnessFromRecord, type ProvenObservation, type Witness } from '../rules/sends/witness';
import type { EffectOutcome, KnownHead } from './messages';

export class ChainKeeper {
  readonly plan: GovernedPlan;
  readonly digests: string[] = [];
  head: RecoveryCheckpoint | null = null;
  journalId: string | null;
  private lastWitness: Witness | null = null;

  constructor(
    readonly record: Dict,
    readonly known: KnownHead | null,
    journalId: string | null = null,
  ) {
    this.plan = planFromRecord(record);
    this.journalId = known?.journal_id ?? journalId;
  }

  get expectedHead(): { sequence: number; digest: string } | null {
    return this.head === null ? null : { sequence: Number(this.head.sequence), digest: this.head.checkpointDigest };
  }

  /** The head that an earlier run knew, while this one has not derived its way there. */
  get unseenHead(): { sequence: number; digest: string } | null {
    const { known, digests } = this;
    const seen = known === null || digests.length > known.sequence;
    return seen ? null : { sequence: known.sequence, digest: known.digest };
  }

  /** Where this history stands, for the run that continues it. */
  get position(): KnownHead | undefined {
    const head = this.expectedHead;
    return head === null || this.journalId === null
      ? (this.known ?? undefined)
      : { journal_id: this.journalId, ...head };
  }

  /** Derives what the result says was appended or adopted; throws `Refusal` when it does not follow. */
  accept(result: DriveResult): void {
    if (!isWellFormed(result)) throw divergence((this.expectedHead?.sequence ?? -1) + 1);
    if (this.journalId === null && result.journal_id !== '') this.journalId = result.journal_id;
    if (result.head === null) return;
    let head = this.head ?? openingCheckpoint(this.plan);
    const digests = this.head === null ? [head.checkpointDigest] : [];
    let witness = this.lastWitness;
    for (const step of result.steps) {
      const next = successor(head, step);
      if (next === null) throw divergence(Number(head.sequence) + 1);
      const { checkpoint } = next;
      witness = next.witness;
      digests.push(checkpoint.checkpointDigest);
      head = checkpoint;
    }
    if (head.checkpointDigest !== result.head.digest) throw divergence(result.head.sequence);
    const all = [...this.digests, ...digests];
    const { known } = this;
    // A long chain is handed over in pieces, each `stopped`.
    const onTheWay = result.status === 'stopped' && all.length <= (known?.sequence ?? 0);
    if (known !== null && !onTheWay && all[known.sequence] !== known.digest) {
      throw new Refusal(
        'journal_behind',
        'the journal does not hold the head that the earlier run of this workflow knew',
      );
    }
    this.digests.push(...digests);
    this.head = head;
    this.lastWitness = witness;
  }

  get refusal(): Witness['refusal'] {
    return this.lastWitness?.refusal ?? null;
  }

  effects(): readonly (EffectOutcome & { ordinal: number; doubt: string | null })[] {
    return this.plan.effects.map((effect, ordinal) => {
      const record = this.head?.effects[ordinal];
      const found = this.lastWitness?.observations[ordinal];
      const committed = record?.state === 'committed';
      return {
        ordinal,
        action_id: effect.actionId,
        tool_id: effect.toolId,
        state: committed ? 'committed' : isUnknown(found) ? 'unknown' : 'not_sent',
        evidence: record?.commitEvidenceDigest ?? null,
        doubt: found?.state === 'ambiguous' ? found.doubt : null,
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

/** Null when the step is no witness, derives another checkpoint, or one that may not stand behind `head`. */
function successor(head: RecoveryCheckpoint, step: Dict): { checkpoint: RecoveryCheckpoint; witness: Witness } | null {
  try {
    const witness = witnessFromRecord(step);
    const { checkpoint } = deriveNext(head, witness);
    validateSuccessor(head, checkpoint, head.sequence + 1n);
    return checkpoint.checkpointDigest === witness.checkpointDigest ? { checkpoint, witness } : null;
  } catch (fault) {
    if (fault instanceof Refusal || fault instanceof RecoveryError) return null;
    throw fault;
  }
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
