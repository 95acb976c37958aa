/**
 * The sends that one checkpoint allows: which, under which right, and how long. Invariant: every send carries the head that
 * allowed it, and the first slot is taken together with that head, never before it.
 */
import type { Derived } from '../rules/sends/witness';
import type { Caller, Engine } from './engine';
import type { Entry } from './entries';
import type { Added } from './ledger';
import type { Known } from './observe';
import type { Permission } from './permission';
import type { Place } from './rounds';
import { slotToTake, type Right, type Turn } from './send';
import { sendBatch, type BatchEnd } from './send-batch';

/** A drive comes back by itself after this long, so that its history stays fresh and its time-outs can be short. */
const LONGEST_DRIVE_MS = 10 * 60_000;

/** What a decision was made on, and who may allow what follows from it. */
export interface Round {
  readonly known: readonly Known[];
  readonly lineage: number;
  readonly permission: Permission;
}

export class Sending {
  private readonly started: number;
  /** Ours once its slot is there. */
  private first: Right | null = null;

  constructor(
    private readonly engine: Engine,
    private readonly caller: Caller,
    private readonly place: Place,
    private readonly now: () => number,
  ) {
    this.started = engine.monotonic();
  }

  /** The slot to be taken together with a decision; null when nothing is to be sent on its strength. */
  async slotFor(round: Round, derived: Derived): Promise<Entry | null> {
    this.first = null;
    const [known] = due(round, derived);
    if (known === undefined || (await this.mustStop(round, derived))) return null;
    const { right, entry } = slotToTake(this.engine, this.turn(round, derived), known.target, known.slots);
    this.first = right;
    return entry;
  }

  async send(round: Round, added: Added): Promise<BatchEnd> {
    const { engine, first } = this;
    this.first = null;
    if (first !== null && !added.slot) return { ended: 'fenced' };
    const mustStop = (): Promise<boolean> => this.mustStop(round, added);
    return sendBatch(engine, this.turn(round, added), this.place.plan.order, due(round, added), mustStop, first);
  }

  private turn({ lineage, permission }: Round, { checkpoint }: Derived): Turn {
    const { plan, held } = this.place;
    const head = { lineage, sequence: Number(checkpoint.sequence), digest: checkpoint.checkpointDigest };
    const until = checkpoint.approvalExpiresAt;
    const permitted = (): boolean => until === null || permission.rules.length === 0 || BigInt(this.now()) < until;
    return { runId: plan.runId, epoch: held.epoch, owner: held.owner, head, permitted };
  }

  private async mustStop({ permission }: Round, { checkpoint }: Derived): Promise<boolean> {
    return (
      this.caller.stopping() ||
      this.engine.monotonic() - this.started > LONGEST_DRIVE_MS ||
      (permission.rules.length > 0 && (await permission.standing(checkpoint)).standing !== 'permitted')
    );
  }
}

function due({ known }: Round, { decision }: Derived): readonly Known[] {
  if (decision?.disposition !== 'resume') return [];
  const retry = new Set(decision.retryEffectIds);
  return known.filter(({ target }) => retry.has(target.item.actionId));
}
