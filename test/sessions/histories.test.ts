/**
 * Properties of every recorded history of a tool session, of the queue of a tool, and of a call that people were asked about:
 * - it replays with the present workflow code, and the journal of its sessions verifies strictly;
 * - it holds nothing that was said, asked or answered, no person, and names no folder of the machine it was recorded on;
 * - among them there is each way in which a call can go: by its queue and by Temporal's own, denied, approved, rejected, in doubt and
 *   resolved, taken by nobody, cancelled; and a session and a queue that continued as new.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fileStore } from '../../src/adapters/stores';
import { replayAndVerify } from '../../src/testing';
import { storeView, verifyJournal } from '../../src/verify';
import { bundleOf } from '../support/bundle';
import { texts } from '../support/texts';

const ROOT = path.resolve(__dirname, '../..');
const HISTORIES = path.join(ROOT, 'test/histories/0.1.0/sessions');
const KINDS = [
  ...['asked', 'asked-approved', 'asked-denied', 'cancelled', 'continued-1', 'continued-2', 'done', 'not-taken'],
  ...['queue-of-absent', 'queue-of-charge', 'queue-of-lose', 'queue-of-pay', 'queue-renewed-1', 'queue-renewed-2'],
  ...['resolved', 'resolved-call'],
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
    expect(text).not.toMatch(/planted|person:example|file:\/\/|\(\/|node_modules\/[^@]|@vm/);
  }
});
