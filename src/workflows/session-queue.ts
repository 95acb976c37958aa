/**
 * How a session hands calls to the queues of their tools. Invariant: a call that is handed over again is the same call in the same
 * place, with the deadline that it had.
 */
import { ActivityFailure, isCancellation, proxyActivities, workflowInfo } from '@temporalio/workflow';
import { EVER_REGISTERED_ACTIVITY, type ToolActivities } from '../activities/tool-contract';
import { queueWorkflowId, toolIdOf } from '../rules/invocations/names';
import type { UnsentCode } from '../rules/invocations/vocabulary';
import type { Enqueue } from './queue-messages';
import { QueuePost } from './queue-post';
import type { CallHost, ToolCall } from './tool-call';

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
  private readonly post = new QueuePost();

  async enqueue(call: ToolCall): Promise<void> {
    const { prepared, chain, callId } = call;
    const { queue_wait_ms, queue_bound, execution_ms } = prepared;
    let asked = this.asked.get(call);
    const resent = asked?.request === call.request;
    if (asked === undefined || !resent) {
      this.sequence += 1;
      asked = { sequence: this.sequence, deadline_at: Date.now() + queue_wait_ms, request: call.request };
      this.asked.set(call, asked);
    }
    await this.post.enqueue(prepared, {
      ...{ call_id: callId, run_id: chain.plan.runId, plan: chain.record, journal_id: chain.journalId },
      ...{ reply_to: workflowInfo().workflowId, queue_wait_ms, execution_ms },
      ...asked,
      ...(queue_bound === undefined ? {} : { bound: queue_bound }),
      ...(resent ? { resent } : {}),
      ...(prepared.descriptor_hash === null ? {} : { allow: { descriptor_hashes: [prepared.descriptor_hash] } }),
    });
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

  withdraw({ callId, prepared }: ToolCall): Promise<void> {
    return this.post.withdraw(prepared, { call_id: callId, reply_to: workflowInfo().workflowId });
  }
}
