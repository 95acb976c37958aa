/**
 * Properties, with 16 processes that create the same names at the same time:
 * - different bytes: exactly one process is told `created`, fifteen `conflict`, and the entry holds the winner's bytes
 * - the same bytes: exactly one process is told `created`, fifteen `identical`
 * - no temporary file remains
 */
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { fileStore } from '../../../src/adapters/stores';
import { Child } from './child-process';
import { type Action } from './store-child';
import { text } from './values';
import { workFolder } from './work-folder';

const PROCESSES = 16;
const ENTRIES = Array.from({ length: 60 }, (_, index) => `runs/${index % 3}/sends/${index}`);

test.each([
  ['different', 'conflict', (index: number) => `process ${index}`],
  ['identical', 'identical', () => 'the same'],
])('16 processes with %s bytes have one winner for every entry', async (_kind, loser, value) => {
  const root = workFolder();
  const children = await Promise.all(
    Array.from({ length: PROCESSES }, () => Child.start<Action>('store-child.ts', [root])),
  );
  const outcomes = (await Promise.all(
    children.map((child, index) => child.ask({ act: 'create', entries: ENTRIES, value: value(index) })),
  )) as string[][];
  const store = fileStore(root);
  for (const [index, entry] of ENTRIES.entries()) {
    const told = outcomes.map((all) => all[index]);
    expect(told.filter((outcome) => outcome === 'created')).toHaveLength(1);
    expect(told.filter((outcome) => outcome === loser)).toHaveLength(PROCESSES - 1);
    expect(text(await store.read(entry))).toBe(value(told.indexOf('created')));
  }
  expect(fs.readdirSync(path.join(root, '.tmp'))).toEqual([]);
  await Promise.all(children.map((child) => child.end()));
});
