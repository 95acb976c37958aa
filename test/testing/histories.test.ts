/**
 * Properties of every recorded history, of this version and of earlier ones:
 * - it replays with the present workflow code;
 * - every checkpoint that it proves stands in its journal;
 * - it holds the content of no operation, and names no folder of the machine it was recorded on.
 * So it is with those of the authors' workflows in this repository's tests.
 */
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileStore } from '../../src/adapters/stores';
import { assertReplayAndVerify } from '../../src/testing';
import { bundleOf } from '../support/bundle';
import { texts } from '../support/texts';

const HISTORIES = path.resolve(__dirname, '../histories');
const KINDS = [
  ...['cancelled-by-update', 'completed-1-effect', 'completed-3-effects', 'continued-as-new-1', 'continued-as-new-2'],
  ...['overtaken-follower', 'overtaking', 'parked-and-reobserved', 'previewed', 'rejected', 'waited-in-flight'],
  'worker-killed',
];
const AUTHORS = [
  ...['a-plan', 'all-together', 'by-reference', 'cancelled-scope', 'charged', 'continued', 'in-a-loop', 'parked'],
  ...['parked-carrier', 'rejected', 'the-same-again', 'unfit'],
];
const PEOPLE = [
  ...['answered-and-continued', 'answered-and-continued-2', 'approved', 'denied', 'ended-by-a-person', 'escalated'],
  ...['marked-absent', 'reopened', 'reopened-2', 'too-late'],
];
const SETS = [
  { set: '0.1.0', workflows: 'src/workflow.ts', kinds: KINDS },
  { set: '0.1.0/authors', workflows: 'test/workflows/authors/workflows.ts', kinds: AUTHORS },
  {
    set: '0.1.0/authors-slow-store',
    workflows: 'test/workflows/authors/workflows.ts',
    kinds: ['charged', 'side-by-side'],
  },
  { set: '0.1.0/people', workflows: 'src/workflow.ts', kinds: PEOPLE },
];

describe.each(SETS)('$set', ({ set, workflows, kinds }) => {
  const folder = path.join(HISTORIES, set);

  test('replays, and its chains stand in its journal', async () => {
    const report = await assertReplayAndVerify({
      workflowBundle: await bundleOf(path.resolve(__dirname, '../..', workflows)),
      histories: folder,
      journal: fileStore(path.join(folder, 'journal')),
    });
    expect(report.replayed).toBe(kinds.length);
    expect(report.checked).toBeGreaterThan(kinds.length);
  });

  test('there is one of each kind', async () => {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).map((name) => path.parse(name).name);
    expect(names.sort()).toEqual([...kinds].sort());
  });

  test.each(kinds)('%s holds no content and names no machine', async (kind) => {
    const history: unknown = JSON.parse(await readFile(path.join(folder, `${kind}.json`), 'utf8'));
    for (const text of texts(history))
      expect(text).not.toMatch(/planted-operation-content|file:\/\/|\(\/|node_modules\/[^@]|@vm/);
  });
});
