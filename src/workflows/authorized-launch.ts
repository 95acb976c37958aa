/**
 * `authorizedLaunch`: one launch out of an author's workflow, from its context to what came of it. Invariant: it is handed off here
 * once; a job that this leaves open belongs to its own workflow, named by the job's id, which outlives the author's; asking again, after
 * a reset too, is the same job.
 */
import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowFailure,
  isCancellation,
  patched,
  proxyActivities,
  proxyLocalActivities,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  SETTLE_ACTIVITY,
  STAGE_LAUNCH_ACTIVITY,
  type LaunchActivities,
  type SettleResult,
  type StagedLaunch,
} from '../activities/launch-contract';
import type { Ref } from '../rules/calls/ref';
import { refTo } from '../rules/calls/ref';
import type { Dict } from '../rules/fields';
import { claimsToAuthorize } from '../rules/launches/launch-request';
import { jobWorkflowId, orderFromRecord, type JobOrder } from '../rules/launches/job-order';
import { ENDINGS, type JobReason } from '../rules/verification/job-states';
import { LAUNCH_LEASE_MS } from '../rules/verification/job-timers';
import type { ContentBoundary } from '../rules/verification/names';
import type { authorizedJob } from './authorized-job';
import { launchedBy, readExpiry } from './job-loop';
import type { AuthorizedJobInput, HandedOff, JobStatus } from './job-messages';
import { launchOnce } from './launch-once';

/** What a person is to authorize: the claims of a launch receipt but for role, nonce and times. */
export interface LaunchToAuthorize {
  readonly runId: string;
  readonly jobId: string;
  readonly claims: Dict;
}

export interface AuthorizedLaunchOptions {
  /** Names this launch in its workflow; never a position. */
  readonly id: string;
  /** What the launch belongs to. @default the type of the workflow */
  readonly origin?: string;
  readonly provider: string;
  readonly model: string;
  /** What the worker gets: content, or a Ref to it. */
  readonly context: unknown;
  /** Whole units of the provider's account; a launch may cost no more. */
  readonly costCeiling: number;
  /** @default 'whole_context' */
  readonly contentBoundary?: ContentBoundary;
  /** The signed receipt, or how to come by it. */
  readonly receipt: string | ((launch: LaunchToAuthorize) => string | Promise<string>);
  /** How long the worker may take, from the moment that it was seen to run. */
  readonly runningDeadlineMs: number;
  /** How long until the outcome of the launch must be known. @default 120000 */
  readonly launchLeaseMs?: number;
  /** Task queue of the workers that have the launcher. @default the workflow's own */
  readonly taskQueue?: string;
}

interface CommonEnd {
  readonly runId: string;
  readonly jobId: string;
  /** Somebody before had launched it: an earlier run of this workflow, or one before its reset. */
  readonly replayed: boolean;
}
export type LaunchEnd<Output = unknown> = CommonEnd &
  (
    | { readonly status: 'submission'; readonly submission: Ref<Output> }
    /** Nothing came of it, and it will not be launched again. `launched: 'unknown'` may have been paid for. */
    | {
        readonly status: 'unavailable';
        readonly reason: JobReason;
        readonly refusal: string | null;
        readonly message: string | null;
        readonly launched: JobStatus['launched'];
      }
    /** Something was not what it must be: the context, or the stored submission. */
    | { readonly status: 'failed'; readonly reason: JobReason; readonly launched: JobStatus['launched'] }
  );

const STAGE = {
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '1 minute' },
} as const;
const LONGEST_WATCH_MS = 30_000;
/** Before, every launch was handed off by the workflow of its job. */
const HANDS_OFF_HERE = 'countersign_launch_hands_off_here';

export async function authorizedLaunch<Output = unknown>(options: AuthorizedLaunchOptions): Promise<LaunchEnd<Output>> {
  const staged = await stage(options);
  const order = orderFromRecord(staged.order);
  const receipt =
    typeof options.receipt === 'string' ? options.receipt : await options.receipt(toAuthorize(staged, order));
  const status = await carried(options, staged, order, receipt);
  return endOf<Output>(status);
}

async function stage(options: AuthorizedLaunchOptions): Promise<StagedLaunch> {
  const activities = proxyLocalActivities<LaunchActivities>(STAGE);
  try {
    return await activities[STAGE_LAUNCH_ACTIVITY]({
      origin: options.origin ?? workflowInfo().workflowType,
      id: options.id,
      provider: options.provider,
      model: options.model,
      cost_ceiling: options.costCeiling,
      content_boundary: options.contentBoundary ?? 'whole_context',
      context: options.context,
    });
  } catch (fault) {
    const { cause } = fault as { cause?: unknown };
    throw cause instanceof ApplicationFailure ? cause : fault;
  }
}

function toAuthorize({ journal_id: journalId }: StagedLaunch, order: JobOrder): LaunchToAuthorize {
  const claims = claimsToAuthorize(journalId, order);
  return { runId: order.runId, jobId: order.jobId, claims };
}

/** Here, where the launch answers at once with what the job came to; else by the job's own workflow. */
async function carried(
  options: AuthorizedLaunchOptions,
  { journal_id, order: record }: StagedLaunch,
  order: JobOrder,
  receipt: string,
): Promise<JobStatus> {
  const input = {
    order: record,
    journal_id,
    receipt,
    running_deadline_ms: options.runningDeadlineMs,
    ...(options.launchLeaseMs === undefined ? {} : { launch_lease_ms: options.launchLeaseMs }),
    ...(options.taskQueue === undefined ? {} : { task_queue: options.taskQueue }),
  };
  const expiresAt = readExpiry(receipt);
  if (typeof expiresAt !== 'number' || !patched(HANDS_OFF_HERE)) return carriedByJob(options, order, input);
  const scope = CancellationScope.current();
  // Nothing is begun in a scope that is cancelled.
  if (scope.consideredCancelled) await scope.cancelRequested;
  const began = Date.now();
  const { launch_lease_ms: lease_ms = LAUNCH_LEASE_MS } = input;
  const result = await CancellationScope.nonCancellable(() =>
    launchOnce(
      { order: record, journal_id, receipt, lease_ms },
      { provider: order.provider, expiresAt, taskQueue: options.taskQueue },
    ),
  );
  const known = typeof result === 'object' && 'facts' in result ? result : null;
  const ours = known?.status === 'claimed';
  if (known !== null && known.facts.outcome !== null) return { ...statusOf(order, known), replayed: !ours };
  // Turned down it launched nothing: the job's workflow is turned down again, and ends it.
  const isAgain = typeof result === 'object' && result.status === 'turned_down' && !scope.consideredCancelled;
  if (isAgain) return carriedByJob(options, order, input);
  const mayGoOn = known === null && result !== 'unknown' && !scope.consideredCancelled;
  const handed_off: HandedOff = { launched: mayGoOn ? 'no' : 'unknown', ms_ago: Date.now() - began };
  const carry = (): Promise<JobStatus> => carriedByJob(options, order, { ...input, handed_off });
  // Where nothing more will be handed off, there is nothing to cancel.
  const status = await (mayGoOn ? carry() : CancellationScope.nonCancellable(carry));
  return { ...status, replayed: status.replayed && !ours };
}

async function carriedByJob(
  options: AuthorizedLaunchOptions,
  order: JobOrder,
  input: AuthorizedJobInput & { readonly journal_id: string },
): Promise<JobStatus> {
  for (let pauseMs = 500; ; pauseMs = Math.min(2 * pauseMs, LONGEST_WATCH_MS)) {
    try {
      const child = await startChild<typeof authorizedJob>('authorizedJob', {
        workflowId: jobWorkflowId(order.jobId),
        args: [input],
        parentClosePolicy: 'ABANDON',
        // A cancelled author still learns what came of the launch: only one that nobody has begun can be taken back.
        cancellationType: 'WAIT_CANCELLATION_COMPLETED',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        staticSummary: `launch: ${order.provider} ${order.model}`.slice(0, 200),
      });
      return await child.result();
    } catch (fault) {
      if (fault instanceof ChildWorkflowFailure && !isCancellation(fault)) {
        throw fault.cause instanceof ApplicationFailure ? fault.cause : fault;
      }
      if (!(fault instanceof WorkflowExecutionAlreadyStartedError)) throw fault;
    }
    // Started before a reset of this workflow: it is still at work, and the journal will say what came of it.
    await sleep(pauseMs);
    const seen = await look(options, input.journal_id, input.order);
    if (seen.facts.outcome !== null) return statusOf(order, seen);
  }
}

function look(options: AuthorizedLaunchOptions, journalId: string, order: Dict): Promise<SettleResult> {
  const { taskQueue } = options;
  const activities = proxyActivities<LaunchActivities>({ ...STAGE, ...(taskQueue === undefined ? {} : { taskQueue }) });
  return activities[SETTLE_ACTIVITY]({ order, journal_id: journalId, does: { does: 'look' } });
}

/** What the job's own workflow will answer, or has, or would have. */
function statusOf(order: JobOrder, { journal_id, facts, stored }: Omit<SettleResult, 'status'>): JobStatus {
  const { outcome } = facts;
  const submission = outcome?.outcome === 'submitted' ? outcome.submission : null;
  const broken: JobReason | null = stored === 'broken' ? 'submission_integrity_failed' : null;
  const reason = outcome?.outcome === 'ended' ? outcome.reason : broken;
  return {
    ...{ run_id: order.runId, job_id: order.jobId, journal_id, message: null, expires_at: 0, replayed: true },
    state: reason === null ? 'completed' : ENDINGS[reason].to,
    reason,
    refusal: outcome?.outcome === 'ended' ? outcome.refusal : null,
    launched: launchedBy(facts),
    submission,
  };
}

function endOf<Output>(status: JobStatus): LaunchEnd<Output> {
  const { launched, message, reason, refusal, replayed, run_id: runId, job_id: jobId, submission, state } = status;
  const common = { runId, jobId, replayed };
  if (state === 'completed' && submission !== null) {
    return { ...common, status: 'submission', submission: refTo<Output>(submission) };
  }
  if (state === 'failed' && reason !== null) return { ...common, status: 'failed', reason, launched };
  return {
    ...common,
    status: 'unavailable',
    reason: reason ?? 'launch_outcome_unknown',
    refusal,
    message,
    launched,
  };
}
