/**
 * What holds up a session, as Temporal keeps it of the tries of its activities. Invariant: no workflow is asked and no worker is needed;
 * only what is marked by a code of ours is repeated, since anything else may hold contents.
 */
import { HELD_UP_CODES, type HeldUpCode } from '../activities/session-contract';
import { printable } from './printable';
import type { Service } from './service';

export interface HeldUpTries {
  readonly code: HeldUpCode;
  /** What the worker lacks, in a sentence; null where a codec hides it. */
  readonly message: string | null;
  /** Tries so far. */
  readonly tries: number;
}

const SCHEDULED = 1; // of PendingActivityState: no worker is at it

/** Null while nothing holds it up, and where the server cannot say. */
export async function heldUpOf({ client, soon }: Service, workflowId: string): Promise<HeldUpTries | null> {
  try {
    const { raw } = await soon(() => client.workflow.getHandle(workflowId).describe());
    for (const { state, attempt, lastFailure } of raw.pendingActivities ?? []) {
      const type = lastFailure?.applicationFailureInfo?.type;
      const code = HELD_UP_CODES.find((one) => one === type);
      if (Number(state) !== SCHEDULED || code === undefined) continue;
      const message = lastFailure?.encodedAttributes == null ? printable(lastFailure?.message ?? '') : null;
      return { code, message, tries: Math.max(1, Number(attempt ?? 1) - 1) };
    }
    return null;
  } catch {
    return null;
  }
}

export function wordsOfHeldUp({ code, message, tries }: HeldUpTries): string {
  return `held up after ${tries} ${tries === 1 ? 'try' : 'tries'}, until a worker can do it: ${message ?? code}`;
}
