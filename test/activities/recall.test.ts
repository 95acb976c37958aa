/**
 * Properties of what effects gave back, over stores in memory:
 * - a closed plan answers the listed fields and the digest of the result, again and again, without asking the sink;
 * - where no result was recorded, the sink is asked once, and what it said first stays the answer, also against a late end;
 * - a result that was erased, or does not fit its schema, exposes nothing and harms nobody; nor does one that is too large;
 * - effects that want no result cost no look at anything, and what is not committed has none.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineEffect } from '../../src';
import type { DriveResult, EffectResultRecord } from '../../src/activities/contract';
import { Bench, TOOL } from './support';

const output = z.object({ row: z.number(), secret: z.string().default('hidden') });

function bench(effects = [{}], schema: z.ZodType = output): { bench: Bench; drive: () => Promise<DriveResult> } {
  const made = new Bench(effects);
  const definition = defineEffect({
    tool: TOOL,
    sink: made.told.sink(),
    input: z.unknown(),
    output: schema as typeof output,
    exposed: ['row'],
  });
  return { bench: made, drive: () => made.drive(made.engine(definition)) };
}

const results = (result: DriveResult): readonly EffectResultRecord[] | undefined =>
  result.status === 'done' ? result.results : undefined;

test('the recorded result, again and again', async () => {
  const { bench: made, drive } = bench([{}, {}]);
  const first = results(await drive())!;
  expect(first.map(({ ordinal, exposed }) => [ordinal, exposed])).toEqual([
    [0, { row: 1 }],
    [1, { row: 1 }],
  ]);
  const { lookUps } = made.told;
  expect(results(await drive())).toEqual(first);
  expect(made.told.lookUps).toBe(lookUps);
});

test('the sink is asked where nothing was recorded, and its first word stays', async () => {
  const { bench: made, drive } = bench();
  made.told.outcomes.push({ outcome: 'accepted', externalId: 'row-1' });
  const say = (row: number | undefined): void => {
    for (const [key, held] of made.told.held) {
      if (held.state === 'committed')
        made.told.held.set(key, { ...held, ...(row === undefined ? {} : { result: { row } }) });
    }
  };
  expect(results(await drive())).toEqual([{ ordinal: 0, result_digest: null, exposed: null }]);
  say(7);
  const told = results(await drive());
  expect(told).toMatchObject([{ exposed: { row: 7 } }]);
  say(8);
  expect(results(await drive())).toEqual(told);
});

test('what was erased is gone', async () => {
  const { bench: made, drive } = bench();
  const [first] = results(await drive())!;
  for (const path of made.contents.entries.keys()) if (path.startsWith('results/')) made.contents.entries.delete(path);
  expect(results(await drive())).toEqual([{ ...first, exposed: null }]);
});

test('what does not fit exposes nothing', async () => {
  const { drive } = bench([{}], z.object({ row: z.string() }));
  expect(results(await drive())).toMatchObject([
    { exposed: null, result_digest: expect.stringMatching(/^sha256:/) as string },
  ]);
});

test('all results together fit into one payload', async () => {
  const { bench: made, drive } = bench(
    Array.from({ length: 4 }, () => ({})),
    z.object({ row: z.string() }),
  );
  for (let at = 0; at < 4; at += 1) {
    made.told.outcomes.push({ outcome: 'accepted', externalId: null, result: { row: 'x'.repeat(200 * 1024) } });
  }
  const exposed = results(await drive())!.map((one) => one.exposed !== null);
  expect(exposed).toEqual([true, true, false, false]);
});

test('no schema, no result', async () => {
  const made = new Bench();
  expect(results(await made.drive(made.engine()))).toEqual([]);
});

test('what is not committed has no result', async () => {
  const { bench: made, drive } = bench([{}, {}]);
  made.told.outcomes.push(
    { outcome: 'accepted', externalId: null, result: { row: 1 } },
    { outcome: 'refused', code: 'no' },
  );
  expect(results(await drive())).toMatchObject([{ ordinal: 0, exposed: { row: 1 } }]);
});
