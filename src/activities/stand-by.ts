/**
 * What ends a job whose author's workflow is no longer there to do it: a workflow on the server that starts later, and gives the job
 * one of its own. Invariant: no launch for an author is under way for longer than a moment, and none comes back with the job open,
 * before that is in place; it launches nothing, and whoever carries the job already is left alone.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '@temporalio/activity';
import { orderFromRecord, standbyWorkflowId } from '../rules/launches/job-order';
import { Refusal } from '../rules/refusal';
import { HEAD_START_MS } from '../rules/verification/job-timers';
import { faultClass } from './fault-class';
import {
  JOB_CHANGED_SIGNAL,
  JOB_WORKFLOW,
  type AuthorizedJobInput,
  type LaunchRequest,
  type LaunchResult,
} from './launch-contract';
import type { Warn } from './launch-engine';

type TemporalClient = Context['client'];

/** Most launches that do not take long are over by then, and cost nothing more. */
const UNDER_WAY_MS = 250;
/** The first ones together, the launch activity still answers in time; the others go on behind its answer. */
const ANSWERS_WITHIN_MS = 3_000;
const TRY_PAUSES_MS = [0, 200, 500, 1_000, 2_000, 5_000, 15_000, 30_000];
const TRY_MS = 5_000;
/** Events of an execution that has yet to start: that it was asked for. */
const NOT_BEGUN = 1;

/** Of a launch that an author's workflow hands off, on the task queue of the activity. */
export interface StoodBy {
  readonly request: LaunchRequest;
  readonly taskQueue: string;
  readonly client: () => TemporalClient;
  readonly warn: Warn | undefined;
}

export async function stoodBy(of: StoodBy, launch: () => Promise<LaunchResult>): Promise<LaunchResult> {
  const { request, client } = of;
  const { stand_by: author } = request;
  if (author === undefined) return launch();
  const began = performance.now();
  let placed: Promise<boolean> | null = null;
  const place = (delayMs: number): Promise<boolean> => {
    const msAgo = Math.round(performance.now() - began);
    placed = placeStandby(of, author.task_queue, inputOf(of, author.running_deadline_ms, msAgo, delayMs));
    return placed;
  };
  const inPlace = async (before: Promise<boolean> | null): Promise<void> => {
    if ((await before) === true) hasten(client, orderFromRecord(request.order).jobId);
    else await place(HEAD_START_MS);
  };
  const timer = setTimeout(() => void place(request.lease_ms - UNDER_WAY_MS + HEAD_START_MS), UNDER_WAY_MS);
  let open = true;
  try {
    const result = await launch();
    open = 'facts' in result && result.facts.outcome === null;
    return result;
  } catch (fault) {
    open = !(fault instanceof Refusal);
    throw fault;
  } finally {
    clearTimeout(timer);
    const before = placed as Promise<boolean> | null;
    if (!open) void before?.then(() => relieve(client, orderFromRecord(request.order).jobId));
    else await Promise.race([inPlace(before), sleep(ANSWERS_WITHIN_MS, undefined, { ref: false })]);
  }
}

/** The job needs nobody any more who stands by. Where it cannot be told, it finds that out by itself. */
export function relieve(client: () => TemporalClient, jobId: string): void {
  void (async () => {
    const { workflow, workflowService, options } = client();
    const workflowId = standbyWorkflowId(jobId);
    const { runId, historyLength, status } = await workflow.getHandle(workflowId).describe();
    // What has begun its work ends by itself, and leaves its history behind.
    if (status.name !== 'RUNNING' || historyLength > NOT_BEGUN) return;
    await workflowService.deleteWorkflowExecution({
      namespace: options.namespace,
      workflowExecution: { workflowId, runId },
    });
  })().catch(() => undefined);
}

/** The launch is over before its lease is. */
function hasten(client: () => TemporalClient, jobId: string): void {
  void trying(
    () => client().workflow.getHandle(standbyWorkflowId(jobId)).signal(JOB_CHANGED_SIGNAL),
    'WorkflowNotFoundError',
  );
}

async function placeStandby({ client, warn }: StoodBy, taskQueue: string, input: AuthorizedJobInput): Promise<boolean> {
  const { jobId, provider, model } = orderFromRecord(input.order);
  const start = (): Promise<unknown> => {
    const temporal = client();
    return temporal.withDeadline(Date.now() + TRY_MS, () =>
      temporal.workflow.start(JOB_WORKFLOW, {
        workflowId: standbyWorkflowId(jobId),
        taskQueue,
        args: [input],
        startDelay: input.stands_by?.in_ms ?? 0,
        staticSummary: `stands by: ${provider} ${model}`.slice(0, 200),
      }),
    );
  };
  const fault = await trying(start, 'WorkflowExecutionAlreadyStartedError');
  if (fault === null) return true;
  warn?.('nobody stands by a launch: were its workflow to end now, its job would stay open', {
    ...{ jobId, provider, model },
    fault: faultClass(fault),
  });
  return false;
}

/** Null once it is done, or there is nothing to do; else the last fault. */
async function trying(act: () => Promise<unknown>, nothingToDo: string): Promise<unknown> {
  let last: unknown = null;
  for (const pauseMs of TRY_PAUSES_MS) {
    await sleep(pauseMs, undefined, { ref: false });
    try {
      await act();
      return null;
    } catch (fault) {
      if (fault instanceof Error && fault.name === nothingToDo) return null;
      last = fault;
    }
  }
  return last;
}

function inputOf(
  { request, taskQueue }: StoodBy,
  running_deadline_ms: number,
  msAgo: number,
  delayMs: number,
): AuthorizedJobInput {
  const { order, journal_id: journalId, receipt, lease_ms } = request;
  return {
    order,
    ...(journalId === null ? {} : { journal_id: journalId }),
    receipt,
    ...{ running_deadline_ms, launch_lease_ms: lease_ms, task_queue: taskQueue },
    handed_off: { launched: 'unknown', ms_ago: msAgo },
    stands_by: { in_ms: Math.max(0, delayMs) },
  };
}
