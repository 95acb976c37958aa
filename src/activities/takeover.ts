/**
 * Taking the turn. Invariant: when a driver holds a new epoch, every slot that anyone could still take for a pending effect
 * is either begun by somebody (and then waited for) or closed by us, so no earlier driver can begin another send.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import { whoseTurn, type Claim } from '../rules/sends/epoch';
import { nextAttempt, type HeadRef, type Slot } from '../rules/sends/slot';
import type { Caller, Engine } from './engine';

export interface Held {
  readonly epoch: number;
  readonly owner: string;
  /** Server time at which the execution that took this epoch was scheduled. */
  readonly scheduledAt: number;
  /** The same of the first epoch of the run. */
  readonly begunAt: number;
  /** How the turn was come by. A `first` epoch finds no slot; a `continue`d one has closed the others' already. */
  readonly turn: 'first' | 'continue' | 'take_over';
}

const MOST_RACES = 20;

/** Null means fenced: another driver has the turn. */
export async function takeTurn(
  engine: Engine,
  caller: Caller,
  runId: string,
  lineage: number,
  claim: Pick<Claim, 'held' | 'reclaim'>,
): Promise<Held | null> {
  const owner = engine.newOwner();
  for (let races = 0; races < MOST_RACES; races += 1) {
    const epochs = await engine.journal.epochs(runId);
    const begunAt = epochs[0]?.scheduledAt ?? caller.scheduledAt;
    const turn = whoseTurn(epochs, { ...claim, driver: caller.driver });
    if (turn.turn === 'fenced') return null;
    if (turn.turn === 'continue') {
      return { epoch: turn.epoch, owner, scheduledAt: epochs.at(-1)?.scheduledAt ?? 0, begunAt, turn: turn.turn };
    }
    const epoch = turn.turn === 'first' ? 1 : turn.epoch;
    const record = { epoch, owner, driver: caller.driver, lineage, scheduledAt: caller.scheduledAt };
    const outcome = await engine.journal.takeEpoch(runId, record);
    if (outcome !== 'conflict') {
      await engine.at?.('epoch_taken');
      return { epoch, owner, scheduledAt: caller.scheduledAt, begunAt, turn: turn.turn };
    }
  }
  return null;
}

/** Closes the next slot of every pending effect. Each failed close is a slot that somebody has begun meanwhile. */
export async function closeSlots(
  engine: Engine,
  runId: string,
  held: Held,
  head: RecoveryCheckpoint,
  lineage: number,
): Promise<void> {
  const at: HeadRef = { lineage, sequence: Number(head.sequence), digest: head.checkpointDigest };
  for (const effect of head.effects) {
    if (effect.state === 'committed') continue;
    for (let closed = false; !closed;) {
      const slots = await engine.journal.slots(runId, effect.idempotencyKey);
      closed = await engine.journal.takeSlot(runId, effect.idempotencyKey, nextAttempt(slots), {
        state: 'closed',
        owner: held.owner,
        epoch: held.epoch,
        head: at,
        openedAt: engine.now(),
        deadlineMs: 0,
        settleMs: 0,
      });
      await engine.at?.('slot_closed');
    }
  }
}

/**
 * How long an attempt has really been waited for. A slot of an earlier epoch counts from our takeover at the earliest, by
 * the clock of the server that scheduled both executions, whatever the caller claims.
 */
export function waitedFor(slot: Slot | undefined, claimedMs: number, held: Held, caller: Caller): number {
  if (slot === undefined || slot.record.epoch === held.epoch) return claimedMs;
  return Math.min(claimedMs, Math.max(0, caller.scheduledAt - held.scheduledAt));
}
