/**
 * What holds of every folder of recorded histories: there is one of each kind and no other, each replays with the present workflow code,
 * the journal beside them verifies strictly, and none holds a person, or names a folder of the machine it was recorded on.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fileStore } from '../../src/adapters/stores';
import { replayAndVerify } from '../../src/testing';
import { storeView, verifyJournal } from '../../src/verify';
import { bundleOf } from './bundle';
import { texts } from './texts';

export const RECORDED = path.resolve(__dirname, '../histories/0.1.0');
export const OWN_WORKFLOWS = path.resolve(__dirname, '../../src/workflow.ts');
const OF_SOMEBODY = /person:example|file:\/\/|\(\/|node_modules\/[^@]|@vm/;

/** `contents`: what a history of this kind must hold nothing of. */
export function testRecorded(
  folder: string,
  kinds: readonly string[],
  workflows: string,
  contents: (kind: string) => RegExp,
): void {
  const histories = path.join(RECORDED, folder);

  test('there is one of each kind, and each replays', async () => {
    const names = (await readdir(histories)).filter((name) => name.endsWith('.json'));
    expect(names.map((name) => path.parse(name).name).sort()).toEqual(kinds);
    const journal = fileStore(path.join(histories, 'journal'));
    const report = await replayAndVerify({ workflowBundle: await bundleOf(workflows), histories, journal });
    expect(report.failures).toEqual([]);
    expect(report.replayed).toBe(kinds.length);
    expect((await verifyJournal(storeView(journal), { strict: true })).findings).toEqual([]);
  });

  test.each(kinds)('%s holds no content and names no machine', async (kind) => {
    const history: unknown = JSON.parse(await readFile(path.join(histories, `${kind}.json`), 'utf8'));
    for (const text of texts(history)) {
      expect(text).not.toMatch(OF_SOMEBODY);
      expect(text).not.toMatch(contents(kind));
    }
  });
}
