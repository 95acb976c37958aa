/**
 * invalid_checkpoints.json: raw bytes that must be refused with one exact code, and bytes that load without being
 * canonical.
 */
import { isCanonicalCheckpoint, RecoveryCheckpoint } from '../../src/rules/recovery';
import { judge, type RowHead, type RowResult } from './judge';
import { rawBytes, type RawBytes } from './tagged';

const FILE = 'invalid_checkpoints.json';

interface Accepted extends RowHead, RawBytes {
  readonly digest: string;
}

interface InvalidCheckpoints {
  readonly cases: readonly (RowHead & RawBytes)[];
  readonly accepted: readonly Accepted[];
}

export function check({ cases, accepted }: InvalidCheckpoints): RowResult[] {
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
