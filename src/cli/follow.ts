/**
 * Following a plan from outside. Invariant: it only asks; whether it ends by a result, a parked plan or Ctrl-C, the plan
 * itself goes on exactly as it would have.
 */
import type { ParkReason } from '../activities/contract';
import type { PlanHandle, PlanOutcome, PlanStatus } from '../client';
import { PARKED_EXITS } from './exit-codes';
import type { Service } from './service';

const FIRST_POLL_MS = 150;
const LONGEST_POLL_MS = 2_000;

export type Followed =
  | { readonly end: 'result'; readonly outcome: PlanOutcome }
  | { readonly end: 'parked'; readonly reason: ParkReason; readonly status: PlanStatus }
  | { readonly end: 'interrupted' };

export interface FollowOptions {
  /** Keep following a plan that waits for a person. */
  readonly wait: boolean;
  readonly taskQueue: string;
  readonly interrupted: AbortSignal;
  readonly say: (line: string) => void;
}

/** Throws what the execution failed with. */
export async function follow(service: Service, handle: PlanHandle, options: FollowOptions): Promise<Followed> {
  const result = handle.result().then((outcome) => ({ end: 'result', outcome }) as const);
  result.catch(() => undefined);
  const interrupted = aborted(options.interrupted);
  let told = '';
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 1.5, LONGEST_POLL_MS)) {
    const first = await Promise.race([result, interrupted, elapsed(pause)]);
    if (first !== null) return first;
    const status = await Promise.race([result, interrupted, statusOf(service, handle)]);
    if (status !== null && 'end' in status) return status;
    const line = status === null ? silent(options.taskQueue) : progress(status);
    if (line !== told) options.say(line);
    told = line;
    if (status?.state === 'parked' && isParkReason(status.reason) && !options.wait) {
      return { end: 'parked', reason: status.reason, status };
    }
  }
}

export function progress(status: PlanStatus): string {
  const committed = status.effects.filter((effect) => effect.state === 'committed').length;
  const why = status.reason === null ? '' : ` (${status.reason})`;
  return `  ${committed} of ${status.effects.length} effects committed, ${status.state}${why}`;
}

export function isParkReason(reason: PlanStatus['reason']): reason is ParkReason {
  return reason !== null && Object.hasOwn(PARKED_EXITS, reason);
}

/** Null when no worker answers in time. */
export async function statusOf(service: Service, handle: PlanHandle): Promise<PlanStatus | null> {
  try {
    return await service.soon(() => handle.status());
  } catch {
    return null;
  }
}

function silent(taskQueue: string): string {
  return `  no worker answers yet on task queue "${taskQueue}"; the plan waits for one`;
}

function aborted(signal: AbortSignal): Promise<{ readonly end: 'interrupted' }> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve({ end: 'interrupted' });
    signal.addEventListener('abort', () => resolve({ end: 'interrupted' }), { once: true });
  });
}

function elapsed(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms));
}
