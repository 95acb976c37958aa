/**
 * What the command line asks for. Invariant: an option or name that is not known is refused in one sentence before anything
 * is started.
 */
import { parseArgs } from 'node:util';
import type { Cell } from './cell';
import { FAULT_NAMES, type FaultName } from './rows';
import { SINK_NAMES, type SinkName } from './sinks';

export type Asked =
  | { readonly ask: 'list' }
  | { readonly ask: 'refused'; readonly why: string }
  | { readonly ask: 'run'; readonly json: boolean; readonly jobs: number; readonly cells: readonly Cell[] };

export const DEFAULT_JOBS = 10;
const MOST_JOBS = 50;

const OPTIONS = {
  json: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  sink: { type: 'string' },
  fault: { type: 'string' },
  jobs: { type: 'string', default: String(DEFAULT_JOBS) },
} as const;

export function readArguments(argv: readonly string[]): Asked {
  let values;
  try {
    ({ values } = parseArgs({ args: [...argv], options: OPTIONS, strict: true }));
  } catch (fault) {
    const [first = ''] = (fault as Error).message.split(/[.\n]/);
    return refused(`${first}; there are --json, --list, --sink NAME, --fault NAME and --jobs N`);
  }
  const { sink, fault } = values;
  if (values.list) return { ask: 'list' };
  if (sink !== undefined && !isSink(sink)) return refused(`no sink is called "${sink}"; --list shows the names`);
  if (fault !== undefined && !isFault(fault)) return refused(`no fault is called "${fault}"; --list shows the names`);
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > MOST_JOBS) {
    return refused(`--jobs takes a whole number from 1 to ${MOST_JOBS}, not "${values.jobs}"`);
  }
  const faults = fault === undefined ? FAULT_NAMES : [fault];
  const sinks = sink === undefined ? SINK_NAMES : [sink];
  const cells = faults.flatMap((one) => sinks.map((other) => ({ fault: one, sink: other })));
  return { ask: 'run', json: values.json, jobs, cells };
}

function refused(why: string): Asked {
  return { ask: 'refused', why: `kill-matrix: ${why}` };
}

const isSink = (name: string): name is SinkName => (SINK_NAMES as readonly string[]).includes(name);
const isFault = (name: string): name is FaultName => (FAULT_NAMES as readonly string[]).includes(name);
