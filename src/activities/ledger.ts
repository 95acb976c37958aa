/**
 * The chain as one execution extends it. Invariant: a checkpoint is appended only under the latest epoch, after its witness and
 * all that is owed before it; when another driver came in between, nothing was decided.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import { deriveNext, type Derived, type Witness } from '../rules/sends/witness';
import type { Engine } from './engine';
import type { Entry, Owed } from './entries';
import type { Held } from './takeover';

/** `slot`: whether the slot that was to be taken with the checkpoint is ours. */
export type Added = Derived & { readonly slot: boolean };

export class Ledger {
  /** The witnesses of the checkpoints that this execution appended. */
  readonly steps: Witness[] = [];
  /** Another driver came in between: the epoch must be taken anew. */
  lost = false;
  /** Whether the head that this execution began with is in the journal. */
  begun: boolean;

  constructor(
    private readonly engine: Engine,
    private readonly held: Held,
    /** The lineage and head that this execution has come to. */
    public lineage: number,
    public head: RecoveryCheckpoint,
    private owed: readonly Owed[],
  ) {
    this.begun = owed.length === 0;
  }

  /** What became of a send is still to be written, so whoever reads its slot does not see it. */
  get owesEnd(): boolean {
    return this.owed.some(({ written }) => written === 'ended');
  }

  /** To be written before, or together with, the next checkpoint. */
  owe(entries: readonly Owed[]): void {
    this.owed = [...this.owed, ...entries];
  }

  /** Writes what is owed, for there is no checkpoint to come with it. */
  async settle(): Promise<void> {
    const { engine, owed } = this;
    if (owed.length === 0) return;
    await this.beforeAppends(owed);
    await engine.journal.writeOwed(owed);
    await this.paid(owed);
  }

  /** `slotFor`: the slot of the first send that the checkpoint allows, to be taken with it. Null when it is lost. */
  async add(
    draft: Omit<Witness, 'checkpointDigest'>,
    slotFor: (derived: Derived) => Promise<Entry | null> = () => Promise.resolve(null),
  ): Promise<Added | null> {
    const { engine, head, lineage } = this;
    const derived = deriveNext(head, draft);
    const next = derived.checkpoint;
    const witness = { ...draft, checkpointDigest: next.checkpointDigest };
    const { owed } = this;
    await this.beforeAppends(owed);
    await engine.at?.('before_append');
    const extension = { runId: head.runId, lineage, previous: head, next, witness };
    const slot = await slotFor(derived);
    const appended = (await this.mayWrite()) ? await engine.journal.append(extension, owed, slot) : null;
    if (appended !== null) await this.paid(owed);
    if (appended === null || appended.checkpoint === 'conflict') {
      this.lost = true;
      return null;
    }
    await engine.at?.('after_append');
    if (next.phase === 'aborted' && (await this.isLeft())) {
      this.lost = true;
      return null;
    }
    this.steps.push(witness);
    this.head = next;
    return { ...derived, slot: appended.slot };
  }

  private async beforeAppends(owed: readonly Owed[]): Promise<void> {
    if (owed.some(({ written }) => written === 'after_append')) await this.engine.at?.('before_append');
  }

  private async paid(owed: readonly Owed[]): Promise<void> {
    this.owed = this.owed.slice(owed.length);
    this.begun = true;
    for (const { written } of owed) if (written !== undefined) await this.engine.at?.(written);
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
    const extension = { runId: head.runId, lineage: this.lineage + 1, previous: null, next: checkpoint, witness };
    if ((await engine.journal.append(extension)).checkpoint === 'conflict') {
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
