/**
 * The workflow of its own at which people answer for a call, or for a limit. Invariant: there is one for a plan, whoever started it; what
 * it came to is read from the plan's chain.
 */
import { ApplicationFailure, isCancellation, sleep } from '@temporalio/workflow';
import { carriedByChild, type CarriedBy } from './carrier-child';
import type { ChainKeeper } from './chain-keeper';
import { DriveLoop } from './drive-loop';

export const LONGEST_PAUSE_MS = 10 * 60_000;

export async function carriedOn(
  chain: ChainKeeper,
  taskQueue: string | undefined,
): Promise<CarriedBy | ApplicationFailure> {
  try {
    return await carriedByChild(chain, taskQueue, 'TRY_CANCEL');
  } catch (fault) {
    if (isCancellation(fault)) throw fault;
    // Terminated by somebody: what became of the plan, the journal says; another one carries it on.
    return fault instanceof ApplicationFailure ? fault : 'another';
  }
}

/** It is driven by the session's own workers, which cannot send: no worker of a tool has to be there for an answer. */
export async function answeredAt(chain: ChainKeeper, anew: () => ChainKeeper): Promise<'permitted' | 'closed'> {
  for (let pauseMs = 500; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const end = await carriedOn(chain, undefined);
    if (end === 'permitted') return end;
    if (end === 'child' || end instanceof ApplicationFailure) return 'closed';
    await sleep(pauseMs);
    const seen = await new DriveLoop(anew(), undefined).drive('follow');
    if (seen?.status === 'done') return 'closed';
  }
}
