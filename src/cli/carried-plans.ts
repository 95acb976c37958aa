/**
 * The plans that a namespace carries at this moment, from its list of executions, their memos, and what Temporal says of their
 * tasks. Invariant: no workflow is asked and no worker is needed, so plans that nobody carries on are seen, too.
 */
import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import type { Service } from './service';

export const CARRIED_STATES = ['stale', 'parked', 'running'] as const;
/**
 * `parked`: waits for a person. `stale`: a task of it has not been taken, or keeps failing, for longer than allowed; or its drives
 * keep failing, as they do while a journal or content store cannot be had.
 * `running`: driven, or waiting on a durable timer.
 */
export type CarriedState = (typeof CARRIED_STATES)[number];

export interface CarriedPlan {
  readonly runId: string;
  readonly workflowId: string;
  readonly taskQueue: string;
  readonly state: CarriedState;
  /** Why a person is waited for, or what is wrong with its task. */
  readonly reason: string | null;
  /** Since when it is in this state; of a running one, since its execution started. */
  readonly since: string | null;
  readonly ageMs: number;
  /** Effects, as in `1/3`; null while it was never parked. */
  readonly committed: string | null;
  /** What people are asked for. */
  readonly asks: string | null;
}

export interface CarriedPlans {
  readonly plans: readonly CarriedPlan[];
  /** There are more than were asked for. */
  readonly more: boolean;
}

const QUERY = "WorkflowType = 'governedPlan' AND ExecutionStatus = 'Running'";
const CARRIER = /^countersign\/(run_[0-9a-f]{32})$/;
const PAGE = 200;
const AT_ONCE = 16;
/** A task that fails is tried again and again; the first few times may be a deployment under way. */
const TRIES = 5;

type Execution = temporal.api.workflow.v1.IWorkflowExecutionInfo;
type Described = temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse;
type Time = { readonly seconds?: unknown; readonly nanos?: number | null } | null | undefined;

export async function carriedPlans(
  { client, soon }: Service,
  options: { readonly staleAfterMs: number; readonly limit: number },
): Promise<CarriedPlans> {
  const { workflowService, options: settings } = client;
  const { namespace } = settings;
  const found: Execution[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = { namespace, query: QUERY, pageSize: PAGE, ...(nextPageToken === undefined ? {} : { nextPageToken }) };
    const answer = await soon(() => workflowService.listWorkflowExecutions(page));
    found.push(...(answer.executions ?? []).filter((one) => CARRIER.test(one.execution?.workflowId ?? '')));
    nextPageToken = answer.nextPageToken?.length ? answer.nextPageToken : undefined;
  } while (nextPageToken !== undefined && found.length <= options.limit);
  const kept = found.slice(0, options.limit);
  const plans: CarriedPlan[] = [];
  for (let at = 0; at < kept.length; at += AT_ONCE) {
    const some = kept.slice(at, at + AT_ONCE).map(async (one) => {
      const execution = { workflowId: one.execution?.workflowId ?? '', runId: one.execution?.runId ?? '' };
      const described = await soon(() => workflowService.describeWorkflowExecution({ namespace, execution }));
      return carried(one, described, Date.now(), options.staleAfterMs);
    });
    plans.push(...(await Promise.all(some)));
  }
  const order = (plan: CarriedPlan): number => CARRIED_STATES.indexOf(plan.state);
  plans.sort((a, b) => order(a) - order(b) || b.ageMs - a.ageMs || (a.runId < b.runId ? -1 : 1));
  return { plans, more: found.length > options.limit };
}

function carried(listed: Execution, described: Described, now: number, staleAfterMs: number): CarriedPlan {
  const workflowId = listed.execution?.workflowId ?? '';
  const memo = memoOf(described.workflowExecutionInfo ?? listed);
  const untaken = untakenTask(described);
  const rests = untaken === null && (described.pendingActivities ?? []).length === 0;
  const failing = memo['reason'] === 'activity_failed' && rests;
  const stale = failing || (untaken !== null && (untaken.failing || now - untaken.since > staleAfterMs));
  const parked = memo['state'] === 'parked' && rests;
  const state: CarriedState = stale ? 'stale' : parked ? 'parked' : 'running';
  const since = {
    stale: untaken?.since ?? wholeOf(memo['failing_since']),
    parked: wholeOf(memo['parked_at']),
    running: msOf(listed.startTime),
  };
  const at = since[state];
  return {
    runId: CARRIER.exec(workflowId)?.[1] ?? '',
    workflowId,
    taskQueue: listed.taskQueue ?? '',
    state,
    reason: {
      stale: untaken?.reason ?? (failing ? 'activity_failed' : null),
      parked: textOf(memo['reason']),
      running: null,
    }[state],
    since: at === null ? null : new Date(at).toISOString(),
    // The server's time against this machine's: good enough to be read by people.
    ageMs: at === null ? 0 : Math.max(0, now - at),
    committed: textOf(memo['committed']),
    asks: parked ? textOf(memo['asks']) : null,
  };
}

interface Untaken {
  readonly since: number;
  readonly reason: string;
  readonly failing: boolean;
}

const SCHEDULED = 1; // of both enumerations, PendingWorkflowTaskState and PendingActivityState

/** A task that waits for a worker, or that no worker gets done. */
function untakenTask({
  pendingWorkflowTask: task,
  pendingActivities,
  workflowExecutionInfo,
}: Described): Untaken | null {
  if (task != null && (Number(task.attempt ?? 1) > TRIES || Number(task.state) === SCHEDULED)) {
    const failing = Number(task.attempt ?? 1) > TRIES;
    const since = msOf(task.originalScheduledTime) ?? msOf(task.scheduledTime) ?? 0;
    return { since, failing, reason: failing ? 'workflow_task_fails' : 'no_worker' };
  }
  const waiting = (pendingActivities ?? []).find((activity) => Number(activity.state) === SCHEDULED);
  if (waiting === undefined) return null;
  const since = msOf(waiting.scheduledTime) ?? msOf(workflowExecutionInfo?.startTime) ?? 0;
  return { since, failing: false, reason: 'no_activity_worker' };
}

/** Empty where there is none yet, or where a codec that is not known here wrote it. */
function memoOf(info: Execution): Readonly<Record<string, unknown>> {
  const payload = info.memo?.fields?.['countersign'];
  if (payload == null) return {};
  try {
    const memo: unknown = defaultPayloadConverter.fromPayload(payload);
    return typeof memo === 'object' && memo !== null ? (memo as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const wholeOf = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null);

function msOf(time: Time): number | null {
  if (time == null) return null;
  return Number(time.seconds ?? 0) * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000);
}
