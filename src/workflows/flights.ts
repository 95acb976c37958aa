/**
 * Calls that are under way. Invariant: in one workflow a run is driven once at a time; a second call of the same run gets the
 * outcome of the first, and one of another plan is a conflict at once.
 */
import { ApplicationFailure, CancellationScope } from '@temporalio/workflow';
import type { DriveLoop } from './drive-loop';

interface Flight {
  readonly planDigest: string;
  readonly landed: Promise<DriveLoop>;
}

/** By the workflow's root scope, which is an object of this very execution: what an evicted one left is never found. */
const flights = new WeakMap<CancellationScope, Map<string, Flight>>();

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
  const { cancellable, cancelRequested } = CancellationScope.current();
  return { loop: await Promise.race([flying.landed, ...(cancellable ? [cancelRequested] : [])]), shared: true };
}

function ownFlights(): Map<string, Flight> {
  let root = CancellationScope.current();
  while (root.parent !== undefined) root = root.parent;
  const own = flights.get(root) ?? new Map<string, Flight>();
  flights.set(root, own);
  return own;
}
