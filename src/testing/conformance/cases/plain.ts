/** Cases in which nothing, or only what was asked for, goes wrong. Invariant: none of them needs a proxy. */
import type { SinkItem } from '../../../ports';
import type { CaseOf } from '../conformance-case';
import { commit, enforces, judgeEnforced, judgeLookUp, judgeSent, saidOf, until } from '../judge';
import { NotApplicable } from '../promises';
import { pause, type Stand } from '../stand';

export const PLAIN: readonly CaseOf[] = [
  { fault: 'none', keeps: 'declares what the engine can work with', run: declaration },
  { fault: 'none', keeps: 'accepts a sound operation, writes it once, and finds it again', run: writesOnce },
  { fault: 'none', keeps: 'answers a look-up for each item, in order, without changing anything', run: answersInOrder },
  { fault: 'none', keeps: 'passes its own start-up self-test, again and again', run: probes },
  {
    fault: 'repeat',
    keeps: 'a second send under one key is no refusal, and no second write where keys are enforced',
    run: repeats,
  },
  { fault: 'refusal', keeps: 'a refusal is typed, stable, and leaves nothing behind', run: refuses },
  { fault: 'aborted', keeps: 'a call that is given up before it began tells nothing false', run: abortedBefore },
];

async function declaration(stand: Stand): Promise<void> {
  const { deadlineMs, settleMs, horizonMs, enforcesKey, maxInFlight } = stand.sink;
  const whole = (value: number, least: number): boolean => Number.isSafeInteger(value) && value >= least;
  if (!whole(deadlineMs, 1)) throw stand.broken('declaration_invalid', 'deadlineMs');
  if (!whole(settleMs, 0)) throw stand.broken('declaration_invalid', 'settleMs');
  if (horizonMs !== undefined && !whole(horizonMs, 1)) throw stand.broken('declaration_invalid', 'horizonMs');
  if (enforcesKey === 'within_horizon' && horizonMs === undefined)
    throw stand.broken('declaration_invalid', 'no horizonMs');
  if (maxInFlight !== undefined && !whole(maxInFlight, 1)) throw stand.broken('declaration_invalid', 'maxInFlight');
}

async function writesOnce(stand: Stand): Promise<void> {
  const { sink } = stand;
  const item = stand.item();
  const { state } = await stand.ask(item);
  if ((await stand.writes(item)) > 0) throw stand.broken('observe_wrote');
  if (state === 'committed') throw stand.broken('false_committed');
  if (sink.lookup === 'authoritative' && state !== 'absent') throw stand.broken('never_absent', state);
  const { told } = await commit(stand, item);
  const held = await stand.writes(item);
  if (held > 1) throw stand.broken('sent_again', `${held} writes`);
  const found = await judgeLookUp(stand, item);
  if (found.state !== 'committed') {
    if (sink.lookup === 'authoritative') throw stand.broken('never_committed', found.state);
    return;
  }
  const { externalId } = told as { externalId: string | null };
  if (externalId !== null && found.externalId !== externalId) throw stand.broken('other_name');
  const again = await judgeLookUp(stand, item);
  if (again.state !== 'committed' || again.externalId !== found.externalId) throw stand.broken('observe_unstable');
  if ((await stand.writes(item)) !== held) throw stand.broken('observe_wrote');
}

async function answersInOrder(stand: Stand): Promise<void> {
  const [first, second, third] = [stand.item(), stand.item(), stand.item()];
  if ((await stand.observe([])).told === null) throw stand.broken('answers_mixed', 'of none');
  if (stand.sink.lookup === 'none') {
    const answers = (await stand.observe([first, second, third])).told;
    if (answers?.some(({ state }) => state === 'committed')) throw stand.broken('false_committed');
    return;
  }
  await commit(stand, second);
  await judgeLookUp(stand, second);
  for (const items of [
    [first, second, third],
    [second, third, first],
    [third, first, second],
  ]) {
    const answers = (await stand.observe(items)).told;
    if (answers === null) throw stand.broken('never_committed', 'the look-up of several failed');
    for (const [index, item] of items.entries()) {
      const state = answers[index]?.state;
      if (item !== second && state === 'committed') throw stand.broken('answers_mixed');
      if (item === second && state === 'absent' && stand.sink.lookup === 'authoritative')
        throw stand.broken('answers_mixed');
    }
  }
  for (const item of [first, third]) if ((await stand.writes(item)) > 0) throw stand.broken('observe_wrote');
}

async function probes(stand: Stand): Promise<void> {
  const { sink } = stand;
  if (sink.probe === undefined) throw new NotApplicable('the sink has no start-up self-test');
  for (let time = 0; time < 2; time += 1) {
    try {
      await sink.probe();
    } catch (threw) {
      if (stand.watch.foundIn(threw)) throw stand.broken('content_told', 'in an error');
      throw stand.broken('probe_failed', saidOf({ told: null, threw }));
    }
  }
}

async function repeats(stand: Stand): Promise<void> {
  const item = stand.item();
  const first = await commit(stand, item);
  for (const sink of [stand.sink, await stand.another()]) {
    const sent = await stand.dispatch(item, {}, sink);
    await judgeSent(stand, item, sent);
    await judgeEnforced(stand, item);
    const name = (told: unknown): unknown => (told as { externalId?: unknown } | null)?.externalId ?? null;
    if (enforces(stand) && sent.told?.outcome === 'accepted' && name(sent.told) !== name(first.told)) {
      throw stand.broken('other_name');
    }
  }
}

async function refuses(stand: Stand): Promise<void> {
  const { fixture } = stand;
  if (fixture.refused === undefined) throw new NotApplicable('the fixture has no operation that the sink refuses');
  const codes = new Set<string>();
  const items: SinkItem[] = [];
  for (let time = 0; time < 2; time += 1) {
    const item = stand.item((text) => fixture.refused?.(text));
    const sent = await stand.dispatch(item);
    if (sent.told === null) throw stand.broken('refusal_thrown', saidOf(sent));
    if (sent.told.outcome !== 'refused') throw stand.broken('refusal_missing', saidOf(sent));
    codes.add(sent.told.code);
    items.push(item);
  }
  if (codes.size > 1) throw stand.broken('refusal_unstable');
  for (const item of items) {
    if ((await stand.writes(item)) > 0) throw stand.broken('refusal_written');
    if ((await stand.ask(item)).state === 'committed') throw stand.broken('false_committed');
  }
}

async function abortedBefore(stand: Stand): Promise<void> {
  const item = stand.item();
  const sent = await stand.dispatch(item, { abortAfterMs: 0 });
  if (sent.told?.outcome === 'refused') throw stand.broken('false_refused');
  // What was not stopped may still land.
  if (sent.told === null) await until(stand.written(item), stand.patienceMs / 3);
  else await pause(stand.patienceMs / 3);
  await judgeSent(stand, item, sent);
  const looked = await stand.observe([item], { abortAfterMs: 0 });
  const state = looked.told?.[0]?.state;
  if (state === 'absent' && (await stand.writes(item)) > 0) throw stand.broken('failure_as_absent');
  await judgeLookUp(stand, item);
}
