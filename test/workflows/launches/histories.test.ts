/**
 * Recorded histories of launches: those of authors' workflows, one for each way in which a launch can end, and those of the jobs that had
 * a workflow of their own. Beside them stand those of before, when every launch was handed off by the workflow of its job; they cannot be
 * recorded again. Each replays with the code of now and against its journal, holds no content, no credential, no person, and names no
 * folder of the machine it was recorded on.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileStore } from '../../../src/adapters/stores';
import { replayAndVerify } from '../../../src/testing';
import { storeView, verifyJournal } from '../../../src/verify';
import { bundleOf } from '../../support/bundle';
import { texts } from '../../support/texts';
import { WORKFLOWS } from './support';

const VERSION = path.resolve(__dirname, '../../histories/0.1.0');
const OVER_AT_ONCE = ['submitted', 'submitted-again'];
const CARRIED = [
  ...['by-a-process', 'cancelled', 'exited', 'expired', 'late'],
  ...['of-another-key', 'of-nobody', 'refused', 'unknown'],
];
const withJobs = (authors: readonly string[]): readonly string[] => authors.flatMap((name) => [name, `${name}-job`]);
const FOLDERS: Record<string, readonly string[]> = {
  launches: [...OVER_AT_ONCE, 'by-ref', ...withJobs(CARRIED)].sort(),
  'launches-by-jobs': [...OVER_AT_ONCE, 'submitted-job', ...withJobs(CARRIED)].sort(),
};

describe.each(Object.entries(FOLDERS))('%s', (folder, kinds) => {
  const histories = path.join(VERSION, folder);

  test('there is one of each kind, and each replays', async () => {
    const names = (await readdir(histories)).filter((name) => name.endsWith('.json'));
    expect(names.map((name) => path.parse(name).name).sort()).toEqual(kinds);
    const journal = fileStore(path.join(histories, 'journal'));
    const report = await replayAndVerify({ workflowBundle: await bundleOf(WORKFLOWS), histories, journal });
    expect(report.failures).toEqual([]);
    expect(report.replayed).toBe(kinds.length);
    expect((await verifyJournal(storeView(journal), { strict: true })).findings).toEqual([]);
  });

  test.each(kinds)('%s holds no content and names no machine', async (kind) => {
    const history: unknown = JSON.parse(await readFile(path.join(histories, `${kind}.json`), 'utf8'));
    for (const text of texts(history)) {
      expect(text).not.toMatch(/no findings|wrk_|person:example|file:\/\/|\(\/|node_modules\/[^@]|@vm/);
      // Other authors were given content, and no Ref, in their own input: the job knows nothing of it.
      if (kind.endsWith('-job') || kind === 'by-ref') expect(text).not.toMatch(/planted/);
    }
  });
});

test('where the context is a Ref, there is no local activity', async () => {
  expect(await readFile(path.join(VERSION, 'launches/by-ref.json'), 'utf8')).not.toContain('core_local_activity');
  expect(await readFile(path.join(VERSION, 'launches/submitted.json'), 'utf8')).toContain('core_local_activity');
});
