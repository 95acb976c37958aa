/**
 * How a drive comes to its turn and its head. Invariant: whoever returns from here holds the latest epoch, and the run has
 * its plan and checkpoint 0; a run that is known under another plan is refused before anything of ours can be seen in it.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import { openingCheckpoint, type GovernedPlan } from '../rules/plans/plan';
import type { Claim } from '../rules/sends/epoch';
import type { Caller, Engine } from './engine';
import { planConflict } from './journal';
import { takeTurn, type Held } from './takeover';

export interface Begun {
  /** Null means fenced: another driver has the turn. */
  readonly held: Held | null;
  readonly head: RecoveryCheckpoint;
}

export async function begin(
  engine: Engine,
  caller: Caller,
  plan: GovernedPlan,
  lineage: number,
  claim: Pick<Claim, 'held' | 'reclaim'>,
  found: { readonly planned: boolean; readonly head: RecoveryCheckpoint | undefined },
): Promise<Begun> {
  if (!found.planned && found.head === undefined && claim.held === null) {
    const fresh = await beginAnew(engine, caller, plan, lineage);
    if (fresh !== null) return fresh;
  }
  if (!found.planned) await engine.journal.createPlan(plan);
  // Checkpoint 0 follows from the plan alone, so whoever has the turn may write it.
  const [held, head] = await Promise.all([
    takeTurn(engine, caller, plan.runId, lineage, claim),
    found.head ?? open(engine, plan, lineage),
  ]);
  return { held, head };
}

/** Nobody seems to have been here: everything at once, which costs a third of one after the other. Null when somebody was. */
async function beginAnew(engine: Engine, caller: Caller, plan: GovernedPlan, lineage: number): Promise<Begun | null> {
  const head = openingCheckpoint(plan);
  const owner = engine.newOwner();
  const { driver, scheduledAt } = caller;
  await engine.at?.('before_append');
  if (!(await engine.journal.open(plan, { epoch: 1, owner, driver, lineage, scheduledAt }, lineage, head))) return null;
  await engine.at?.('epoch_taken');
  await engine.at?.('after_append');
  return { held: { epoch: 1, owner, scheduledAt, begunAt: scheduledAt, turn: 'first' }, head };
}

async function open(engine: Engine, plan: GovernedPlan, lineage: number): Promise<RecoveryCheckpoint> {
  const opening = openingCheckpoint(plan);
  await engine.at?.('before_append');
  const outcome = await engine.journal.append(plan.runId, lineage, null, opening, null);
  if (outcome === 'conflict') throw planConflict();
  await engine.at?.('after_append');
  return opening;
}
