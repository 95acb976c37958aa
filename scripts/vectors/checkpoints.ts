/**
 * checkpoints.json: valid lineages and single checkpoints. Each must be read, give the stated digest and file name, and
 * come back byte for byte.
 */
import {
  canonicalJson,
  checkpointFileName,
  isCanonicalCheckpoint,
  RecoveryCheckpoint,
  validateCheckpointLineage,
} from '../../src/rules/recovery';
import { judge, type Answer, type RowHead, type RowResult } from './judge';
import { utf8Bytes } from './tagged';

const FILE = 'checkpoints.json';

interface Stored {
  readonly file: string;
  readonly digest: string;
  readonly bytes: string;
}

interface Lineage extends RowHead {
  readonly phases: readonly string[];
  readonly effects: number;
  readonly head_digest: string;
  readonly checkpoints: readonly Stored[];
}

interface Standalone extends RowHead, Stored {
  readonly sequence: string;
}

interface Checkpoints {
  readonly lineages: readonly Lineage[];
  readonly standalone: readonly Standalone[];
}

export function check({ lineages, standalone }: Checkpoints): RowResult[] {
  return [
    ...lineages.map((row) => {
      const { phases, effects, head_digest: head } = row;
      return judge(FILE, row, { phases, effects, head, stored: row.checkpoints.map(expected) }, () => {
        const lineage = row.checkpoints.map(({ bytes }) => RecoveryCheckpoint.fromJson(bytes));
        return {
          phases: lineage.map(({ phase }) => phase),
          effects: lineage[0]?.effects.length,
          head: validateCheckpointLineage(lineage)?.checkpointDigest,
          stored: lineage.map(spell),
        };
      });
    }),
    ...standalone.map((row) =>
      judge(FILE, row, { ...expected(row), sequence: row.sequence }, () => {
        const checkpoint = RecoveryCheckpoint.fromJson(utf8Bytes(row.bytes));
        return { ...spell(checkpoint), sequence: checkpoint.sequence.toString() };
      }),
    ),
  ];
}

function expected({ file, digest, bytes }: Stored): Answer {
  return { file, digest, bytes };
}

/** Through the direct writer, the general one and a second making from its fields; all must agree. */
function spell(checkpoint: RecoveryCheckpoint): Answer {
  const bytes = RecoveryCheckpoint.toJson(checkpoint);
  const agree =
    canonicalJson(RecoveryCheckpoint.toDict(checkpoint)) === bytes &&
    RecoveryCheckpoint.toJson(RecoveryCheckpoint.create(checkpoint)) === bytes &&
    isCanonicalCheckpoint(utf8Bytes(bytes), checkpoint);
  const file = checkpointFileName(checkpoint.sequence);
  return { file, digest: checkpoint.checkpointDigest, bytes: agree ? bytes : 'writers disagree' };
}
