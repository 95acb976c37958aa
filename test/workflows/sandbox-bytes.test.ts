/**
 * Property of the recovery rules inside the real workflow sandbox: every row of the pure vectors gives the same bytes there as
 * in Node, also for the rows that are out of contract (floats, limits of Python), where both give the same other answer.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { useRig } from '../support/rig';
import { CHECKS, judged, type Verdict, type VectorFile } from './vector-workflows';

const rig = useRig({ workflowsPath: path.join(__dirname, 'vector-workflows.ts') });

/** Rows that one workflow task judges: it has five seconds, on a busy machine too. */
const ROWS = 100;

/** A file in pieces: one list in slices, the others empty; what rows refer to stays whole. */
function* pieces(content: Readonly<Record<string, unknown>>): Generator<Record<string, unknown>> {
  const lists = Object.entries(content).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]));
  const empty = Object.fromEntries(lists.map(([name]) => [name, []]));
  for (const [name, rows] of lists) {
    for (let from = 0; from < rows.length; from += ROWS) {
      yield { ...content, ...empty, [name]: rows.slice(from, from + ROWS) };
    }
  }
}

test.each(Object.keys(CHECKS) as VectorFile[])('%s', async (file) => {
  await rig.worker();
  const folder = path.resolve(__dirname, '../vectors');
  const content = JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Record<string, unknown>;
  let rows = 0;
  for (const piece of pieces(content)) {
    const verdict = await rig.client.workflow.execute<(file: VectorFile, content: unknown) => Promise<Verdict>>(
      'checkVectors',
      { workflowId: `${rig.taskQueue}/${rows}`, taskQueue: rig.taskQueue, args: [file, piece] },
    );
    const here = judged(file, piece);
    expect(verdict).toEqual(here);
    expect(verdict.failed.filter(({ tags }) => !tags.includes('float') && !tags.includes('python-limit'))).toEqual([]);
    rows += verdict.rows;
  }
  expect(rows).toBe(judged(file, content).rows);
  expect(rows).toBeGreaterThan(0);
});
