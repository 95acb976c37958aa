/**
 * invalid_checkpoints.json: raw bytes that must be refused with one exact code, and bytes that load without being
 * canonical.
 */
import { isCanonicalCheckpoint, RecoveryCheckpoint } from '../../src/rules/recovery';
import { judge, readVectors, type RowHead, type RowResult } from './row';
import { rawBytes, type RawBytes } from './tagged';

const FILE = 'invalid_checkpoints.json';

interface Accepted extends RowHead, RawBytes {
  readonly digest: string;
}

interface InvalidCheckpoints {
  readonly cases: readonly (RowHead & RawBytes)[];
  readonly accepted: readonly Accepted[];
}

export function run(folder: string): RowResult[] {
  const { cases, accepted } = readVectors<InvalidCheckpoints>(folder, FILE);
  return [
    ...cases.map((row) =>
      judge(FILE, row, {}, () => ({ digest: RecoveryCheckpoint.fromJson(rawBytes(row)).checkpointDigest })),
    ),
    ...accepted.map((row) =>
      judge(FILE, row, { digest: row.digest, canonical: false }, () => {
        const bytes = rawBytes(row);
        const checkpoint = RecoveryCheckpoint.fromJson(bytes);
        return { digest: checkpoint.checkpointDigest, canonical: isCanonicalCheckpoint(bytes, checkpoint) };
      }),
    ),
  ];
}
