/**
 * The chain as one execution extends it. Invariant: a checkpoint is appended only under the latest epoch, after its witness; when
 * another driver came in between, nothing was decided.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import { deriveNext, type Derived, type Witness } from '../rules/sends/witness';
import type { Engine } from './engine';
import type { Held } from './takeover';

export class Ledger {
  /** The witnesses of the checkpoints that this execution appended. */
  readonly steps: Witness[] = [];
  /** Another driver came in between: the epoch must be taken anew. */
  lost = false;

  constructor(
    private readonly engine: Engine,
    private readonly held: Held,
    /** The lineage and head that this execution has come to. */
    public lineage: number,
    public head: RecoveryCheckpoint,
  ) {}

  /** Null when it is lost. */
  async add(draft: Omit<Witness, 'checkpointDigest'>): Promise<Derived | null> {
    const { engine, head } = this;
    const derived = deriveNext(head, draft);
    const witness = { ...draft, checkpointDigest: derived.checkpoint.checkpointDigest };
    await engine.at?.('before_append');
    const outcome = (await this.mayWrite())
      ? await engine.journal.append(head.runId, this.lineage, head, derived.checkpoint, witness)
      : 'conflict';
    if (outcome === 'conflict') {
      this.lost = true;
      return null;
    }
    await engine.at?.('after_append');
    if (derived.checkpoint.phase === 'aborted' && (await this.isLeft())) {
      this.lost = true;
      return null;
    }
    this.steps.push(witness);
    this.head = derived.checkpoint;
    return derived;
  }

  /**
   * Whether another driver has opened the next lineage meanwhile. Of an end here and an opening there, which stand in different
   * places, at least one sees the other: the opening has to be there before anybody looks for an end behind it.
   */
  private async isLeft(): Promise<boolean> {
    const { engine, head, lineage } = this;
    return (await engine.journal.receipts(head.runId).lineage(lineage + 1)) !== null;
  }

  /** Begins the lineage whose number was taken for it. It follows from that alone, so whoever has the turn may. */
  async open(witness: Witness): Promise<void> {
    const { engine, head } = this;
    const { checkpoint } = deriveNext(head, witness);
    await engine.at?.('before_append');
    if ((await engine.journal.append(head.runId, this.lineage + 1, null, checkpoint, witness)) === 'conflict') {
      throw new Refusal('journal_invalid', `lineage ${this.lineage + 1} does not begin where the one before was left`);
    }
    await engine.at?.('after_append');
    this.steps.push(witness);
    this.lineage += 1;
    this.head = checkpoint;
  }

  mayWrite(): Promise<boolean> {
    return this.engine.journal.isLatestEpoch(this.head.runId, this.held.epoch);
  }
}
