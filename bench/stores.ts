/**
 * `npm run bench:stores [-- --json] [--quick]`: what each store and each sink costs, on real servers of this machine.
 *
 *   creates   one after the other, and 16 at once: creates a second and the 99th percentile of one
 *   drive     a plan of 1 effect and one of 100 against a sink that costs nothing, as a ratio to the store of files
 *   sinks     one send against the same write by the bare client
 *
 * All of a kind in one interleaved run, so that whatever else the machine does hits all of them. With the load of the machine,
 * without which none of the milliseconds says anything.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openContentStore, openStore } from '../src/adapters/stores';
import { contentsBeside, makeStore } from '../src/adapters/stores/open-store';
import { initJournal, type Store } from '../src';
import { ACCESS } from '../test/systems/s3-server';
import { isMissing } from '../test/systems/system';
import { startPostgres } from '../test/systems/postgres';
import { startVersitygw } from '../test/systems/versitygw';
import { askedFor } from './arguments';
import { driveOn } from './drive-on';
import { interleave, median, type Variant } from './measure';
import { sinkPairs } from './sink-pairs';

const ENTRY = new Uint8Array(600).fill(120);
const LANES = 16;

interface Rounds {
  readonly creates: number;
  readonly one: number;
  readonly hundred: number;
  readonly sends: number;
}
const FULL: Rounds = { creates: 400, one: 25, hundred: 4, sends: 60 };
const QUICK: Rounds = { creates: 64, one: 5, hundred: 2, sends: 10 };

interface Place {
  readonly name: string;
  readonly store: Store;
  readonly contents: Store;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const rounded = (value: number): number => Number(value.toPrecision(3));
const loadNow = (): readonly number[] => os.loadavg().map(rounded);

async function placeAt(name: string, address: string): Promise<Place> {
  await makeStore(address);
  await makeStore(contentsBeside(address));
  const store = openStore(address);
  await initJournal(store);
  return { name, store, contents: openContentStore(contentsBeside(address)) };
}

/** Latencies in milliseconds of `count` creates, `lanes` at once, and how long all took. */
async function creates({ store }: Place, count: number, lanes: number): Promise<{ each: number[]; all: number }> {
  const folder = `bench/${randomUUID()}`;
  const each: number[] = [];
  let next = 0;
  const started = performance.now();
  const lane = async (): Promise<void> => {
    while (next < count) {
      const entry = `${folder}/${String((next += 1)).padStart(6, '0')}`;
      const from = performance.now();
      await store.create(entry, ENTRY);
      each.push(performance.now() - from);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return { each, all: performance.now() - started };
}

/** In eight turns each, so that a disturbance hits every store. */
async function createRates(places: readonly Place[], count: number): Promise<Record<string, Record<string, number>>> {
  const rates: Record<string, Record<string, number>> = {};
  const TURNS = 8;
  for (const place of places) await creates(place, LANES, LANES); // connections, folders, probes
  for (const lanes of [1, LANES]) {
    const found = new Map(places.map(({ name }) => [name, { each: [] as number[], rates: [] as number[] }]));
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (const place of places) {
        const { each, all } = await creates(place, Math.ceil(count / TURNS), lanes);
        const sum = found.get(place.name);
        sum?.each.push(...each);
        sum?.rates.push((1_000 * each.length) / all);
      }
    }
    const label = lanes === 1 ? 'alone' : `of_${lanes}`;
    for (const [name, sum] of found) {
      const sorted = sum.each.sort((one, other) => one - other);
      const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN;
      rates[name] = {
        ...rates[name],
        [`per_second_${label}`]: Math.round(median(sum.rates)),
        [`p99_ms_${label}`]: rounded(p99),
      };
    }
  }
  return rates;
}

async function driveTimes(places: readonly Place[], rounds: Rounds): Promise<Record<string, Record<string, number>>> {
  const driven: Record<string, Record<string, number>> = {};
  for (const [count, times] of [
    [1, rounds.one],
    [100, rounds.hundred],
  ] as const) {
    const variants: readonly Variant[] = places.map((place) => driveOn(place, count));
    const medians = await interleave(variants, times + 1);
    const files = medians['files'] ?? Number.NaN;
    for (const { name } of places) {
      const ms = medians[name] ?? Number.NaN;
      driven[name] = {
        ...driven[name],
        [`effects_${count}_ms`]: rounded(ms),
        [`effects_${count}_vs_files`]: rounded(ms / files),
      };
    }
  }
  return driven;
}

function print(title: string, rows: Readonly<Record<string, Readonly<Record<string, number>>>>): void {
  const columns = [...new Set(Object.values(rows).flatMap((row) => Object.keys(row)))];
  const width = Math.max(title.length, ...Object.keys(rows).map((name) => name.length));
  say(`\n${[title.padEnd(width), ...columns].join('  ')}`);
  for (const [name, row] of Object.entries(rows)) {
    say([name.padEnd(width), ...columns.map((column) => String(row[column] ?? '').padStart(column.length))].join('  '));
  }
}

async function main(): Promise<void> {
  const asked = askedFor({ flags: ['json', 'quick'] });
  const rounds = asked.has('quick') ? QUICK : FULL;
  const folder = await mkdtemp(path.join(os.tmpdir(), 'countersign-bench-stores-'));
  const ends: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const postgres = await startPostgres();
    const s3 = await startVersitygw();
    const places = [await placeAt('files', path.join(folder, 'journal'))];
    const skipped: Record<string, string> = {};
    if (isMissing(postgres)) skipped['postgres'] = postgres.missing;
    else {
      ends.unshift(() => postgres.end());
      places.push(await placeAt('postgres', postgres.address(await postgres.makeDatabase())));
    }
    if (isMissing(s3)) skipped['s3'] = s3.missing;
    else {
      ends.unshift(() => s3.end());
      process.env['AWS_ACCESS_KEY_ID'] = ACCESS.accessKeyId;
      process.env['AWS_SECRET_ACCESS_KEY'] = ACCESS.secretAccessKey;
      places.push(await placeAt('s3', `s3://${await s3.makeBucket()}/journal?endpoint=${s3.endpoint}`));
    }
    const before = loadNow();
    const stores = await createRates(places, rounds.creates);
    const drive = await driveTimes(places, rounds);
    const sinks: Record<string, Record<string, number>> = {};
    const pairs = await sinkPairs(isMissing(postgres) ? null : postgres, isMissing(s3) ? null : s3);
    ends.unshift(() => pairs.close());
    for (const { name, bare, sink } of pairs.pairs) {
      const medians = await interleave(
        [
          { name: 'bare', run: bare },
          { name: 'sink', run: sink },
        ],
        rounds.sends + 1,
      );
      const [bareMs, sinkMs] = [medians['bare'] ?? Number.NaN, medians['sink'] ?? Number.NaN];
      sinks[name] = { bare_ms: rounded(bareMs), sink_ms: rounded(sinkMs), ratio: rounded(sinkMs / bareMs) };
    }
    const load = { before, after: loadNow(), processors: os.cpus().length };
    print('creates', stores);
    print('drive', drive);
    print('sinks', sinks);
    for (const [name, missing] of Object.entries(skipped)) say(`skipped: ${name}: ${missing}`);
    say(`load ${load.before.join(' ')} before, ${load.after.join(' ')} after, on ${load.processors} processors`);
    if (asked.has('json')) say(JSON.stringify({ stores, drive, sinks, load, skipped: Object.keys(skipped) }));
  } finally {
    for (const end of ends) await end();
  }
}

main().then(
  () => process.exit(0),
  (fault: unknown) => {
    process.stderr.write(`${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}\n`);
    process.exit(1);
  },
);
