/**
 * transitions.json: pairs and lists of valid checkpoints that do or do not make a lineage.
 */
import { RecoveryCheckpoint, validateCheckpointLineage } from '../../src/rules/recovery';
import { judge, type RowHead, type RowResult } from './judge';

const FILE = 'transitions.json';

interface Pair extends RowHead {
  readonly previous: string;
  readonly next: string;
}

interface Lineage extends RowHead {
  readonly allow_empty: boolean;
  readonly checkpoints: readonly string[];
  readonly head_digest?: string | null;
}

interface Transitions {
  readonly checkpoints: Readonly<Record<string, string>>;
  readonly pairs: readonly Pair[];
  readonly lineages: readonly Lineage[];
}

export function check({ checkpoints, pairs, lineages }: Transitions): RowResult[] {
  const load = (key: string): RecoveryCheckpoint => RecoveryCheckpoint.fromJson(checkpoints[key] as string);
  return [
    ...pairs.map((row) =>
      judge(FILE, row, {}, () => {
        validateCheckpointLineage([load(row.previous), load(row.next)]);
        return {};
      }),
    ),
    ...lineages.map((row) =>
      judge(FILE, row, { head: row.head_digest }, () => {
        const head = validateCheckpointLineage(row.checkpoints.map(load), { allowEmpty: row.allow_empty });
        return { head: head === null ? null : head.checkpointDigest };
      }),
    ),
  ];
}
