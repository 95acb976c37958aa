/**
 * Lag and size of an anchor process as a file in the text format of Prometheus, for a collector that reads files. Invariant: the file
 * is replaced as a whole, so that nobody reads half of it.
 */
import { renameSync, writeFileSync } from 'node:fs';
import type { AnchorProgress } from '../anchor';

const GAUGES: Record<Exclude<keyof AnchorProgress, 'fault'>, readonly [name: string, help: string]> = {
  size: ['countersign_anchor_entries', 'Entries of the signed tree.'],
  appended: ['countersign_anchor_appended', 'Heads appended since the process began.'],
  waiting: ['countersign_anchor_waiting', 'Heads that were seen and are not in the signed tree yet.'],
  lagMs: ['countersign_anchor_lag_milliseconds', 'Every head that is older than this is anchored.'],
  unfit: ['countersign_anchor_unfit', 'Heads that cannot be anchored: verify tells why.'],
};

export function writeMetrics(file: string, progress: AnchorProgress): void {
  const lines = Object.entries(GAUGES).flatMap(([field, [name, help]]) => {
    const value = progress[field as keyof typeof GAUGES];
    return value === null ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${value}`];
  });
  const failed = [
    '# TYPE countersign_anchor_store_failed gauge',
    `countersign_anchor_store_failed ${progress.fault === null ? 0 : 1}`,
  ];
  writeFileSync(`${file}.new`, `${[...lines, ...failed].join('\n')}\n`);
  renameSync(`${file}.new`, file);
}
