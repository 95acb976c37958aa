/**
 * Properties, with 16 real processes that create the same names at the same time on one server:
 * - at each place of one lineage and for each attempt of one slot exactly one process is told `created`, fifteen `conflict`, and the
 *   entry holds the winner's bytes
 * - of identical creates exactly one process is told `created`, fifteen `identical`
 * - processes that are killed in the middle of their creates hold up nobody
 */
import { expect, test } from 'vitest';
import { describeWith } from '../../systems/available';
import { startPostgres } from '../../systems/postgres';
import { Child } from './child-process';
import { journalIn, makeHome } from './postgres-fixture';
import { type Action } from './store-child';
import { text } from './values';

const PROCESSES = 16;
const ROUNDS = 120;
const places = (name: (round: number) => string): string[] => Array.from({ length: ROUNDS }, (_, round) => name(round));
const lineage = (run: string): string[] =>
  places((round) => `${run}/lineage-0001/checkpoint-${String(round).padStart(20, '0')}.json`);

const RACES = [
  { entries: lineage('run'), loser: 'conflict', value: (index: number) => `process ${index}` },
  {
    entries: places((round) => `run/sends/key/${round + 1}`),
    loser: 'conflict',
    value: (index: number) => `owner ${index}`,
  },
  { entries: lineage('same'), loser: 'identical', value: () => 'the same' },
] as const;

describeWith(
  'PostgreSQL',
  () => startPostgres({ settings: { max_connections: 200 } }),
  (server) => {
    // One test, because to start the processes takes longer than all that they do.
    test('16 processes have one winner at each place, also when half of them are killed', async () => {
      const home = await makeHome(server);
      const store = journalIn(home);
      const children = await Promise.all(
        Array.from({ length: PROCESSES }, () => Child.start<Action>('store-child.ts', [home.address])),
      );
      for (const { entries, loser, value } of RACES) {
        const outcomes = (await Promise.all(
          children.map((child, index) => child.ask({ act: 'create', entries, value: value(index) })),
        )) as string[][];
        for (const [index, entry] of entries.entries()) {
          const told = outcomes.map((all) => all[index]);
          expect(told.filter((outcome) => outcome === 'created')).toHaveLength(1);
          expect(told.filter((outcome) => outcome === loser)).toHaveLength(PROCESSES - 1);
          expect(text(await store.read(entry))).toBe(value(told.indexOf('created')));
        }
      }

      const entries = lineage('killed');
      const asked = children.map((child, index) =>
        child.ask({ act: 'create', entries, value: `process ${index}`, report: true }),
      );
      while (children.some((child) => child.notes.length === 0)) await new Promise((next) => setImmediate(next));
      for (const child of children.slice(8)) child.kill();
      const outcomes = (await Promise.all(asked.slice(0, 8))) as string[][];
      for (const [index, entry] of entries.entries()) {
        const winner = outcomes.map((all) => all[index]).indexOf('created');
        const found = text(await store.read(entry));
        if (winner >= 0) expect(found).toBe(`process ${winner}`);
        else expect(found).toMatch(/^process ([89]|1[0-5])$/);
      }
      await Promise.all(children.slice(0, 8).map((child) => child.end()));
    });
  },
);
