/**
 * How content leaves an author's workflow: a local activity puts it, as its input stands in no history, and the activity after it answers what
 * became of it. Invariant: nothing that the workflow does rests on when a local activity was done. Where one outlasts the workflow task
 * that it began in, a replay can hear of it in another order than the workflow did, and its history would fit no more.
 */
import {
  ApplicationFailure,
  CancellationScope,
  sleep,
  workflowInfo,
  type LocalActivityOptions,
} from '@temporalio/workflow';
import type { PutAnswer } from '../activities/contract';
import { perWorkflow } from './per-workflow';

/** Before, the answer of the local activity was waited for. */
export const PUT_FIRST = 'countersign_content_is_put_first';

/** One try to put something, and to ask for it. */
export interface Putting {
  readonly put: string;
  readonly wait_ms: number;
  readonly local: LocalActivityOptions;
}

/** Short, as the task of the workflow stays open for it; what is not done by then, the next try does. */
const PUT_MS = 5_000;
const LONGEST_PUT_MS = 60_000;
const LONGEST_PAUSE_MS = 60_000;
const RETRY = { initialInterval: '200 milliseconds', maximumInterval: '1 second', maximumAttempts: 3 } as const;

/** Asks until it is answered. */
export async function untilPut<T>(ask: (putting: Putting) => Promise<T | null>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask(newPutting(tries));
    if (answer !== null) return answer;
    await sleep(Math.min(500 * 2 ** tries, LONGEST_PAUSE_MS));
  }
}

export function newPutting(tries = 0): Putting {
  const startToCloseTimeout = Math.min(PUT_MS * 2 ** tries, LONGEST_PUT_MS);
  return { put: newName(), wait_ms: 2 * startToCloseTimeout, local: { startToCloseTimeout, retry: RETRY } };
}

/** Nobody waits for it. A scope that is cancelled puts it, too: it still learns what became of it. */
export function putAside(put: () => Promise<unknown>): void {
  CancellationScope.nonCancellable(put).catch(() => undefined);
}

/** What was staged, or null where nothing was put yet; a refusal is thrown. */
export function stagedBy<Staged extends object>(answer: PutAnswer<Staged>): Staged | null {
  if (answer === null || !('refused' in answer)) return answer;
  throw ApplicationFailure.nonRetryable(answer.refused.message, answer.refused.code);
}

const ownNames = perWorkflow(() => ({ last: 0 }));

/**
 * Of a workflow task that was lost, what was put may be there, and the next one may put something else as its first. No two of them begin at
 * the same time, nor after the same events unless they do the same.
 */
function newName(): string {
  const own = ownNames();
  own.last += 1;
  return `${Date.now()}-${workflowInfo().historyLength}-${own.last}`;
}
