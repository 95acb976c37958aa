/**
 * `runPlan`: several effects as one plan, with one approval and one chain. Invariant: it answers when every effect is
 * committed; no result of one can be an argument of another, because all of them are fixed before the first is sent.
 */
import type { PlannedCall } from '../rules/calls/signature';
import type { PlanOrder } from '../rules/plans/plan';
import { perform, type ProxyOptions } from './calls';

export interface AuthorPlan<Calls extends readonly PlannedCall[]> extends ProxyOptions {
  /** Your own name of this plan in this workflow; the same id is the same plan for ever. */
  readonly id: string;
  /** As `proxy.of(args, { id })` makes them; each id is used once for an effect. */
  readonly effects: Calls;
  /** @default 'ordered' */
  readonly order?: PlanOrder;
}

export interface AuthorPlanOutcome<Calls extends readonly PlannedCall[]> {
  /** The plan had been done before: nothing was sent for this call. */
  readonly replayed: boolean;
  readonly runId: string;
  /** In the order of the effects. */
  readonly results: { readonly [At in keyof Calls]: Calls[At] extends PlannedCall<infer Result> ? Result : never };
}

export async function runPlan<const Calls extends readonly [PlannedCall, ...PlannedCall[]]>(
  plan: AuthorPlan<Calls>,
): Promise<AuthorPlanOutcome<Calls>> {
  const { effects, order = 'ordered', ...identity } = plan;
  const calls = effects.map(({ effect, id, args }) => ({ effect, id, args }));
  const results = await perform({ ...identity, effect: null, order, calls });
  const { replayed, runId } = results[0] as (typeof results)[number];
  return { replayed, runId, results: results as unknown as AuthorPlanOutcome<Calls>['results'] };
}
