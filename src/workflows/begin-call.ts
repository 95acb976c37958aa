/**
 * How an author's call begins: its arguments are put, and what became of them is driven by the activity that answers it. Invariant: nothing
 * is sent before the history knows the journal that it belongs to; from the first call of a workflow on, it does.
 */
import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  type ActivityOptions,
} from '@temporalio/workflow';
import {
  BEGIN_ACTIVITY,
  PUT_CALL_ACTIVITY,
  type BeginRequest,
  type BegunCall,
  type CountersignActivities,
  type DriveResult,
  type StagedCall,
  type StageRequest,
} from '../activities/contract';
import { cancelledUnseen } from './call-outcome';
import { ChainKeeper } from './chain-keeper';
import { DRIVING } from './drive-loop';
import { perWorkflow } from './per-workflow';
import { newPutting, putAside, stagedBy, untilPut, type Putting } from './put-content';

export interface Begun {
  readonly chain: ChainKeeper;
  /** What the first drive came to, null when it did not come back; absent where none was asked for. */
  readonly driven?: DriveResult | null;
}

export interface BegunBy {
  readonly effect: string | null;
  readonly taskQueue?: string;
  readonly calls: readonly StagedCall[];
}

/** A cancelled scope still learns what its effects are, unless the worker cannot say it so soon. */
const LATE: ActivityOptions = { scheduleToCloseTimeout: '10 seconds' };

const ownJournal = perWorkflow<{ id: string | null }>(() => ({ id: null }));

/** @param alone Nothing else drives the run here, so it can be driven at once. */
export async function begin(call: StageRequest, runId: string, alone: boolean, by: BegunBy): Promise<Begun> {
  const journal = ownJournal();
  let drives = alone && journal.id !== null && !CancellationScope.current().consideredCancelled;
  /** A drive that was asked for, and did not come back. */
  let unheard = false;
  const ask = async ({ put, wait_ms, local }: Putting, options: ActivityOptions = {}): Promise<Begun | null> => {
    const activities = proxyLocalActivities<CountersignActivities>(local);
    putAside(() => activities[PUT_CALL_ACTIVITY]({ put, call }));
    const asked: BeginRequest = { put, wait_ms, run_id: runId, journal_id: journal.id, drives };
    unheard ||= drives;
    drives = false;
    const begun = await heard(asked, by, options);
    if (begun === null) return null;
    if (asked.drives) unheard = false;
    const staged = stagedBy(begun.answer);
    if (staged === null) return null;
    journal.id ??= staged.journal_id;
    const chain = new ChainKeeper(staged.plan, null, journal.id);
    return asked.drives || unheard ? { chain, driven: begun.driven } : { chain };
  };
  try {
    return await untilPut(ask);
  } catch (fault) {
    if (!isCancellation(fault)) throw fault;
    const late = await CancellationScope.nonCancellable(() => ask(newPutting(), LATE));
    if (late === null) throw cancelledUnseen(by.calls);
    return late;
  }
}

/** Null when it did not come back. */
async function heard(
  request: BeginRequest,
  { effect, taskQueue }: BegunBy,
  options: ActivityOptions,
): Promise<BegunCall | null> {
  const summary = `begin: ${(effect ?? 'plan').slice(0, 80)}`;
  const queue = taskQueue === undefined ? {} : { taskQueue };
  try {
    return await proxyActivities<CountersignActivities>({ ...DRIVING, summary, ...queue, ...options })[BEGIN_ACTIVITY](
      request,
    );
  } catch (fault) {
    if (isCancellation(fault) || !(fault instanceof ActivityFailure)) throw fault;
    return null;
  }
}
