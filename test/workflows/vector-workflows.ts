/** The pure vectors, run inside the workflow sandbox. */
import { check as canonical } from '../../scripts/vectors/canonical';
import { check as checkpoints } from '../../scripts/vectors/checkpoints';
import { check as decisions } from '../../scripts/vectors/decisions';
import { check as effects } from '../../scripts/vectors/effects';
import { check as invalidCheckpoints } from '../../scripts/vectors/invalid-checkpoints';
import type { RowResult } from '../../scripts/vectors/judge';
import { check as transitions } from '../../scripts/vectors/transitions';

export { governedPlan } from '../../src/workflow';

/** By the name of their file. */
export const CHECKS = {
  'canonical.json': canonical,
  'effects.json': effects,
  'checkpoints.json': checkpoints,
  'invalid_checkpoints.json': invalidCheckpoints,
  'transitions.json': transitions,
  'decisions.json': decisions,
} as const;
export type VectorFile = keyof typeof CHECKS;

export interface Verdict {
  readonly rows: number;
  /** What was expected and what came out, for each row that did not pass. */
  readonly failed: readonly RowResult[];
}

export function judged(file: VectorFile, content: unknown): Verdict {
  const results = [...(CHECKS[file] as (content: unknown) => Iterable<RowResult>)(content)];
  return { rows: results.length, failed: results.filter(({ outcome }) => outcome === 'failed') };
}

export async function checkVectors(file: VectorFile, content: unknown): Promise<Verdict> {
  return judged(file, content);
}
