/**
 * Workflows that play the session of calls: they enqueue, hear reports, and say what the chains of their calls have come to. A report is
 * held against the plan by deriving its chain; one that comes twice must say the same.
 */
import {
  condition,
  defineQuery,
  defineSignal,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { DRIVE_ACTIVITY, type CountersignActivities } from '../../../src/activities/contract';
import { TELL_ACTIVITY, type AllowedWorkers, type ToolActivities } from '../../../src/activities/tool-contract';
import type { Dict } from '../../../src/rules/fields';
import { queueWorkflowId, toolIdOf, toolTaskQueue } from '../../../src/rules/invocations/names';
import { carriedByChild } from '../../../src/workflows/carrier-child';
import { ChainKeeper } from '../../../src/workflows/chain-keeper';
import { reportSignal, type CallReport, type Enqueue } from '../../../src/workflows/queue-messages';

export { governedPlan, toolQueue } from '../../../src/workflow';

export interface CallToMake {
  readonly call_id: string;
  readonly plan: Dict;
}

export interface CallerInput {
  readonly tool: string;
  readonly version: string;
  readonly calls: readonly CallToMake[];
  /** Calls that are asked for before an earlier one has been reported. */
  readonly at_once: number;
  readonly wait_ms: number;
  readonly execution_ms: number;
  readonly lease_ms?: number;
  readonly bound?: number;
  readonly allow?: AllowedWorkers;
  /** What takes a person is left to a workflow of its own, whose end is waited for. @default it is left alone */
  readonly carry?: boolean;
  /** How long a report is waited for before the call is asked for again. */
  readonly patience_ms?: number;
}

export interface CallEnd extends Omit<CallReport, 'result'> {
  /** Of the chain that the report proves: `completed`, `aborted`; null where it proves none. */
  readonly phase: string | null;
  readonly refused: string | null;
  readonly proof: string | null;
  readonly result_digest: string | null;
}

/** Asks for a call once more, whatever is known of it. */
export const askAgainSignal = defineSignal<[index: number]>('ask_again');
export const withdrawCallSignal = defineSignal<[index: number]>('withdraw_call');
export const heardQuery = defineQuery<readonly CallReport[]>('heard');

const TELL = { startToCloseTimeout: '1 minute', retry: { initialInterval: '200 milliseconds' } } as const;

export async function caller(input: CallerInput): Promise<readonly CallEnd[]> {
  const { calls, at_once: atOnce, wait_ms: waitMs } = input;
  const heard: CallReport[] = [];
  const asked = new Map<string, Enqueue>();
  const activities = proxyLocalActivities<ToolActivities>(TELL);
  const tool = { tool: input.tool, version: input.version === 'default' ? null : input.version };
  const workflowId = queueWorkflowId(toolIdOf(tool)) ?? '';
  const tell = async (signal: string, message: unknown): Promise<void> => {
    const queue = { tool: input.tool, version: input.version };
    const start = { workflow_type: 'toolQueue', input: queue, summary: 'a queue' };
    await activities[TELL_ACTIVITY]({ workflow_id: workflowId, signal, messages: [message], start });
  };
  const ask = async (index: number): Promise<void> => {
    const { call_id, plan } = calls[index] as CallToMake;
    const known = asked.get(call_id);
    const message: Enqueue = known ?? {
      ...{ call_id, run_id: String(plan['run_id']), plan, journal_id: null, reply_to: workflowInfo().workflowId },
      ...{ queue_wait_ms: waitMs, deadline_at: Date.now() + waitMs, execution_ms: input.execution_ms, sequence: index },
      ...(input.lease_ms === undefined ? {} : { lease_ms: input.lease_ms }),
      ...(input.bound === undefined ? {} : { bound: input.bound }),
      ...(input.allow === undefined ? {} : { allow: input.allow }),
    };
    asked.set(call_id, message);
    await tell('enqueue', known === undefined ? message : { ...message, resent: true });
  };
  const reportOf = (callId: string): CallReport | undefined => heard.find((report) => report.call_id === callId);
  setHandler(reportSignal, (report) => void heard.push(report));
  setHandler(askAgainSignal, (index) => ask(index));
  setHandler(withdrawCallSignal, (index) =>
    tell('withdraw', { call_id: calls[index]?.call_id, reply_to: workflowInfo().workflowId }),
  );
  setHandler(heardQuery, () => heard);

  const known = (): number => calls.filter(({ call_id: id }) => reportOf(id) !== undefined).length;
  for (let index = 0; index < calls.length; index += 1) {
    await condition(() => index - known() < atOnce);
    await ask(index);
  }
  const missing = (): number => calls.findIndex(({ call_id: id }) => reportOf(id) === undefined);
  while (!(await condition(() => missing() === -1, input.patience_ms ?? 60_000))) await ask(missing());
  return Promise.all(calls.map(({ call_id: id, plan }) => endOf(reportOf(id) as CallReport, plan, input)));
}

async function endOf({ result, ...report }: CallReport, plan: Dict, input: CallerInput): Promise<CallEnd> {
  const chain = new ChainKeeper(plan, null, null, report.call_id);
  if (result !== null) chain.accept(result);
  let results = result?.status === 'done' ? (result.results ?? []) : [];
  if (report.status === 'unknown' && input.carry === true) {
    const tool = { tool: input.tool, version: input.version === 'default' ? null : input.version };
    await carriedByChild(chain, toolTaskQueue(tool));
  }
  if (chain.head?.phase !== 'completed' && report.status !== 'failed') {
    const activities = proxyActivities<CountersignActivities>({ startToCloseTimeout: '1 minute' });
    const request = {
      run_id: report.run_id,
      lineage: chain.lineage,
      intent: 'follow' as const,
      plan,
      journal_id: null,
    };
    const followed = await activities[DRIVE_ACTIVITY]({
      ...request,
      ...{ expected_head: chain.expectedHead, epoch: null, reclaim: false, waited: [] },
    });
    chain.accept(followed);
    if (followed.status === 'done') results = followed.results ?? results;
  }
  return {
    ...report,
    phase: chain.head?.phase ?? null,
    refused: chain.refusal?.code ?? null,
    proof: chain.effects()[0]?.proof ?? null,
    result_digest: results[0]?.result_digest ?? null,
  };
}

/** A plain call of `drive` on a task queue, as `native` capacity has it. */
export async function stranger(taskQueue: string, request: unknown): Promise<unknown> {
  const activities = proxyActivities<Record<string, (request: unknown) => Promise<unknown>>>({
    taskQueue,
    startToCloseTimeout: '1 minute',
    retry: { maximumAttempts: 1 },
  });
  return activities[DRIVE_ACTIVITY]?.(request);
}
