/**
 * What the command line asks for. Invariant: an option or name that is not known is refused in one sentence before anything
 * is started.
 */
import { parseArgs } from 'node:util';
import type { Cell } from './cell';
import { JOURNAL_NAMES, type JournalName } from './journals';
import { FAULT_NAMES, type FaultName } from './rows';
import { EMBEDDED_SINKS, SINK_NAMES, type SinkName } from './sinks';

export interface Run {
  readonly ask: 'run';
  readonly json: boolean;
  readonly jobs: number;
  readonly journal: JournalName;
  readonly cells: readonly Cell[];
}

export type Asked = Run | { readonly ask: 'list' } | { readonly ask: 'refused'; readonly why: string };

export const DEFAULT_JOBS = 10;
const MOST_JOBS = 50;

const OPTIONS = {
  json: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
  systems: { type: 'boolean', default: false },
  sink: { type: 'string' },
  fault: { type: 'string' },
  journal: { type: 'string', default: 'files' },
  jobs: { type: 'string', default: String(DEFAULT_JOBS) },
} as const;

const USAGE = '--json, --list, --systems, --sink NAME,…, --fault NAME,…, --journal NAME and --jobs N';

export function readArguments(argv: readonly string[]): Asked {
  let values;
  try {
    ({ values } = parseArgs({ args: [...argv], options: OPTIONS, strict: true }));
  } catch (fault) {
    const [first = ''] = (fault as Error).message.split(/[.\n]/);
    return refused(`${first}; there are ${USAGE}`);
  }
  const { list, systems, sink, fault, journal, json } = values;
  if (list) return { ask: 'list' };
  const byDefault: readonly SinkName[] = systems ? SINK_NAMES : EMBEDDED_SINKS;
  const sinks = named(sink, SINK_NAMES, byDefault);
  if (typeof sinks === 'string') return unknown('sink', sinks);
  const faults = named<FaultName>(fault, FAULT_NAMES, FAULT_NAMES);
  if (typeof faults === 'string') return unknown('fault', faults);
  const journals = named(journal, JOURNAL_NAMES, JOURNAL_NAMES);
  if (typeof journals === 'string' || journals.length !== 1) return unknown('kind of journal', journal);
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > MOST_JOBS) {
    return refused(`--jobs takes a whole number from 1 to ${MOST_JOBS}, not "${values.jobs}"`);
  }
  const cells = faults.flatMap((one) => sinks.map((other) => ({ fault: one, sink: other })));
  return { ask: 'run', json, jobs, journal: journals[0] as JournalName, cells };
}

/** The names of a list with commas, each once, in the order in which they are known; or the first that is not. */
function named<Name extends string>(
  list: string | undefined,
  known: readonly Name[],
  byDefault: readonly Name[],
): readonly Name[] | string {
  if (list === undefined) return byDefault;
  const asked = list.split(',');
  const strange = asked.find((name) => !(known as readonly string[]).includes(name));
  return strange ?? known.filter((name) => asked.includes(name));
}

function unknown(what: string, name: string): Asked {
  return refused(`no ${what} is called "${name}"; --list shows the names`);
}

function refused(why: string): Asked {
  return { ask: 'refused', why: `kill-matrix: ${why}` };
}
