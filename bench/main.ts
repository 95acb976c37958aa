/**
 * `npm run bench [-- --json] [--quick] [--only normal|lifted] [--memory]`: what Countersign costs, as ratios to plain Temporal and to a hand-written
 * look up, dispatch, record workflow, measured in one interleaved run. Twice: as the dev server is, and with its limit of
 * one step per 50 ms lifted, which shows costs that the limit hides. With `--memory`, stores that are no disk show what is left.
 */
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { carrierWorkflowId } from '../src/rules/plans/identity';
import type { GovernedPlan } from '../src/rules/plans/plan';
import { askedFor } from './arguments';
import { interleave, type Act, type Variant } from './measure';
import { withBench, type Bench } from './setup';

export const LIMITS = {
  ordered100_vs_plain: { normal: 0.1, lifted: 0.15, better: 'lower' },
  ordered100_vs_loop: { normal: 2, lifted: 2, better: 'lower' },
  single_vs_plain: { normal: 1.3, lifted: 1.3, better: 'lower' },
  single_vs_handwritten: { normal: 0.8, lifted: 0.8, better: 'lower' },
  throughput_vs_plain: { normal: 1, lifted: 1, better: 'higher' },
  throughput_vs_handwritten: { normal: 2, lifted: 2, better: 'higher' },
} as const;
type Ratio = keyof typeof LIMITS;
type Ratios = Record<Ratio, number>;

/** Milliseconds: medians of each variant, and of storing a plan's contents before it starts. */
interface Measured {
  readonly ratios: Ratios;
  readonly medians: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** One activity that only makes a plan's durable creates, joined as the engine joins them: a store that costs more is the limit. */
  readonly creates: { readonly single_vs_plain: number; readonly ordered100_vs_plain: number };
  readonly prepare: Readonly<Record<string, number>>;
}

const CONCURRENT = 100;
const WARM_UP = 40;
const PREPARED = 'governed, prepared';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function measure(
  bench: Bench,
  rounds: { single: number; ordered: number; throughput: number },
): Promise<Measured> {
  // Contents are stored before a plan starts, as a caller's arguments are made before a workflow starts: timed apart.
  const governed = (label: string, count: number): Variant => {
    const plans = new Map<number, GovernedPlan>();
    return {
      name: 'governed',
      prepare: async (round) => void plans.set(round, await bench.prepare(`${label}-${round}`, count)),
      run: (round) => bench.governed(plans.get(round) as GovernedPlan),
    };
  };
  const other = (workflow: 'plain' | 'handwritten' | 'looped' | 'created', label: string, count: number): Variant => ({
    name: workflow,
    run: (round) => bench.execute(workflow, `${workflow}-${label}-${round}`, count),
  });
  const timed = async (label: string, count: number, variants: readonly Variant[]): Promise<Record<string, number>> => {
    const times = await interleave(variants, count + 1);
    say(
      `  ${label}: ${Object.entries(times)
        .map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`)
        .join(', ')}`,
    );
    return times;
  };

  // A worker that has just started runs cold code, whatever it carries.
  await timed('not counted: to get warm', WARM_UP, [governed('warm', 1), other('plain', 'warm', 1)]);
  const single = await timed('1 effect', rounds.single, [
    governed('single', 1),
    other('plain', 'single', 1),
    other('handwritten', 'single', 1),
    other('created', 'single', 1),
  ]);
  const ordered = await timed('100 ordered effects', rounds.ordered, [
    governed('ordered', 100),
    other('plain', 'ordered', 100),
    other('created', 'ordered', 100),
  ]);
  bench.sink.latencyMs = 5;
  const loop = await timed('100 ordered effects, 5 ms sink', rounds.ordered, [
    governed('loop', 100),
    other('looped', 'loop', 100),
  ]);
  bench.sink.latencyMs = 0;
  const crowd = (variant: Variant): Variant => {
    const all = async (act: (round: number) => Promise<void>, round: number): Promise<void> =>
      void (await Promise.all(Array.from({ length: CONCURRENT }, (_, index) => act(round * CONCURRENT + index))));
    return {
      name: variant.name,
      ...(variant.prepare === undefined ? {} : { prepare: (round: number) => all(variant.prepare as Act, round) }),
      run: (round) => all(variant.run, round),
    };
  };
  const throughput = await timed(`${CONCURRENT} plans of 5 effects at once`, rounds.throughput, [
    crowd(governed('crowd', 5)),
    crowd(other('plain', 'crowd', 5)),
    crowd(other('handwritten', 'crowd', 5)),
  ]);
  const of = (times: Record<string, number>, name: string): number => times[name] ?? Number.NaN;
  const ratios = {
    ordered100_vs_plain: of(ordered, 'governed') / of(ordered, 'plain'),
    ordered100_vs_loop: of(loop, 'governed') / of(loop, 'looped'),
    single_vs_plain: of(single, 'governed') / of(single, 'plain'),
    single_vs_handwritten: of(single, 'governed') / of(single, 'handwritten'),
    throughput_vs_plain: of(throughput, 'plain') / of(throughput, 'governed'),
    throughput_vs_handwritten: of(throughput, 'handwritten') / of(throughput, 'governed'),
  };
  const creates = {
    single_vs_plain: of(single, 'created') / of(single, 'plain'),
    ordered100_vs_plain: of(ordered, 'created') / of(ordered, 'plain'),
  };
  const prepare = { single: of(single, PREPARED), ordered100: of(ordered, PREPARED), crowd: of(throughput, PREPARED) };
  return { ratios, medians: { single, ordered100: ordered, ordered100_slow_sink: loop, throughput }, creates, prepare };
}

async function events(bench: Bench): Promise<{ governed100: number; governed1: number; plain100: number }> {
  const plan = await bench.prepare('events', 100);
  await bench.governed(plan);
  const one = await bench.prepare('event', 1);
  await bench.governed(one);
  await bench.execute('plain', 'events-plain', 100);
  return {
    governed100: await bench.events(carrierWorkflowId(plan.runId)),
    governed1: await bench.events(carrierWorkflowId(one.runId)),
    plain100: await bench.events('events-plain'),
  };
}

async function main(): Promise<void> {
  const asked = askedFor({ flags: ['json', 'quick', 'memory'], choices: { only: ['normal', 'lifted'] } });
  const rounds = asked.has('quick')
    ? { single: 10, ordered: 2, throughput: 2 }
    : { single: 60, ordered: 7, throughput: 7 };
  Runtime.install({
    telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
    logger: new DefaultLogger('ERROR'),
  });
  const { only } = asked.choices;
  const inMemory = asked.has('memory');
  const wanted = (name: string): boolean => only === undefined || only === name;
  say('as the dev server is (one step per 50 ms and workflow):');
  const normal = wanted('normal')
    ? await withBench({ lifted: false, inMemory }, (bench) => measure(bench, rounds))
    : null;
  say('with the limit lifted:');
  const lifted = wanted('lifted')
    ? await withBench({ lifted: true, inMemory }, async (bench) => ({
        ...(await measure(bench, rounds)),
        events: await events(bench),
      }))
    : null;
  const report = {
    ratios: normal?.ratios ?? null,
    lifted: lifted?.ratios ?? null,
    events: lifted?.events ?? null,
    creates_alone: { normal: normal?.creates ?? null, lifted: lifted?.creates ?? null },
    medians_ms: { normal: normal?.medians ?? null, lifted: lifted?.medians ?? null },
    prepare_ms: { normal: normal?.prepare ?? null, lifted: lifted?.prepare ?? null },
  };
  if (asked.has('json')) process.stdout.write(`${JSON.stringify(report)}\n`);
  else print(report);
}

function print(report: {
  ratios: Ratios | null;
  lifted: Ratios | null;
  events: object | null;
  creates_alone: object;
}): void {
  for (const name of Object.keys(LIMITS) as Ratio[]) {
    const limit = LIMITS[name];
    const cell = (value: number | undefined, most: number): string => {
      if (value === undefined) return 'not measured';
      const kept = limit.better === 'lower' ? value <= most : value >= most;
      return `${value.toFixed(3)} ${kept ? 'within' : 'MISSES'} ${limit.better === 'lower' ? '<=' : '>='} ${most}`;
    };
    const cells = [cell(report.ratios?.[name], limit.normal), cell(report.lifted?.[name], limit.lifted)];
    process.stdout.write(`${name.padEnd(28)} ${(cells[0] ?? '').padEnd(26)} lifted ${cells[1]}\n`);
  }
  process.stdout.write(`durable creates alone, against plain: ${JSON.stringify(report.creates_alone)}\n`);
  if (report.events !== null) process.stdout.write(`history events: ${JSON.stringify(report.events)}\n`);
}

main().then(
  () => process.exit(0),
  (fault: unknown) => {
    process.stderr.write(`${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}\n`);
    process.exit(1);
  },
);
