/**
 * From a draft to a plan whose contents are stored. Invariant: nothing is stored before the whole plan has proved good, and
 * the same draft is the same plan, whoever prepares it.
 */
import { planFromDraft, type PlanDraft } from '../rules/plans/draft';
import type { GovernedPlan } from '../rules/plans/plan';
import { newSalt, type Contents } from './contents';

/** Who carries the plan and who asked for it, as digests. */
export type PlanParties = Pick<GovernedPlan, 'origin' | 'requester'>;

export async function prepareDraft(contents: Contents, draft: PlanDraft, parties?: PlanParties): Promise<GovernedPlan> {
  const known = await contents.knownSalt(draft.runId);
  const salt = known ?? newSalt();
  const made = planFromDraft(draft, salt, parties);
  const settled = known ?? (await contents.settleSalt(draft.runId, salt));
  const { plan, envelopes } = settled === salt ? made : planFromDraft(draft, settled, parties);
  await contents.putOperations(envelopes);
  return plan;
}
