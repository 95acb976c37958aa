/**
 * The workflows that are compared: calls through a tool's queue, the same calls driven on the tool's own task queue, and plain
 * activities there. Each makes its calls one after the other, or all at once.
 */
import { condition, proxyActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { DRIVE_ACTIVITY, type CountersignActivities } from '../src/activities/contract';
import type { Dict } from '../src/rules/fields';
import { toolTaskQueue } from '../src/rules/invocations/names';
import { ChainKeeper } from '../src/workflows/chain-keeper';
import { reportSignal, type CallReport } from '../src/workflows/queue-messages';
import { QueuePost } from '../src/workflows/queue-post';
import { PLAIN_TASK_QUEUE } from './queue-names';

export { toolQueue } from '../src/workflow';

export interface BenchCall {
  readonly call_id: string;
  readonly plan: Dict;
}
export interface BenchCalls {
  readonly tool: string;
  readonly calls: readonly BenchCall[];
  readonly at_once: boolean;
}

type Work = (call: BenchCall, sequence: number) => Promise<void>;

async function each({ calls, at_once: atOnce }: BenchCalls, work: Work): Promise<void> {
  if (atOnce) await Promise.all(calls.map(work));
  else for (const [sequence, call] of calls.entries()) await work(call, sequence);
}

/** A call counts when its chain is derived, as a session does. */
function completed({ plan }: BenchCall, result: CallReport['result']): void {
  const chain = new ChainKeeper(plan, null);
  if (result !== null) chain.accept(result);
  if (chain.head?.phase !== 'completed') throw new Error('a call of the bench did not complete');
}

export async function queued(input: BenchCalls): Promise<void> {
  const tool = { tool: input.tool, version: null };
  const heard = new Map<string, CallReport>();
  setHandler(reportSignal, (report) => void heard.set(report.call_id, report));
  const { workflowId } = workflowInfo();
  const post = new QueuePost();
  await each(input, async (call, sequence) => {
    const { call_id, plan } = call;
    await post.enqueue(tool, {
      ...{ call_id, run_id: String(plan['run_id']), plan, journal_id: null, reply_to: workflowId, sequence },
      ...{ queue_wait_ms: 120_000, deadline_at: Date.now() + 120_000, execution_ms: 60_000, bound: 10_000 },
    });
    await condition(() => heard.has(call_id));
    completed(call, heard.get(call_id)?.result ?? null);
  });
}

export async function native(input: BenchCalls): Promise<void> {
  const drives = proxyActivities<CountersignActivities>({
    taskQueue: toolTaskQueue({ tool: input.tool, version: null }),
    scheduleToStartTimeout: '2 minutes',
    startToCloseTimeout: '90 seconds',
    heartbeatTimeout: '30 seconds',
    retry: { maximumAttempts: 1 },
  });
  await each(input, async (call) => {
    const { call_id, plan } = call;
    const request = { run_id: String(plan['run_id']), call_id, lineage: 1, intent: 'drive' as const, plan };
    const from = { journal_id: null, expected_head: null, epoch: null, reclaim: false, waited: [] };
    completed(call, await drives[DRIVE_ACTIVITY]({ ...request, ...from }));
  });
}

export async function plain(input: BenchCalls): Promise<void> {
  const { work } = proxyActivities<{ work(id: string): Promise<void> }>({
    taskQueue: PLAIN_TASK_QUEUE,
    startToCloseTimeout: '1 minute',
  });
  await each(input, ({ call_id }) => work(call_id));
}
