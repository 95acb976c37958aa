/**
 * Who may drive a tool's call, and where. Invariant: the queue of a call, and the call itself, are derived from the plan and never
 * believed; a worker that is not allowed says so before anything of the call is begun.
 */
import { ApplicationFailure } from '@temporalio/common';
import { isAllowed, type AllowedWorkers } from '../rules/invocations/allowed-workers';
import { callRunId, isCallId, queueWorkflowId, toolOfId } from '../rules/invocations/names';
import { planFromRecord, type GovernedPlan } from '../rules/plans/plan';
import { RecoveryError } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import type { DriveRequest } from './contract';
import type { Engine } from './engine';
import { WORKER_NOT_ALLOWED } from './tool-contract';

/** What a tool worker is to those whose calls it takes. */
export interface ToolStanding {
  readonly identity: string;
  /** By governed tool id. */
  readonly tools: ReadonlyMap<string, { readonly descriptorHash: string; readonly allow: AllowedWorkers | null }>;
}

/** The workflow of the queue that may drive the plan; null for a plan that is no call of a tool. */
export function queueOf({ effects }: GovernedPlan): string | null {
  const [effect, ...others] = effects;
  return effect === undefined || others.length > 0 ? null : queueWorkflowId(effect.toolId);
}

export function refuseOtherCall(plan: GovernedPlan, { call_id: callId }: DriveRequest): void {
  if (callId === undefined) return;
  const [effect, ...others] = plan.effects;
  const tool = effect === undefined || others.length > 0 ? null : toolOfId(effect.toolId);
  if (tool !== null && isCallId(callId) && callRunId(callId, tool) === plan.runId) return;
  throw new Refusal('invalid_record', 'is not the call that this run is', 'call_id');
}

/**
 * Before anything else: an execution that fails like this has taken no turn and no slot, so whoever scheduled it may look for another
 * worker. Only looking needs no leave, and neither does a worker that could not send it anyhow.
 */
export function refuseWorker(
  { standing, registry }: Pick<Engine, 'standing' | 'registry'>,
  { intent, plan, allow }: DriveRequest,
): void {
  if (intent !== 'drive' || (standing === undefined && allow === undefined)) return;
  for (const toolId of toolsOf(plan)) {
    if (registry.describes(toolId)) continue;
    const tool = standing?.tools.get(toolId);
    for (const list of [allow, tool?.allow ?? undefined]) {
      if (list === undefined || isAllowed(list, standing?.identity, tool?.descriptorHash)) continue;
      const message = `${toolId} is not to be sent by this worker; start one that is on the list`;
      throw ApplicationFailure.nonRetryable(message, WORKER_NOT_ALLOWED);
    }
  }
}

/** A plan that is none names no tool; `drive` itself refuses it. */
function toolsOf(plan: DriveRequest['plan']): readonly string[] {
  try {
    return planFromRecord(plan).effects.map((effect) => effect.toolId);
  } catch (fault) {
    if (fault instanceof Refusal || fault instanceof RecoveryError) return [];
    throw fault;
  }
}
