/**
 * canonical.json: a value to its canonical text and digest.
 */
import { canonicalJson, sha256Digest } from '../../src/rules/recovery';
import { judge, readVectors, type RowHead, type RowResult } from './row';
import { untag, type Tagged } from './tagged';

const FILE = 'canonical.json';

interface Case extends RowHead {
  readonly value: Tagged;
  readonly canonical?: string;
  readonly sha256?: string;
}

export function run(folder: string): RowResult[] {
  const { cases } = readVectors<{ readonly cases: readonly Case[] }>(folder, FILE);
  return cases.map((row) =>
    judge(FILE, row, { canonical: row.canonical, sha256: row.sha256 }, () => {
      const canonical = canonicalJson(untag(row.value));
      return { canonical, sha256: sha256Digest(canonical) };
    }),
  );
}
