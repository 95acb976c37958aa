/**
 * How a workflow speaks to the queues of tools. Invariant: calls that are handed over in the same moment go in one message, in their
 * order; a queue that is not there is started.
 */
import { CancellationScope, proxyActivities } from '@temporalio/workflow';
import { ENQUEUE_SIGNAL, TELL_ACTIVITY, WITHDRAW_SIGNAL, type ToolActivities } from '../activities/tool-contract';
import { DEFAULT_VERSION, queueNameOf, queueWorkflowId, toolIdOf, type Tool } from '../rules/invocations/names';
import type { Enqueue, ToolQueueInput, Withdraw } from './queue-messages';
import { foundAs } from './session-search';

/**
 * No local activity: where the workflow task of one runs out while it is under way, the SDK hands its workflow the messages of meanwhile in
 * another order than a replay does.
 */
const TELL = {
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
} as const;
/** Calls of one message. */
const MOST_AT_ONCE = 100;

export class QueuePost {
  /** By queue, what goes with the next message, and when that has arrived. */
  private readonly gathering = new Map<string, { readonly calls: Enqueue[]; readonly sent: Promise<void> }>();

  /** Resolves when the queue has the call. Cancelled, it is still handed over; nobody waits for it. */
  async enqueue(tool: Tool, call: Enqueue): Promise<void> {
    const name = queueNameOf(tool);
    const known = this.gathering.get(name);
    const calls = known?.calls ?? [];
    calls.push(call);
    const sent = known?.sent ?? this.sends(name, tool, calls);
    if (known === undefined) this.gathering.set(name, { calls, sent });
    if (calls.length >= MOST_AT_ONCE) this.gathering.delete(name);
    await Promise.race([sent, CancellationScope.current().cancelRequested]);
  }

  withdraw(tool: Tool, message: Withdraw): Promise<void> {
    return tell(tool, WITHDRAW_SIGNAL, [message]);
  }

  private async sends(name: string, tool: Tool, calls: readonly Enqueue[]): Promise<void> {
    await Promise.resolve(); // those of the same moment come before this goes on
    if (this.gathering.get(name)?.calls === calls) this.gathering.delete(name);
    await CancellationScope.nonCancellable(() => tell(tool, ENQUEUE_SIGNAL, calls));
  }
}

async function tell(tool: Tool, signal: string, messages: readonly (Enqueue | Withdraw)[]): Promise<void> {
  const input: ToolQueueInput = { tool: tool.tool, version: tool.version ?? DEFAULT_VERSION };
  const activities = proxyActivities<ToolActivities>({ ...TELL, summary: `${signal}: ${tool.tool}` });
  await activities[TELL_ACTIVITY]({
    workflow_id: queueWorkflowId(toolIdOf(tool)) ?? '',
    signal,
    messages,
    start: {
      ...{ workflow_type: 'toolQueue', input, summary: `queue of ${queueNameOf(tool)}` },
      ...(foundAs() === undefined ? {} : { search: true }),
    },
  });
}
