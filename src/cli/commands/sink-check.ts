/** `sink-check`: holds an author's sink to its own declaration. Invariant: needs no Temporal and no test runner; what did not run has not passed. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  BrokenPromise,
  sinkConformance,
  type GivesFixture,
  type MakeSink,
  type SinkConformanceCase,
  type SinkFixture,
} from '../../testing/conformance';
import { CliError } from '../failure';
import { counted, type Answer } from '../output';
import type { Context, Register } from '../command';

interface SinkCheckOptions {
  readonly export?: string;
}

/** What a module for `sink-check` exports, itself or under one name. */
interface SinkModule {
  readonly makeSink: MakeSink;
  readonly fixture: GivesFixture;
}

interface Checked {
  readonly case: string;
  readonly result: 'kept' | 'broken' | 'not_applicable' | 'failed';
  readonly reason: string | null;
}

const SHOWN: Record<Checked['result'], string> = {
  kept: 'kept',
  broken: 'BROKEN',
  not_applicable: 'not applicable',
  failed: 'FAILED',
};

export const sinkCheckCommand: Register = (program, act) => {
  program
    .command('sink-check')
    .description('hold a sink to what it declares, with a proxy that loses, holds and distorts what it sends')
    .argument('<module>', 'a JavaScript module that exports makeSink and fixture')
    .option('--export <name>', 'the export that holds the two')
    .action(act('sink-check', check));
};

async function check({ output, interrupted }: Context, file: string, options: SinkCheckOptions): Promise<Answer> {
  const { makeSink, fixture } = await load(file, options.export);
  const { given, closes } = remembered(fixture);
  const checked: Checked[] = [];
  const cases = sinkConformance(makeSink, given);
  try {
    for (const one of cases) {
      if (interrupted.aborted) throw new CliError('interrupted', 'the check was stopped before its end');
      const found = await judge(one);
      checked.push(found);
      output.say(row(checked.length, cases.length, found));
    }
  } finally {
    await closes();
  }
  return conclusion(checked);
}

/** One row of the table, said as soon as it is known. */
function row(at: number, of: number, { case: name, result, reason }: Checked): string {
  const count = `${String(at).padStart(String(of).length)}/${of}`;
  return `${count}  ${SHOWN[result].padEnd(SHOWN.not_applicable.length)}  ${reason ?? name}`;
}

async function judge(one: SinkConformanceCase): Promise<Checked> {
  try {
    const ended = await one.run();
    return {
      case: one.name,
      result: ended.result,
      reason: ended.result === 'kept' ? null : `${one.fault}: ${ended.reason}`,
    };
  } catch (error) {
    if (error instanceof BrokenPromise) return { case: one.name, result: 'broken', reason: error.message };
    // The text of an unknown error could quote anything.
    const name = error instanceof Error ? error.name : typeof error;
    return { case: one.name, result: 'failed', reason: `${one.fault}: the fixture or makeSink threw (${name})` };
  }
}

function conclusion(checked: readonly Checked[]): Answer {
  const of = (result: Checked['result']): readonly Checked[] => checked.filter((one) => one.result === result);
  const [kept, broken, without, failed] = [of('kept'), of('broken'), of('not_applicable'), of('failed')];
  const lines = [
    '',
    `${counted(kept.length, 'case')} kept, ${broken.length} broken, ${failed.length} failed, ${without.length} not applicable`,
  ];
  const data = {
    kept: kept.length,
    broken: broken.length,
    failed: failed.length,
    notApplicable: without.length,
    cases: checked,
  };
  if (failed.length > 0 && broken.length === 0) {
    const message = `${counted(failed.length, 'case')} could not be run: ${failed[0]?.reason ?? ''}`;
    return { data, lines, failure: { code: 'invalid_argument', message, field: 'module', exit: 'invalid_input' } };
  }
  if (broken.length === 0) return { data, lines };
  const message = `${counted(broken.length, 'promise')} of the sink ${broken.length === 1 ? 'is' : 'are'} broken: ${broken[0]?.reason ?? ''}`;
  return { data, lines, failure: { code: 'sink_broken', message, field: null, exit: 'denied' } };
}

/** The fixture, made at its first use, and what ends it. */
function remembered(fixture: GivesFixture): { given: () => Promise<SinkFixture>; closes: () => Promise<void> } {
  let made: Promise<SinkFixture> | null = null;
  return {
    given: () => (made ??= Promise.resolve(typeof fixture === 'function' ? fixture() : fixture)),
    closes: async () => {
      const one = await made?.catch(() => null);
      await one?.close?.();
    },
  };
}

async function load(file: string, name: string | undefined): Promise<SinkModule> {
  let loaded: Record<string, unknown>;
  try {
    loaded = (await import(pathToFileURL(path.resolve(file)).href)) as Record<string, unknown>;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
        ? 'it, or what it imports, was not found'
        : 'it throws when it is loaded';
    throw new CliError('input_unreadable', `the module cannot be loaded: ${why}`, 'module');
  }
  // Of a CommonJS module all stands under `default`.
  const all = { ...asObject(loaded['default']), ...loaded };
  const found = name === undefined ? all : asObject(all[name]);
  const { makeSink, fixture } = found;
  if (typeof makeSink !== 'function' || (typeof fixture !== 'function' && !isFixture(fixture))) {
    const where = name === undefined ? 'the module' : `its export "${name}"`;
    throw new CliError(
      'invalid_argument',
      `${where} must hold makeSink and fixture; see docs/conformance.md`,
      'module',
    );
  }
  return { makeSink: makeSink as MakeSink, fixture: fixture as GivesFixture };
}

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

function isFixture(value: unknown): boolean {
  const { operation, writes } = asObject(value);
  return typeof operation === 'function' && typeof writes === 'function';
}
