/**
 * Handing a plan over to a workflow of its own. Invariant: the plan of a run has one carrier, `countersign/<run_id>`, which
 * outlives whoever started it; a second one is never started beside it.
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  ChildWorkflowFailure,
  getExternalWorkflowHandle,
  isCancellation,
  startChild,
} from '@temporalio/workflow';
import { CARRIER_TASK_TIMEOUT_MS } from '../activities/contract';
import { carrierWorkflowId } from '../rules/plans/identity';
import { APPROVAL_REJECTED } from './approval-rejected';
import type { ChainKeeper } from './chain-keeper';
import type { governedPlan } from './governed-plan';
import { takeTurnSignal, type GovernedPlanInput } from './messages';
import { searchOfCall } from './session-search';

/**
 * `child`: it has ended, and its chain with it. `permitted`: it has ended with the permission to send, which its workers cannot.
 * `another`: somebody else started the carrier, and it is still there.
 */
export type CarriedBy = 'child' | 'permitted' | 'another';

export async function carriedByChild(
  chain: ChainKeeper,
  taskQueue: string | undefined,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED' | 'TRY_CANCEL' = 'WAIT_CANCELLATION_COMPLETED',
): Promise<CarriedBy> {
  const { position: known, journalId, plan } = chain;
  const workflowId = carrierWorkflowId(plan.runId);
  const input: GovernedPlanInput = {
    plan: chain.record,
    ...(known === undefined ? {} : { known }),
    ...(chain.mayHaveBegun ? { begun: true } : {}),
    ...(journalId === null ? {} : { journal_id: journalId }),
    ...(taskQueue === undefined ? {} : { task_queue: taskQueue }),
    ...(chain.callId === null ? {} : { call_id: chain.callId }),
    ...(chain.allow === null ? {} : { allow: chain.allow }),
  };
  try {
    const child = await startChild<typeof governedPlan>('governedPlan', {
      workflowId,
      args: [input],
      parentClosePolicy: 'ABANDON',
      cancellationType,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowTaskTimeout: CARRIER_TASK_TIMEOUT_MS,
      memo: { countersign_plan: plan.planDigest },
      ...(chain.callId === null ? {} : searchOfCall(plan.effects[0]?.toolId)),
      staticSummary: `${plan.workflowId}: ${plan.effects.length} effects`.slice(0, 200),
    });
    const { status } = await child.result();
    return status === 'permitted' ? status : 'child';
  } catch (fault) {
    if (fault instanceof WorkflowExecutionAlreadyStartedError) {
      await nudge(workflowId);
      return 'another';
    }
    if (!(fault instanceof ChildWorkflowFailure) || isCancellation(fault)) throw fault;
    const { cause } = fault;
    // A refused effect or a denied plan stands in the chain, where it is read like every other end.
    const ends: readonly unknown[] = ['EffectRejected', APPROVAL_REJECTED];
    if (cause instanceof ApplicationFailure && ends.includes(cause.type)) return 'child';
    throw cause instanceof ApplicationFailure ? cause : fault;
  }
}

/** We drove last, so the carrier would only follow. It may have ended meanwhile: then there is nothing to take. */
async function nudge(workflowId: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(workflowId).signal(takeTurnSignal);
  } catch (fault) {
    if (isCancellation(fault)) throw fault;
  }
}
