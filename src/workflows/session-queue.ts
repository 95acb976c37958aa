/**
 * How a session hands calls to the queues of their tools. Invariant: a call that is handed over again is the same call in the same
 * place, with the deadline that it had; a queue that is not there is started.
 */
import { ActivityFailure, isCancellation, proxyActivities, workflowInfo } from '@temporalio/workflow';
import { EVER_REGISTERED_ACTIVITY, TELL_ACTIVITY, type ToolActivities } from '../activities/tool-contract';
import { queueNameOf, queueWorkflowId, toolIdOf } from '../rules/invocations/names';
import type { UnsentCode } from '../rules/invocations/vocabulary';
import { ENQUEUE_SIGNAL, WITHDRAW_SIGNAL, type Enqueue, type ToolQueueInput, type Withdraw } from './queue-messages';
import type { CallHost, ToolCall } from './tool-call';

/**
 * No local activity: where the workflow task of one runs out while it is under way, the SDK hands its workflow the messages of meanwhile in
 * another order than a replay does.
 */
const TELL = {
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
} as const;

/** Nobody waits for long to hear why a call was not taken. */
const ASK = {
  startToCloseTimeout: '5 seconds',
  scheduleToCloseTimeout: '20 seconds',
  retry: { initialInterval: '500 milliseconds', maximumAttempts: 3 },
} as const;

export class QueueDoor implements Pick<CallHost, 'enqueue' | 'withdraw' | 'untaken'> {
  private sequence = 0;
  /** What each call was handed over with first. */
  private readonly asked = new Map<ToolCall, Pick<Enqueue, 'sequence' | 'deadline_at' | 'request'>>();

  async enqueue(call: ToolCall): Promise<void> {
    const { prepared, chain, callId } = call;
    const { queue_wait_ms, execution_ms } = prepared;
    let asked = this.asked.get(call);
    const resent = asked?.request === call.request;
    if (asked === undefined || !resent) {
      this.sequence += 1;
      asked = { sequence: this.sequence, deadline_at: Date.now() + queue_wait_ms, request: call.request };
      this.asked.set(call, asked);
    }
    const message: Enqueue = {
      ...{ call_id: callId, run_id: chain.plan.runId, plan: chain.record, journal_id: chain.journalId },
      ...{ reply_to: workflowInfo().workflowId, queue_wait_ms, execution_ms },
      ...asked,
      ...(resent ? { resent } : {}),
      ...(prepared.descriptor_hash === null ? {} : { allow: { descriptor_hashes: [prepared.descriptor_hash] } }),
    };
    await tell(call, ENQUEUE_SIGNAL, message);
  }

  /** Of a call that went past its queue, where every worker of its tool has registered all the same. */
  async untaken({ prepared }: ToolCall): Promise<UnsentCode> {
    const workflow_id = queueWorkflowId(toolIdOf({ tool: prepared.tool, version: prepared.version })) ?? '';
    const activities = proxyActivities<ToolActivities>({ ...ASK, summary: `has anybody come: ${prepared.tool}` });
    try {
      const ever = await activities[EVER_REGISTERED_ACTIVITY]({ workflow_id });
      return ever ? 'dispatch:capacity_exhausted' : 'dispatch:no_handler';
    } catch (fault) {
      if (!(fault instanceof ActivityFailure) || isCancellation(fault)) throw fault;
      return 'dispatch:capacity_exhausted';
    }
  }

  async withdraw(call: ToolCall): Promise<void> {
    const message: Withdraw = { call_id: call.callId, reply_to: workflowInfo().workflowId };
    await tell(call, WITHDRAW_SIGNAL, message);
  }
}

async function tell({ prepared }: ToolCall, signal: string, message: Enqueue | Withdraw): Promise<void> {
  const tool = { tool: prepared.tool, version: prepared.version };
  const [name, version = ''] = queueNameOf(tool).split('@');
  const input: ToolQueueInput = { tool: name ?? '', version };
  const activities = proxyActivities<ToolActivities>({ ...TELL, summary: `${signal}: ${prepared.tool}` });
  await activities[TELL_ACTIVITY]({
    workflow_id: queueWorkflowId(toolIdOf(tool)) ?? '',
    signal,
    message,
    start: { workflow_type: 'toolQueue', input, summary: `queue of ${queueNameOf(tool)}` },
  });
}
