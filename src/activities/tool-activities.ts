/**
 * What queues and their callers need of the Temporal server. Invariant: telling may happen any number of times and says the same; what
 * is answered of workers is what the server saw, by the server's own clock.
 */
import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/common';
import { toolOfQueueWorkflow } from '../rules/invocations/names';
import { attributesOfQueue } from '../rules/invocations/search-attributes';
import { CARRIER_TASK_TIMEOUT_MS } from './contract';
import {
  DESCRIBE_WORKERS_ACTIVITY,
  EVER_REGISTERED_ACTIVITY,
  TELL_ACTIVITY,
  type DescribeWorkersRequest,
  type SeenWorkers,
  type TellRequest,
  type ToolActivities,
} from './tool-contract';

/** `TASK_QUEUE_TYPE_ACTIVITY` and `PENDING_ACTIVITY_STATE_STARTED` of Temporal's API. */
const ACTIVITY_TASKS = 2;
const STARTED = 2;

export function createToolActivities(): ToolActivities {
  return {
    [TELL_ACTIVITY]: (request) => tell(Context.current(), request),
    [DESCRIBE_WORKERS_ACTIVITY]: (request) => describe(Context.current(), request),
    [EVER_REGISTERED_ACTIVITY]: ({ workflow_id: workflowId }) => everRegistered(Context.current(), workflowId),
  };
}

async function tell({ client, info }: Context, request: TellRequest): Promise<void> {
  const { workflow_id: workflowId, signal, messages, start } = request;
  const tool = toolOfQueueWorkflow(workflowId);
  await client.workflow.signalWithStart(start.workflow_type, {
    workflowId,
    taskQueue: info.taskQueue,
    args: [start.input],
    signal,
    signalArgs: [...messages],
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    workflowTaskTimeout: CARRIER_TASK_TIMEOUT_MS,
    staticSummary: start.summary,
    ...(start.search === true && tool !== null ? { typedSearchAttributes: attributesOfQueue(tool) } : {}),
  });
}

/** A queue that was never started has heard of nobody. */
async function everRegistered({ client }: Context, workflowId: string): Promise<boolean> {
  try {
    const { ever_registered: ever } = await client.workflow
      .getHandle(workflowId)
      .query<{ ever_registered: boolean }>('queue');
    return ever;
  } catch (fault) {
    if (fault instanceof WorkflowNotFoundError) return false;
    throw fault;
  }
}

async function describe({ client, info }: Context, request: DescribeWorkersRequest): Promise<SeenWorkers> {
  const { task_queue: name, within_ms: withinMs } = request;
  const now = info.currentAttemptScheduledTimestampMs;
  const fresh = (at: Timestamp): boolean => now - msOf(at) <= withinMs;
  const [{ pollers }, { raw }] = await Promise.all([
    client.workflowService.describeTaskQueue({
      namespace: info.namespace,
      taskQueue: { name },
      taskQueueType: ACTIVITY_TASKS,
    }),
    client.workflow.getHandle(info.workflowExecution?.workflowId ?? '').describe(),
  ]);
  const polling = pollers.filter(({ lastAccessTime }) => fresh(lastAccessTime)).map(({ identity }) => identity);
  // A worker whose places are all taken does not poll; it is seen by the calls that it has.
  const working = (raw.pendingActivities ?? [])
    .filter(({ state, lastHeartbeatTime, lastStartedTime }) => {
      return state === STARTED && (fresh(lastHeartbeatTime) || fresh(lastStartedTime));
    })
    .map(({ lastWorkerIdentity }) => lastWorkerIdentity);
  const identities = [...new Set([...polling, ...working])].filter((identity) => typeof identity === 'string');
  return { identities: identities.sort() };
}

type Timestamp =
  { readonly seconds?: { toNumber(): number } | number | null; readonly nanos?: number | null } | null | undefined;

function msOf(at: Timestamp): number {
  const seconds = at?.seconds ?? 0;
  return (typeof seconds === 'number' ? seconds : seconds.toNumber()) * 1_000 + (at?.nanos ?? 0) / 1_000_000;
}
