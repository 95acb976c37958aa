/** One entry of a session's timeline in words, as the command line and the inbox say it. Invariant: codes, names and times, never contents. */
import type { TimelineEntry } from '../rules/invocations/timeline';

/** Fields of a record whose words say what happened. */
const SAID = ['tool', 'status', 'ground', 'error_code', 'code', 'decision', 'rule', 'worker_identity', 'stop'] as const;

export function wordsOfEntry({ detail }: TimelineEntry): string {
  return SAID.flatMap((field) => (typeof detail[field] === 'string' ? [String(detail[field])] : [])).join(' ');
}

/** How long what ended with it took. */
export function timesOfEntry({ queuedMs, executedMs, askedMs }: TimelineEntry): string {
  return [
    ...(queuedMs === null ? [] : [`queued ${queuedMs} ms`]),
    ...(executedMs === null ? [] : [`ran ${executedMs} ms`]),
    ...(askedMs === null ? [] : [`asked for ${askedMs} ms`]),
  ].join(', ');
}
