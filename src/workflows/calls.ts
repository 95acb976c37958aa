/**
 * An author's call, from its arguments to the end of its plan: stage, drive here, and hand over to a workflow of its own when
 * it takes a person. Invariant: nothing of ours stays in the author's workflow but the commands of these steps; and when its
 * scope is cancelled, the plan is closed before the author hears of it.
 */
import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  patched,
  proxyLocalActivities,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import {
  STAGE_ACTIVITY,
  type CountersignActivities,
  type DriveResult,
  type StageRequest,
  type StagedCall,
  type StagedPlan,
} from '../activities/contract';
import { deriveCallRunId } from '../rules/calls/identity';
import type { EffectResult } from '../rules/calls/signature';
import type { Dict } from '../rules/fields';
import type { PlanOrder } from '../rules/plans/plan';
import { RecoveryError } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import { cancelledUnseen, resultsOf } from './call-outcome';
import { begin, type Begun } from './begin-call';
import { carriedByChild } from './carrier-child';
import { ChainKeeper } from './chain-keeper';
import { DriveLoop } from './drive-loop';
import { beginning, sharedFlight } from './flights';
import { PUT_FIRST } from './put-content';
import { guestOf } from './story';

export interface ProxyOptions {
  /**
   * What the effects belong to: part of their identity. Name it when the workflow's type may change, or when several
   * applications share a journal. @default the type of the workflow
   */
  readonly origin?: string;
  /** Task queue of the workers that have the sinks. @default the workflow's own */
  readonly taskQueue?: string;
}

export interface Call extends ProxyOptions {
  /** Null for a plan of several. */
  readonly effect: string | null;
  readonly id: string;
  readonly order: PlanOrder;
  readonly calls: readonly StagedCall[];
}

const LONGEST_PAUSE_MS = 10 * 60_000;
const STAGE = {
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '1 minute' },
} as const;

export async function perform(call: Call): Promise<readonly EffectResult[]> {
  try {
    return await outcomeOf(call);
  } catch (fault) {
    // Anything else than a Temporal failure would be retried for ever as a failed workflow task.
    if (fault instanceof Refusal) throw ApplicationFailure.nonRetryable(fault.message, fault.code);
    if (fault instanceof RecoveryError) throw ApplicationFailure.nonRetryable(fault.message, 'invalid_plan');
    throw fault;
  }
}

async function outcomeOf(call: Call): Promise<readonly EffectResult[]> {
  const scope = CancellationScope.current();
  const flying = patched(PUT_FIRST) ? await begun(call) : flight({ chain: await staged(call) }, call);
  const { loop, shared } = await flying();
  const results = resultsOf(loop, call.calls, scope.consideredCancelled);
  return shared ? results.map((result) => ({ ...result, replayed: true })) : results;
}

type Flight = () => ReturnType<typeof sharedFlight>;

async function begun(call: Call): Promise<Flight> {
  const request = requestOf(call);
  const { origin, effect, id } = request;
  const runId = deriveCallRunId({ origin, workflowId: workflowInfo().workflowId, effect, id });
  try {
    return await beginning(runId, async (alone) => flight(await begin(request, runId, alone, call), call));
  } catch (fault) {
    throw isCancellation(fault) ? cancelledUnseen(call.calls) : fault;
  }
}

/** Begun here and now. It is waited for later: others may begin as soon as it is under way. */
function flight({ chain, driven }: Begun, call: Call): Flight {
  const { runId, planDigest } = chain.plan;
  const flying = sharedFlight(runId, planDigest, () => carried(chain, call, driven));
  flying.catch(() => undefined);
  return () => flying;
}

function requestOf({ effect, id, order, calls, origin }: Call): StageRequest {
  return { origin: origin ?? workflowInfo().workflowType, effect, id, order, calls };
}

/**
 * As histories have it that were begun before `PUT_FIRST`. A cancelled scope still learns what its effects are, unless the worker cannot
 * say it soon.
 */
async function staged(call: Call): Promise<ChainKeeper> {
  const request = requestOf(call);
  const stage = async (options: { scheduleToCloseTimeout?: '10 seconds' }): Promise<ChainKeeper> => {
    const activities = proxyLocalActivities<CountersignActivities>({ ...STAGE, ...options });
    return chainOf(await activities[STAGE_ACTIVITY](request));
  };
  try {
    return await stage({});
  } catch (fault) {
    if (!isCancellation(fault)) throw unwrapped(fault);
    const late = CancellationScope.nonCancellable(() => stage({ scheduleToCloseTimeout: '10 seconds' }));
    return await late.catch(() => Promise.reject(cancelledUnseen(call.calls)));
  }
}

function chainOf(staged: StagedPlan | Dict): ChainKeeper {
  const { plan, journal_id: journalId } = staged as Partial<StagedPlan>;
  return plan === undefined ? new ChainKeeper(staged as Dict, null) : new ChainKeeper(plan, null, journalId);
}

/** Drives the plan to its end, wherever that has to happen. */
async function carried(
  chain: ChainKeeper,
  { effect, taskQueue }: Call,
  driven?: DriveResult | null,
): Promise<DriveLoop> {
  const loop = new DriveLoop(chain, taskQueue, undefined, guestOf(effect ?? 'plan'));
  const scope = CancellationScope.current();
  if (driven === undefined && scope.consideredCancelled && (await neverBegun(loop))) return loop;
  // A scope that shields its content still hears of a cancellation outside.
  if (scope.cancellable) scope.cancelRequested.catch(() => loop.cancel());
  let first = driven;
  for (let pauseMs = 1_000; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const end = await CancellationScope.nonCancellable(() => loop.run(first));
    first = undefined;
    if (end.end === 'turned_down') throw ApplicationFailure.nonRetryable(end.refusal.message, end.refusal.code);
    if (end.end === 'closed') return loop;
    try {
      const by = await carriedByChild(chain, taskQueue);
      loop.onlyFollows = true;
      if (by === 'another') await sleep(pauseMs);
    } catch (fault) {
      if (!isCancellation(fault)) throw fault;
      // What the cancelled child has closed is read from the journal; what it never began is closed here.
      loop.cancel();
    }
  }
}

/** Cancelled before it was asked for: nothing is opened only to be closed. */
async function neverBegun(loop: DriveLoop): Promise<boolean> {
  const seen = await CancellationScope.nonCancellable(() => loop.drive('follow'));
  if (seen?.status === 'fenced' && seen.head === null) return true;
  loop.cancel();
  return false;
}

/** A refusal as such, without the activity around it. */
function unwrapped(fault: unknown): unknown {
  const { cause } = fault as { cause?: unknown };
  return cause instanceof ApplicationFailure ? cause : fault;
}
