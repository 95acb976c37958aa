/**
 * The plan that an execution carries, from the first event of its history. Invariant: its digest is computed anew from what
 * stands there, so what is shown of a plan is what a receipt for that digest is about. No worker is asked.
 */
import { WorkflowNotFoundError, isGrpcServiceError, type Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { isCallId } from './rules/invocations/names';
import { planFromRecord, type GovernedPlan } from './rules/plans/plan';
import { Refusal } from './rules/refusal';

const NOT_FOUND = 5; // gRPC

export interface CarriedPlan {
  readonly plan: GovernedPlan;
  /** The call of a session that the plan says it is; null of every other plan. */
  readonly callId: string | null;
}

/** Of the latest run. Throws `WorkflowNotFoundError`, and `Refusal` when its input is no plan of ours. */
export async function planOfExecution(client: Client, workflowId: string): Promise<GovernedPlan> {
  return (await carriedPlan(client, workflowId)).plan;
}

/** As `planOfExecution`, with what the execution was told beside its plan. */
export async function carriedPlan(client: Client, workflowId: string): Promise<CarriedPlan> {
  const payload = await firstArgument(client, workflowId);
  if (payload == null) throw noPlan();
  const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
  let payloads = [payload];
  for (const codec of [...payloadCodecs].reverse()) payloads = await codec.decode(payloads);
  const input: unknown = payloads[0] === undefined ? null : payloadConverter.fromPayload(payloads[0]);
  if (typeof input !== 'object' || input === null || !('plan' in input)) throw noPlan();
  const { call_id: callId } = input as { readonly call_id?: unknown };
  return { plan: planFromRecord(input.plan), callId: isCallId(callId) ? callId : null };
}

async function firstArgument(client: Client, workflowId: string): Promise<Payload | null | undefined> {
  const { namespace } = client.options;
  const execution = { workflowId };
  try {
    const first = { namespace, execution, maximumPageSize: 1 };
    const { history } = await client.workflowService.getWorkflowExecutionHistory(first);
    return history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  } catch (fault) {
    if (!isGrpcServiceError(fault) || fault.code !== NOT_FOUND) throw fault;
    throw new WorkflowNotFoundError('no execution of this workflow is known', workflowId, undefined);
  }
}

function noPlan(): Refusal {
  return new Refusal('invalid_record', 'does not begin with a plan of ours; it is no governed plan', 'execution');
}
