/**
 * Properties of every recorded history of a verification run:
 * - it replays with the present workflow code, and the journal of its runs verifies strictly;
 * - it holds nothing of what was looked at or said, no credential, no person, and names no folder of the machine it was recorded on.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fileStore } from '../../../src/adapters/stores';
import { replayAndVerify } from '../../../src/testing';
import { storeView, verifyJournal } from '../../../src/verify';
import { bundleOf } from '../../support/bundle';
import { texts } from '../../support/texts';

const ROOT = path.resolve(__dirname, '../../..');
const HISTORIES = path.join(ROOT, 'test/histories/0.1.0/runs');
const KINDS = [
  ...['applied', 'cancelled', 'completed', 'completed-coordinator', 'completed-specialist', 'declined', 'lapsed'],
  ...['rechecked', 'refused'],
];

test('there is one of each kind, and each replays', async () => {
  const names = (await readdir(HISTORIES))
    .filter((name) => name.endsWith('.json'))
    .map((name) => path.parse(name).name);
  expect(names.sort()).toEqual(KINDS);
  const journal = fileStore(path.join(HISTORIES, 'journal'));
  const workflowBundle = await bundleOf(path.join(ROOT, 'src/workflow.ts'));
  const report = await replayAndVerify({ workflowBundle, histories: HISTORIES, journal });
  expect(report.failures).toEqual([]);
  expect(report.replayed).toBe(KINDS.length);
  expect((await verifyJournal(storeView(journal), { strict: true })).findings).toEqual([]);
});

test.each(KINDS)('%s holds no content and names no machine', async (kind) => {
  const history: unknown = JSON.parse(await readFile(path.join(HISTORIES, `${kind}.json`), 'utf8'));
  for (const text of texts(history)) {
    expect(text).not.toMatch(/planted|the figures|All of|wrk_|person:example|file:\/\/|\(\/|node_modules\/[^@]|@vm/);
  }
});
