/**
 * Properties of every recorded history of an authorized launch, of an author's workflow and of the job:
 * - it replays with the present workflow code, and the journal of its launches verifies strictly;
 * - it holds nothing of the context or the answer, no credential, no person, and names no folder of the machine it was recorded on.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fileStore } from '../../../src/adapters/stores';
import { replayAndVerify } from '../../../src/testing';
import { storeView, verifyJournal } from '../../../src/verify';
import { bundleOf } from '../../support/bundle';
import { texts } from '../../support/texts';
import { WORKFLOWS } from './support';

const HISTORIES = path.resolve(__dirname, '../../histories/0.1.0/launches');
const AUTHORS = [
  ...['by-a-process', 'cancelled', 'exited', 'expired', 'late', 'of-another-key', 'of-nobody', 'refused'],
  ...['submitted', 'unknown'],
];
const KINDS = [...AUTHORS.flatMap((name) => [name, `${name}-job`]), 'submitted-again'].sort();

test('there is one of each kind, and each replays', async () => {
  const names = (await readdir(HISTORIES)).filter((name) => name.endsWith('.json'));
  expect(names.map((name) => path.parse(name).name).sort()).toEqual(KINDS);
  const journal = fileStore(path.join(HISTORIES, 'journal'));
  const report = await replayAndVerify({ workflowBundle: await bundleOf(WORKFLOWS), histories: HISTORIES, journal });
  expect(report.failures).toEqual([]);
  expect(report.replayed).toBe(KINDS.length);
  expect((await verifyJournal(storeView(journal), { strict: true })).findings).toEqual([]);
});

test.each(KINDS)('%s holds no content and names no machine', async (kind) => {
  const history: unknown = JSON.parse(await readFile(path.join(HISTORIES, `${kind}.json`), 'utf8'));
  for (const text of texts(history)) {
    expect(text).not.toMatch(/no findings|wrk_|person:example|file:\/\/|\(\/|node_modules\/[^@]|@vm/);
    // These authors were given content, and no Ref, in their own input: the job knows nothing of it.
    if (kind.endsWith('-job')) expect(text).not.toMatch(/planted/);
  }
});
