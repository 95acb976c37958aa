/**
 * The call of a session that a plan is. Invariant: the run of a call follows from its id and its tool, so a plan is the call that somebody
 * says it is only where that leads to its very run.
 */
import type { GovernedPlan } from '../plans/plan';
import { callPlace, callRunId, queueNameOf, toolOfId } from './names';

export interface CallOfPlan {
  readonly callId: string;
  readonly session: string;
  /** `tool@version` */
  readonly queue: string;
}

/** Null of a plan that is no call, and of another call than is said. */
export function callOfPlan({ effects, runId }: GovernedPlan, callId: string | null): CallOfPlan | null {
  const [effect] = effects;
  const tool = effect === undefined || effects.length !== 1 ? null : toolOfId(effect.toolId);
  if (tool === null || callId === null || callRunId(callId, tool) !== runId) return null;
  return { callId, session: callPlace(callId).session, queue: queueNameOf(tool) };
}
