/**
 * `authorizedLaunch`: one launch out of an author's workflow, from its context to what came of it. Invariant: it is handed off here
 * once; a job that this leaves open belongs to its own workflow, named by the job's id, which outlives the author's; asking again, after
 * a reset too, is the same job, and nobody signs twice for it.
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
  JOB_WORKFLOW,
  SETTLE_ACTIVITY,
  PUT_LAUNCH_ACTIVITY,
  STAGED_LAUNCH_ACTIVITY,
  STAGE_LAUNCH_ACTIVITY,
  type LaunchActivities,
  type SettleResult,
  type StagedLaunch,
  type StageLaunchRequest,
} from '../activities/launch-contract';
import type { Ref } from '../rules/calls/ref';
import { refDigest, refTo } from '../rules/calls/ref';
import type { Dict } from '../rules/fields';
import { jobWorkflowId, orderFromRecord, orderToRecord, type JobOrder } from '../rules/launches/job-order';
import { orderOfCall, type LaunchCall } from '../rules/launches/launch-call';
import { claimsToAuthorize } from '../rules/launches/launch-request';
import { Refusal } from '../rules/refusal';
import { ENDINGS, type JobReason } from '../rules/verification/job-states';
import { LAUNCH_LEASE_MS } from '../rules/verification/job-timers';
import type { ContentBoundary } from '../rules/verification/names';
import type { authorizedJob } from './authorized-job';
import { launchedBy, readExpiry } from './job-loop';
import type { AuthorizedJobInput, HandedOff, JobStatus } from './job-messages';
import { launchOnce } from './launch-once';
import { PUT_FIRST, putAside, stagedBy, untilPut, type Putting } from './put-content';

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
  /** The signed receipt, or how to come by it; not asked for where there is one from before. */
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
/** Before, a receipt was waited for whatever had been launched already. */
const SIGNED_ONCE = 'countersign_launch_signed_once';
/** Of what somebody else began: it may last as long as if it had been begun now. */
const BEGUN: HandedOff = { launched: 'unknown', ms_ago: 0 };

export async function authorizedLaunch<Output = unknown>(options: AuthorizedLaunchOptions): Promise<LaunchEnd<Output>> {
  const handsOff = patched(HANDS_OFF_HERE);
  const { journalId, order, before } = await staged(options, handsOff);
  const call = { options, order, journalId, record: orderToRecord(order) };
  const earlier = before === null ? null : await launchedEarlier(call, before);
  if (earlier !== null) return endOf<Output>(earlier);
  const receipt = await receiptOf(options, journalId ?? '', order);
  const asked: Asked = { ...call, receipt };
  const expiresAt = readExpiry(receipt);
  const here = handsOff && typeof expiresAt === 'number';
  const status = here ? await handedOff(asked, expiresAt) : await carriedByJob(asked);
  return endOf<Output>(status);
}

/** One call, once it is known what it launches. */
interface Asked {
  readonly options: AuthorizedLaunchOptions;
  readonly order: JobOrder;
  readonly record: Dict;
  readonly journalId: string | null;
  readonly receipt: string;
}

interface Staged {
  readonly order: JobOrder;
  readonly journalId: string | null;
  readonly before: Before | null;
}
type Before = NonNullable<StagedLaunch['before']>;

/**
 * A Ref is no content: what it launches follows here, and who is to sign needs to know only the journal. Content becomes one in a local
 * activity, whose input stands in no history.
 */
async function staged(options: AuthorizedLaunchOptions, refsFollowHere: boolean): Promise<Staged> {
  const { context } = options;
  const digest = typeof context === 'object' && context !== null ? refDigest(context) : null;
  if (digest === null && patched(PUT_FIRST)) return stagedOf(await untilPut((putting) => askedFor(options, putting)));
  if (digest === null || !refsFollowHere) return stage(options, proxyLocalActivities<LaunchActivities>(STAGE));
  if (typeof options.receipt !== 'string') return stage(options, proxyActivities<LaunchActivities>(STAGE));
  const { provider, model, costCeiling, contentBoundary = 'whole_context' } = options;
  const call: LaunchCall = { ...callOf(options), workflowId: workflowInfo().workflowId };
  const terms = { provider, model, contentBoundary, costCeiling, contextDigest: digest };
  try {
    return { order: orderOfCall(call, terms), journalId: null, before: null };
  } catch (fault) {
    // Anything else than a Temporal failure would be retried for ever as a failed workflow task.
    if (fault instanceof Refusal) throw ApplicationFailure.nonRetryable(fault.message, fault.code);
    throw fault;
  }
}

/** Null: nothing was put yet. */
async function askedFor(
  options: AuthorizedLaunchOptions,
  { put, wait_ms, local }: Putting,
): Promise<StagedLaunch | null> {
  const here = proxyLocalActivities<LaunchActivities>(local);
  putAside(() => here[PUT_LAUNCH_ACTIVITY]({ put, launch: requestOf(options) }));
  const activities = proxyActivities<LaunchActivities>({ ...STAGE, startToCloseTimeout: '5 minutes' });
  return stagedBy((await activities[STAGED_LAUNCH_ACTIVITY]({ put, wait_ms })).answer);
}

async function stage(
  options: AuthorizedLaunchOptions,
  activities: Pick<LaunchActivities, typeof STAGE_LAUNCH_ACTIVITY>,
): Promise<Staged> {
  try {
    return stagedOf(await activities[STAGE_LAUNCH_ACTIVITY](requestOf(options)));
  } catch (fault) {
    const { cause } = fault as { cause?: unknown };
    throw cause instanceof ApplicationFailure ? cause : fault;
  }
}

function stagedOf({ journal_id: journalId, order, before }: StagedLaunch): Staged {
  return { journalId, order: orderFromRecord(order), before: before ?? null };
}

function requestOf(options: AuthorizedLaunchOptions): StageLaunchRequest {
  const { provider, model, costCeiling, contentBoundary = 'whole_context', context } = options;
  return {
    ...{ ...callOf(options), provider, model, context },
    ...{ cost_ceiling: costCeiling, content_boundary: contentBoundary },
  };
}

function callOf({ origin, id }: AuthorizedLaunchOptions): { readonly origin: string; readonly id: string } {
  return { origin: origin ?? workflowInfo().workflowType, id };
}

/** Null: nobody has begun it, so it takes a receipt. */
async function launchedEarlier(call: Omit<Asked, 'receipt'>, before: Before): Promise<JobStatus | null> {
  // A build that did not know this answer went on as if nothing had been launched.
  if (!patched(SIGNED_ONCE)) return null;
  const { order, journalId } = call;
  const { facts, receipt } = before;
  if (facts.outcome !== null) return statusOf(order, { journal_id: journalId ?? '', ...before });
  if (receipt === null) return null;
  const carry = (): Promise<JobStatus> => carriedByJob({ ...call, receipt }, { handed_off: BEGUN });
  return { ...(await CancellationScope.nonCancellable(carry)), replayed: true };
}

async function receiptOf({ receipt }: AuthorizedLaunchOptions, journalId: string, order: JobOrder): Promise<string> {
  if (typeof receipt === 'string') return receipt;
  const { runId, jobId } = order;
  return receipt({ runId, jobId, claims: claimsToAuthorize(journalId, order) });
}

/** Here, where the launch answers at once with what the job came to; else by the job's own workflow. */
async function handedOff(asked: Asked, expiresAt: number): Promise<JobStatus> {
  const { options, order, record, receipt, journalId } = asked;
  const scope = CancellationScope.current();
  // Nothing is begun in a scope that is cancelled.
  if (scope.consideredCancelled) await scope.cancelRequested;
  const began = Date.now();
  const { launchLeaseMs: lease_ms = LAUNCH_LEASE_MS, taskQueue } = options;
  const stand_by = { task_queue: workflowInfo().taskQueue, running_deadline_ms: options.runningDeadlineMs };
  const request = { order: record, call: callOf(options), journal_id: journalId, receipt, lease_ms, stand_by };
  const result = await CancellationScope.nonCancellable(() =>
    launchOnce(request, { provider: order.provider, expiresAt, taskQueue }),
  );
  const answered = typeof result === 'object' ? result : null;
  const known = answered !== null && 'facts' in answered ? answered : null;
  const ours = known?.status === 'claimed';
  if (known !== null && known.facts.outcome !== null) return { ...statusOf(order, known), replayed: !ours };
  const goingOn = { ...asked, journalId: answered?.journal_id ?? journalId };
  // Turned down it launched nothing: the job's workflow is turned down again, and ends it.
  if (answered?.status === 'turned_down' && !scope.consideredCancelled) return carriedByJob(goingOn);
  const mayGoOn = known === null && result !== 'unknown' && !scope.consideredCancelled;
  const handed_off: HandedOff = { launched: mayGoOn ? 'no' : 'unknown', ms_ago: Date.now() - began };
  const carry = (): Promise<JobStatus> => carriedByJob(goingOn, { handed_off });
  // Where nothing more will be handed off, there is nothing to cancel.
  const status = await (mayGoOn ? carry() : CancellationScope.nonCancellable(carry));
  return { ...status, replayed: status.replayed && !ours };
}

async function carriedByJob(asked: Asked, more: Pick<AuthorizedJobInput, 'handed_off'> = {}): Promise<JobStatus> {
  const { options, order, record, journalId, receipt } = asked;
  const input: AuthorizedJobInput = {
    order: record,
    call: { ...callOf(options), workflow_id: workflowInfo().workflowId },
    ...(journalId === null ? {} : { journal_id: journalId }),
    receipt,
    running_deadline_ms: options.runningDeadlineMs,
    ...(options.launchLeaseMs === undefined ? {} : { launch_lease_ms: options.launchLeaseMs }),
    ...(options.taskQueue === undefined ? {} : { task_queue: options.taskQueue }),
    ...more,
  };
  for (let pauseMs = 500; ; pauseMs = Math.min(2 * pauseMs, LONGEST_WATCH_MS)) {
    try {
      const child = await startChild<typeof authorizedJob>(JOB_WORKFLOW, {
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
    const seen = await look(asked);
    if (seen.facts.outcome !== null) return statusOf(order, seen);
  }
}

function look({ options: { taskQueue }, record, journalId }: Asked): Promise<SettleResult> {
  const activities = proxyActivities<LaunchActivities>({ ...STAGE, ...(taskQueue === undefined ? {} : { taskQueue }) });
  return activities[SETTLE_ACTIVITY]({ order: record, journal_id: journalId, does: { does: 'look' } });
}

/** What the job's own workflow will answer, or has, or would have. */
function statusOf(order: JobOrder, { journal_id, facts, stored }: SettleResult): JobStatus {
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
