/**
 * How a drive comes to its turn and its head. Invariant: whoever returns from here holds the latest epoch, and the run has
 * its plan and checkpoint 0, or will have both once what is owed is written; a run that is known under another plan is refused
 * before anything of ours can be seen in it.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import { openingCheckpoint, type GovernedPlan } from '../rules/plans/plan';
import type { Claim } from '../rules/sends/epoch';
import type { Caller, Engine } from './engine';
import type { Owed } from './entries';
import { planConflict } from './journal';
import { takeTurn, type Held } from './takeover';

export interface Begun {
  /** Null means fenced: another driver has the turn. */
  readonly held: Held | null;
  readonly head: RecoveryCheckpoint;
  /** What makes that so, where it is still to be written: before, or together with, whatever comes first. */
  readonly owed: readonly Owed[];
}

export async function begin(
  engine: Engine,
  caller: Caller,
  plan: GovernedPlan,
  lineage: number,
  claim: Pick<Claim, 'held' | 'reclaim'>,
  found: { readonly planned: boolean; readonly head: RecoveryCheckpoint | undefined },
): Promise<Begun> {
  if (!found.planned && found.head === undefined && claim.held === null)
    return beginAnew(engine, caller, plan, lineage);
  if (!found.planned) await engine.journal.createPlan(plan);
  // Checkpoint 0 follows from the plan alone, so whoever has the turn may write it.
  const [held, head] = await Promise.all([
    takeTurn(engine, caller, plan.runId, lineage, claim),
    found.head ?? open(engine, plan, lineage),
  ]);
  return { held, head, owed: [] };
}

/** Nobody seems to have been here. Whoever creates the first epoch is the first indeed, and all that it saw before still holds. */
function beginAnew(engine: Engine, { driver, scheduledAt }: Caller, plan: GovernedPlan, lineage: number): Begun {
  const head = openingCheckpoint(plan);
  const owner = engine.newOwner();
  const owed = engine.journal.opening(plan, { epoch: 1, owner, driver, lineage, scheduledAt }, lineage, head);
  return { held: { epoch: 1, owner, scheduledAt, begunAt: scheduledAt, turn: 'first' }, head, owed };
}

async function open(engine: Engine, plan: GovernedPlan, lineage: number): Promise<RecoveryCheckpoint> {
  const opening = openingCheckpoint(plan);
  await engine.at?.('before_append');
  const extension = { runId: plan.runId, lineage, previous: null, next: opening, witness: null };
  if ((await engine.journal.append(extension)).checkpoint === 'conflict') throw planConflict();
  await engine.at?.('after_append');
  return opening;
}
