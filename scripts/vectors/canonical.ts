/**
 * canonical.json: a value to its canonical text and digest.
 */
import { canonicalJson, sha256Digest } from '../../src/rules/recovery';
import { judge, type RowHead, type RowResult } from './judge';
import { untag, type Tagged } from './tagged';

const FILE = 'canonical.json';

interface Case extends RowHead {
  readonly value: Tagged;
  readonly canonical?: string;
  readonly sha256?: string;
}

interface Canonical {
  readonly cases: readonly Case[];
}

export function check({ cases }: Canonical): RowResult[] {
  return cases.map((row) =>
    judge(FILE, row, { canonical: row.canonical, sha256: row.sha256 }, () => {
      const canonical = canonicalJson(untag(row.value));
      return { canonical, sha256: sha256Digest(canonical) };
    }),
  );
}
