/**
 * What every sink must keep, whatever goes wrong, as named cases that any test runner can run.
 *
 * Invariant: a case is kept, broken or not applicable. What the fixture cannot bring about, and what the sink does not claim, is
 * not applicable with its reason, and never counts as passed.
 */
import { LINE } from './cases/line';
import { MEANING } from './cases/meaning';
import { PLAIN } from './cases/plain';
import { SENDERS } from './cases/senders';
import { STATE } from './cases/state';
import type { CaseOf, SinkConformanceCase } from './conformance-case';
import { EXCEPTABLE, type ExceptableFault, type MakeSink, type SinkFixture } from './fixture';
import { NotApplicable } from './promises';
import { Stand } from './stand';

const CASES: readonly CaseOf[] = [...PLAIN, ...LINE, ...SENDERS, ...STATE, ...MEANING];

/** The fixture, or what gives it when the first case runs. */
export type GivesFixture = SinkFixture | (() => SinkFixture | Promise<SinkFixture>);

/** The cases of the kit for one sink, to be run one after the other; `run` throws a `BrokenPromise`, and any other error is one of the fixture. */
export function sinkConformance(makeSink: MakeSink, fixture: GivesFixture): readonly SinkConformanceCase[] {
  let given: Promise<SinkFixture> | null = null;
  const theFixture = (): Promise<SinkFixture> =>
    (given ??= Promise.resolve(typeof fixture === 'function' ? fixture() : fixture));
  return CASES.map((one) => ({
    name: `${one.fault}: ${one.keeps}`,
    fault: one.fault,
    async run() {
      try {
        await runCase(one, await theFixture(), makeSink);
        return { result: 'kept' };
      } catch (error) {
        if (error instanceof NotApplicable) return { result: 'not_applicable', reason: error.message };
        throw error;
      }
    },
  }));
}

async function runCase(one: CaseOf, fixture: SinkFixture, makeSink: MakeSink): Promise<void> {
  const excepted = isExceptable(one.fault) ? fixture.except?.[one.fault] : undefined;
  if (excepted !== undefined) throw new NotApplicable(excepted);
  const stand = await Stand.open(one.fault, fixture, makeSink, one.meaning ?? false);
  try {
    await one.run(stand);
  } finally {
    await stand.close();
  }
}

const isExceptable = (fault: string): fault is ExceptableFault => (EXCEPTABLE as readonly string[]).includes(fault);
