/**
 * Calls that are under way. Invariant: in one workflow a run is driven once at a time; a second call of the same run gets the
 * outcome of the first, and one of another plan is a conflict at once.
 */
import { ApplicationFailure, CancellationScope } from '@temporalio/workflow';
import type { DriveLoop } from './drive-loop';
import { perWorkflow } from './per-workflow';

interface Flight {
  readonly planDigest: string;
  readonly landed: Promise<DriveLoop>;
}

const ownFlights = perWorkflow(() => new Map<string, Flight>());
const ownBeginnings = perWorkflow(() => new Map<string, Promise<unknown>>());

/** One of a run at a time begins; `alone` tells it that nothing else drives the run here. What it leads to has to be a flight by its end. */
export async function beginning<T>(runId: string, begin: (alone: boolean) => Promise<T>): Promise<T> {
  const beginnings = ownBeginnings();
  for (let before = beginnings.get(runId); before !== undefined; before = beginnings.get(runId)) {
    await unlessCancelled(before);
  }
  const begun = begin(!ownFlights().has(runId));
  const forget = (): void => void beginnings.delete(runId);
  beginnings.set(runId, begun.then(forget, forget));
  return begun;
}

export async function sharedFlight(
  runId: string,
  planDigest: string,
  depart: () => Promise<DriveLoop>,
): Promise<{ readonly loop: DriveLoop; readonly shared: boolean }> {
  const own = ownFlights();
  const flying = own.get(runId);
  if (flying === undefined) {
    const landed = depart().finally(() => own.delete(runId));
    own.set(runId, { planDigest, landed });
    return { loop: await landed, shared: false };
  }
  if (flying.planDigest !== planDigest) {
    const message = 'plan_conflict: this id is already used with other arguments; use another id for another effect';
    throw ApplicationFailure.nonRetryable(message, 'plan_conflict');
  }
  return { loop: await unlessCancelled(flying.landed), shared: true };
}

function unlessCancelled<T>(promise: Promise<T>): Promise<T> {
  const { cancellable, cancelRequested } = CancellationScope.current();
  return Promise.race([promise, ...(cancellable ? [cancelRequested] : [])]);
}
