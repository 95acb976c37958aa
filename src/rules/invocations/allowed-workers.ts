/**
 * Who may do a call of a tool, and whether one of them is free for it. Invariant: a call is kept back only where it is certain that nobody
 * on its list has a place; where that is not known, the workers themselves say so.
 */
import type { QueueRequest, QueueState, QueueWorker } from './queue-state';

/** Which workers of a tool may send. Both lists, where given, must hold the worker. */
export interface AllowedWorkers {
  readonly identities?: readonly string[];
  /** Hashes of a tool's input schema and class; see `descriptorHash`. */
  readonly descriptor_hashes?: readonly string[];
}

export function isAllowed(allow: AllowedWorkers, identity: string | undefined, descriptorHash?: string): boolean {
  const holds = (list: readonly string[] | undefined, word: string | undefined): boolean =>
    list === undefined || (word !== undefined && list.includes(word));
  return holds(allow.identities, identity) && holds(allow.descriptor_hashes, descriptorHash);
}

/** Of those that run, some are certainly with the workers whom this call may have: these have no more places than that. */
export function hasPlaceFor(
  call: QueueRequest,
  { workers, running }: Pick<QueueState, 'workers' | 'running'>,
): boolean {
  const own = allowedOf(call, workers);
  const places = own.reduce((sum, { slots }) => sum + slots, 0);
  const taken = running.filter((other) => {
    const theirs = allowedOf(other, workers);
    return theirs.length > 0 && theirs.every((worker) => own.includes(worker));
  });
  return taken.length < places;
}

/** The same for all calls with the same list. */
export function listOf({ carries }: QueueRequest): string {
  return JSON.stringify(carries['allow'] ?? null);
}

function allowedOf({ carries }: QueueRequest, workers: readonly QueueWorker[]): readonly QueueWorker[] {
  const allow = (carries['allow'] ?? {}) as AllowedWorkers;
  return workers.filter(({ identity, descriptorHash }) => isAllowed(allow, identity, descriptorHash));
}
