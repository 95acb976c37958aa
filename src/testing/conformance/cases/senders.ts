/** Cases in which more than one worker sends. Invariant: only what the sink declares of its keys is demanded of it. */
import type { CaseOf } from '../conformance-case';
import { enforces, judgeEnforced, judgeLookUp, until } from '../judge';
import { NotApplicable } from '../promises';
import type { Stand } from '../stand';
import { LANDS_WITHIN_MS, learned, underFault } from './line';

export const SENDERS: readonly CaseOf[] = [
  { fault: 'two_senders', keeps: 'at most one write where keys are enforced, and nobody is refused', run: atOnce },
  { fault: 'late_original', keeps: 'at most one write where keys are enforced', run: lateOriginal },
];

const ROUNDS = 3;
const SENDERS_AT_ONCE = 4;

function needsEnforcement(stand: Stand): void {
  if (!enforces(stand)) throw new NotApplicable('the sink does not claim to enforce keys');
}

async function atOnce(stand: Stand): Promise<void> {
  needsEnforcement(stand);
  const sinks = [stand.sink];
  while (sinks.length < SENDERS_AT_ONCE) sinks.push(await stand.another());
  for (let round = 0; round < ROUNDS; round += 1) {
    const item = stand.item();
    const all = await Promise.all(sinks.map((sink) => stand.dispatch(item, {}, sink)));
    const outcomes = all.map(({ told }) => told?.outcome);
    if (outcomes.includes('refused')) throw stand.broken('false_refused');
    if (outcomes.includes('accepted') && !(await until(stand.written(item), stand.sink.settleMs))) {
      throw stand.broken('not_written');
    }
    // One of them made the write, so not all can say that they did nothing.
    const held = await stand.writes(item);
    if (held > 0 && outcomes.every((outcome) => outcome === 'not_sent')) throw stand.broken('false_not_sent');
    await judgeLookUp(stand, item);
    await judgeEnforced(stand, item);
  }
}

async function lateOriginal(stand: Stand): Promise<void> {
  needsEnforcement(stand);
  const sink = await learned(stand);
  const { item, strike } = await underFault(stand, 'hold', (one, limits) => stand.dispatch(one, limits, sink));
  const again = await stand.dispatch(item, {}, await stand.another());
  if (again.told?.outcome === 'refused') throw stand.broken('false_refused');
  const before = await stand.writes(item);
  strike.release();
  // Either the sink answers what was let go, or it has closed that connection: then nothing can land any more.
  await until(() => strike.answered, LANDS_WITHIN_MS);
  stand.line.clear();
  await judgeEnforced(stand, item);
  if (before === 0) throw new NotApplicable('the second send made no write while the first was held back');
  await judgeLookUp(stand, item);
}
