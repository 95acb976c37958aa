/**
 * What sessions demand of whoever drives their calls, in the journal. Invariant: a demand is never changed, and every drive of a
 * call, on whatever worker, asks for the last one.
 */
import { toolOfId } from '../rules/invocations/names';
import type { GovernedPlan } from '../rules/plans/plan';
import { Refusal } from '../rules/refusal';
import {
  demandFromBytes,
  demandName,
  demandToText,
  isSameDemand,
  type DemandRecord,
} from '../rules/sessions/demand-record';
import type { Journal } from './journal';

const folderOf = (runId: string): string => `${runId}/demands`;

/** A demand as it stands, and which one of its call it is, from 1. */
export interface Settled {
  readonly demand: number;
  readonly record: DemandRecord;
}

/** Keeps a demand, as the given one of its call or behind it; where the same was demanded before, that is what counts. */
export async function settleDemand({ entries }: Journal, first: number, record: DemandRecord): Promise<Settled> {
  for (let demand = first; ; demand += 1) {
    const path = `${folderOf(record.runId)}/${demandName(demand)}`;
    if ((await entries.settle(path, demandToText(record))) !== 'conflict') return { demand, record };
    const stands = await entries.mustRead(path, demandFromBytes);
    if (isSameDemand(stands, record)) return { demand, record: stands };
  }
}

/** What counts of a plan that is a call of a session; null where nothing was ever demanded, and of any other plan. */
export async function lastDemand({ entries }: Journal, plan: GovernedPlan): Promise<DemandRecord | null> {
  const [effect] = plan.effects;
  if (effect === undefined || plan.effects.length !== 1 || toolOfId(effect.toolId) === null) return null;
  const folder = folderOf(plan.runId);
  const last = (await entries.list(folder)).at(-1);
  if (last === undefined) return null;
  const record = await entries.mustRead(`${folder}/${last}`, demandFromBytes);
  if (record.runId === plan.runId && record.planDigest === plan.planDigest) return record;
  throw new Refusal('journal_invalid', 'holds the demand of another plan', folder);
}
