/**
 * Properties, with real processes and no lock:
 * - 8 processes with 8 different successors: one is created, seven conflict; with the same one: one created, seven identical
 * - an append that was overtaken by a whole retirement, wherever it stood, answers `journal_retired` and leaves no file
 * - a load that was overtaken by a whole retirement, wherever it stood, answers the record
 * - while some append, some retire and some load, no load ever fails or sees a lineage shrink, and one record remains
 */
import fs from 'node:fs';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { CheckpointJournal } from '../../../src/adapters/stores';
import { RecoveryCheckpoint, type RecoveryPhase } from '../../../src/rules/recovery';
import { Child } from './child-process';
import { type Action } from './journal-child';
import { FINISHED, lineage, successor } from './lineages';
import { workFolder } from './work-folder';

const FAR_FUTURE = '4000000000';
const text = (checkpoint: RecoveryCheckpoint): string => RecoveryCheckpoint.toJson(checkpoint);
const start = (folder: string, ...args: string[]): Promise<Child<Action>> =>
  Child.start<Action>('journal-child.ts', [folder, ...args]);
const many = (count: number, folder: string): Promise<Child<Action>[]> =>
  Promise.all(Array.from({ length: count }, () => start(folder)));

test('8 processes append 8 different successors', async () => {
  const children = await many(8, path.join(workFolder(), 'journal'));
  const first = successor('race', null, 'planned');
  const rivals = children.map((_child, index) => successor('race', first, 'reconciling', 1, `rival ${index}`));
  const outcomes = (await Promise.all(
    children.map((child, index) =>
      child.ask({ act: 'append', checkpoints: [first, rivals[index] as never].map(text) }),
    ),
  )) as string[][];
  const second = outcomes.map((all) => all[1]);
  expect(outcomes.filter(([outcome]) => outcome === 'created')).toHaveLength(1);
  expect(outcomes.filter(([outcome]) => outcome === 'identical')).toHaveLength(7);
  expect(second.filter((outcome) => outcome === 'created')).toHaveLength(1);
  expect(second.filter((outcome) => outcome === 'checkpoint: checkpoint_conflict')).toHaveLength(7);
  expect(await children[0]?.ask({ act: 'load' })).toBe(2);
});

test('8 processes append the same lineage', async () => {
  const folder = path.join(workFolder(), 'journal');
  const children = await many(8, folder);
  const phases: RecoveryPhase[] = ['planned', ...Array<RecoveryPhase>(30).fill('dispatching'), 'completed'];
  const checkpoints = lineage('same', phases).map(text);
  const outcomes = (await Promise.all(
    children.map((child) => child.ask({ act: 'append', checkpoints })),
  )) as string[][];
  for (const index of checkpoints.keys()) {
    const told = outcomes.map((all) => all[index]);
    expect(told.filter((outcome) => outcome === 'created')).toHaveLength(1);
    expect(told.filter((outcome) => outcome === 'identical')).toHaveLength(7);
  }
  expect(fs.readdirSync(folder)).toHaveLength(checkpoints.length);
});

test.each(['loaded', 'opened', 'written', 'synced'])(
  'an append that stands at "%s" during a retirement',
  async (step) => {
    const folder = path.join(workFolder(), 'journal');
    const [first, second] = lineage('overtaken', ['planned', 'dispatching']) as [
      RecoveryCheckpoint,
      RecoveryCheckpoint,
    ];
    const journal = new CheckpointJournal(folder);
    await journal.append(first);
    await journal.append(second);
    const slow = await start(folder, 'hold', step);
    const answer = slow.ask({ act: 'append', checkpoints: [text(successor('overtaken', second, 'reconciling'))] });
    await vi.waitFor(() => expect(fs.existsSync(`${folder}.held`)).toBe(true), { timeout: 20_000 });

    const quick = await start(folder);
    const final = text(successor('overtaken', second, 'completed'));
    expect(await quick.ask({ act: 'append', checkpoints: [final] })).toEqual(['created']);
    await quick.ask({ act: 'retire', now: FAR_FUTURE });
    fs.writeFileSync(`${folder}.release`, '');
    expect(await answer).toEqual(['journal: journal_retired']);
    expect(fs.readdirSync(folder)).toEqual(['retired.json']);
  },
);

test.each([
  ['listed', 0],
  ['reading', 0],
  ['reading', 1],
])('a load that stands at "%s" (%i) during a retirement', async (step, passes) => {
  const folder = path.join(workFolder(), 'journal');
  const quick = await start(folder);
  await quick.ask({ act: 'append', checkpoints: lineage('overtaken', FINISHED).map(text) });
  const slow = await start(folder, 'hold', step, String(passes));
  const answer = slow.ask({ act: 'load' });
  await vi.waitFor(() => expect(fs.existsSync(`${folder}.held`)).toBe(true), { timeout: 20_000 });
  await quick.ask({ act: 'retire', now: FAR_FUTURE });
  fs.writeFileSync(`${folder}.release`, '');
  expect(await answer).toBe('retired');
});

test('appends, retirements and loads at once', async () => {
  for (let round = 0; round < 3; round += 1) {
    const folder = path.join(workFolder(), 'journal');
    const [appenders, retirers, watchers] = [await many(2, folder), await many(2, folder), await many(2, folder)];
    const phases: RecoveryPhase[] = [
      'planned',
      ...Array<RecoveryPhase>(10 + round * 10).fill('dispatching'),
      'completed',
    ];
    const checkpoints = lineage(`round ${round}`, phases).map(text);
    const watching = watchers.map((child) => child.ask({ act: 'watch' }));
    const retiring = retirers.map((child) => child.ask({ act: 'retire', now: FAR_FUTURE }));
    const appending = appenders.map((child) => child.ask({ act: 'append', checkpoints }));

    const outcomes = (await Promise.all(appending)) as string[][];
    expect(outcomes.flat().filter((outcome) => outcome === 'created')).toHaveLength(checkpoints.length);
    expect(new Set(outcomes.flat())).toEqual(
      new Set(['created', 'identical', ...outcomes.flat().filter((outcome) => outcome === 'journal: journal_retired')]),
    );
    const records = await Promise.all(retiring);
    expect(records[0]).toMatch(/^sha256:/);
    expect(records).toEqual([records[0], records[0]]);
    for (const seen of await Promise.all(watching)) expect(seen).toMatchObject({ loads: expect.any(Number) as number });
    expect(fs.readdirSync(folder)).toEqual(['retired.json']);
    await Promise.all([...appenders, ...retirers, ...watchers].map((child) => child.end()));
  }
});
