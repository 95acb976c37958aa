/**
 * What approval the policies of sessions demand for calls, in the journal. Invariant: a demand is never changed, and every drive of a
 * call, on whatever worker, asks for the last one.
 */
import { toolOfId } from '../rules/invocations/names';
import type { GovernedPlan } from '../rules/plans/plan';
import type { ApprovalRule } from '../rules/receipts/approval-rule';
import { Refusal } from '../rules/refusal';
import { demandFromBytes, demandName, demandToText, type DemandRecord } from '../rules/sessions/demand-record';
import type { Journal } from './journal';

const folderOf = (runId: string): string => `${runId}/demands`;

/** Keeps a demand, and answers the one that counts: this, or the one that was there before. */
export async function settleDemand({ entries }: Journal, demand: number, record: DemandRecord): Promise<DemandRecord> {
  const path = `${folderOf(record.runId)}/${demandName(demand)}`;
  if ((await entries.settle(path, demandToText(record))) !== 'conflict') return record;
  return (await entries.read(path, demandFromBytes)) ?? record;
}

/** Of a plan that is a call of a session; any other plan has none. */
export async function demandsOf({ entries }: Journal, plan: GovernedPlan): Promise<readonly ApprovalRule[]> {
  const [effect] = plan.effects;
  if (effect === undefined || plan.effects.length !== 1 || toolOfId(effect.toolId) === null) return [];
  const folder = folderOf(plan.runId);
  const last = (await entries.list(folder)).at(-1);
  if (last === undefined) return [];
  const { runId, planDigest, rules } = await entries.mustRead(`${folder}/${last}`, demandFromBytes);
  if (runId === plan.runId && planDigest === plan.planDigest) return rules;
  throw new Refusal('journal_invalid', 'holds the demand of another plan', folder);
}
