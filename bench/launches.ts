/**
 * `npm run bench:launches [-- --json] [--quick] [--memory]`: what an authorized launch costs against a plain activity that makes
 * the same request, measured in one interleaved run, for a provider that answers at once and for one as slow as a quick model.
 *
 * Beside the launch out of an author's workflow: its job alone, as a run of checks carries it, and the plain activity in a child
 * workflow, which is what a carrier of its own costs any caller. Once as the dev server is, and once with its limit lifted.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Store } from '../src';
import { fileStore } from '../src/adapters/stores';
import { askedFor } from './arguments';
import { withLaunches, type LaunchBench } from './launch-setup';
import { interleave, type Variant } from './measure';
import { BenchMemoryStore } from './memory-store';

/** Of a launch to a plain activity, where the request takes as long as a quick model. */
export const LIMIT = 1.5;
const LATENCIES_MS = { at_once: 0, quick_model: 400 } as const;
type Latency = keyof typeof LATENCIES_MS;
const WARM_UP = 15;

interface Measured {
  readonly medians_ms: Readonly<Record<string, number>>;
  readonly launch_vs_plain: number;
  readonly job_vs_plain: number;
  readonly launch_vs_plain_in_child: number;
}
type Report = Readonly<Record<'normal' | 'lifted', Readonly<Record<Latency, Measured>>>>;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function measure(bench: LaunchBench, rounds: number): Promise<Readonly<Record<Latency, Measured>>> {
  const variants = (label: string): readonly Variant[] => [
    {
      name: 'launch',
      prepare: (round) => bench.sign(`launch-${label}-${round}`),
      run: (round) => bench.launch(`launch-${label}-${round}`),
    },
    {
      name: 'job',
      prepare: (round) => bench.sign(`job-${label}-${round}`),
      run: (round) => bench.job(`job-${label}-${round}`),
    },
    { name: 'plain', run: (round) => bench.plain('plain', `plain-${label}-${round}`) },
    { name: 'plain in child', run: (round) => bench.plain('plainInChild', `child-${label}-${round}`) },
  ];
  const timed = async (label: string, count: number): Promise<Measured> => {
    const before = bench.requests();
    const all = variants(label);
    const times = await interleave(all, count + 1);
    if (bench.requests() - before !== all.length * (count + 1)) throw new Error('not one request for each');
    const of = (name: string): number => times[name] ?? Number.NaN;
    say(
      `  ${label}: ${Object.entries(times)
        .map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`)
        .join(', ')}`,
    );
    return {
      medians_ms: times,
      launch_vs_plain: of('launch') / of('plain'),
      job_vs_plain: of('job') / of('plain'),
      launch_vs_plain_in_child: of('launch') / of('plain in child'),
    };
  };
  await timed('not counted: to get warm', WARM_UP);
  const measured: Partial<Record<Latency, Measured>> = {};
  for (const [latency, ms] of Object.entries(LATENCIES_MS) as [Latency, number][]) {
    bench.slow(ms);
    measured[latency] = await timed(latency, rounds);
    bench.slow(0);
  }
  return measured as Record<Latency, Measured>;
}

async function main(): Promise<void> {
  const asked = askedFor({ flags: ['json', 'quick', 'memory'] });
  const rounds = asked.has('quick') ? 10 : 30;
  Runtime.install({
    telemetryOptions: { logging: { filter: 'ERROR', forward: {} } },
    logger: new DefaultLogger('ERROR'),
  });
  const folder = await mkdtemp(path.join(os.tmpdir(), 'countersign-bench-'));
  const setting = (lifted: boolean): Parameters<typeof withLaunches>[0] => ({
    lifted,
    storeAt: (name): Store =>
      asked.has('memory')
        ? new BenchMemoryStore()
        : fileStore(path.join(folder, String(lifted), name), { createRoot: true }),
  });
  try {
    say('as the dev server is (one step per 50 ms and workflow):');
    const normal = await withLaunches(setting(false), (bench) => measure(bench, rounds));
    say('with the limit lifted:');
    const lifted = await withLaunches(setting(true), (bench) => measure(bench, rounds));
    const report: Report = { normal, lifted };
    if (asked.has('json')) process.stdout.write(`${JSON.stringify(report)}\n`);
    else print(report);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const COMPARED = ['launch_vs_plain', 'job_vs_plain', 'launch_vs_plain_in_child'] as const;

function print({ normal, lifted }: Report): void {
  const cell = (value: number, limit: number | null): string => {
    const kept = limit === null ? '' : value <= limit ? ` within <= ${limit}` : ` MISSES <= ${limit}`;
    return `${value.toFixed(2)}${kept}`;
  };
  for (const latency of Object.keys(LATENCIES_MS) as Latency[]) {
    for (const name of COMPARED) {
      const limit = name === 'launch_vs_plain' ? LIMIT : null;
      const cells = [normal, lifted].map((measured) => cell(measured[latency][name], limit).padEnd(24));
      process.stdout.write(
        `${latency.padEnd(12)} ${name.padEnd(26)} ${cells[0]} lifted ${(cells[1] ?? '').trimEnd()}\n`,
      );
    }
  }
}

main().then(
  () => process.exit(0),
  (fault: unknown) => {
    process.stderr.write(`${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}\n`);
    process.exit(1);
  },
);
