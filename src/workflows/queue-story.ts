/**
 * What the Temporal Web UI shows of a tool's queue. Invariant: ids and counts only.
 */
import { setCurrentDetails } from '@temporalio/workflow';
import type { QueueStatus } from './queue-messages';

const MOST_ROWS = 20;

export function queueDetails(status: QueueStatus): void {
  const { tool, version, capacity, waiting, running, workers, reported } = status;
  const rows = workers.slice(0, MOST_ROWS).map(({ identity, slots }) => `| \`${identity}\` | ${slots} |`);
  setCurrentDetails(
    [
      `**${tool}@${version}**: ${waiting.length} waiting, ${running.length} running, room for ${capacity}, ${reported} done`,
      ...(workers.length === 0 ? ['', 'no worker is registered'] : ['', '| worker | slots |', '|-|-|', ...rows]),
      ...(waiting.length === 0 ? [] : ['', `next: \`${waiting[0]}\``]),
    ].join('\n'),
  );
}
