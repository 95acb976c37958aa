/** Cases in which the line between adapter and sink fails. Invariant: each says so when its fault did not happen. */
import type { SinkItem } from '../../../ports';
import type { CaseOf } from '../conformance-case';
import type { Step } from '../fault-proxy';
import type { LineFault, Strike } from '../fixture';
import { commit, judgeLookUp, judgeOnce, judgeSent, saidOf, until } from '../judge';
import { NotApplicable } from '../promises';
import type { Looked, Sent, Stand } from '../stand';

export const LINE: readonly CaseOf[] = [
  {
    fault: 'lost_request',
    keeps: 'sends once, refuses nothing, and sends well afterwards',
    run: (stand) => lost(stand, 'lose'),
  },
  {
    fault: 'reset',
    keeps: 'sends once, refuses nothing, and sends well afterwards',
    run: (stand) => lost(stand, 'reset'),
  },
  { fault: 'lost_reply', keeps: 'the write is never denied, and found after settling', run: lostReply },
  { fault: 'cut_anywhere', keeps: 'tells nothing false, wherever the connection breaks', run: cutAnywhere },
  {
    fault: 'late_commit',
    keeps: 'ends at its deadline, and a write that lands later is never denied',
    run: lateCommit,
  },
  { fault: 'aborted', keeps: 'ends when the worker stops, long before its deadline', run: abortedWithin },
  { fault: 'lookup_timeout', keeps: 'ends at its deadline, and what was not read is not absent', run: lookUpTimeout },
  { fault: 'lookup_lost', keeps: 'what was not read is neither absent nor committed', run: lookUpLost },
  { fault: 'slow_drip', keeps: 'an answer that goes on and on ends at the deadline', run: slowDrip },
];

/** Most steps of one exchange that are cut. */
const MOST_STEPS = 40;
/** A deadline that a case never waits for. */
const STOPPED_BEFORE_MS = 600_000;
/** How long what was let go may take to land. */
export const LANDS_WITHIN_MS = 5_000;

/** Makes one send without a fault, from which the proxy learns, and then a second adapter with connections of its own. */
export async function learned(stand: Stand): Promise<Stand['sink']> {
  if (stand.fixture.line === undefined) {
    const item = stand.item();
    stand.proxy.learn(stand.written(item));
    await commit(stand, item);
    stand.proxy.clear();
  }
  return stand.another();
}

export function armed(stand: Stand, fault: LineFault, written: () => Promise<boolean>): Strike {
  const strike = stand.line.arm(fault, written);
  if (strike === null) throw new NotApplicable(`the line of the fixture cannot ${fault.replace('_', ' ')}`);
  return strike;
}

export interface UnderFault<T> {
  readonly item: SinkItem;
  readonly strike: Strike;
  readonly ended: T;
}

/**
 * Makes a call that is bound to fail, with more and more patience until the fault has met it: a slow machine must not look like
 * a fault that cannot happen.
 */
export async function underFault<T>(
  stand: Stand,
  fault: LineFault,
  call: (item: SinkItem, limits: { readonly deadlineMs: number }) => Promise<T>,
  given?: SinkItem,
): Promise<UnderFault<T>> {
  for (const patience of [1, 3, 9]) {
    const item = given ?? stand.item();
    const strike = armed(stand, fault, given === undefined ? stand.written(item) : async () => true);
    const ended = await call(item, { deadlineMs: Math.min(stand.patienceMs * patience, stand.sink.deadlineMs) });
    if (strike.struck) return { item, strike, ended };
    stand.line.clear();
  }
  throw new NotApplicable(NOTHING_STRUCK);
}

const NOTHING_STRUCK = 'nothing that this fault could strike crossed the line';

async function lost(stand: Stand, fault: LineFault): Promise<void> {
  const sink = await learned(stand);
  const { item, ended: sent } = await underFault(stand, fault, (one, limits) => stand.dispatch(one, limits, sink));
  stand.line.clear();
  if ((await stand.writes(item)) > 0) throw stand.broken('sent_again', 'the only request was lost');
  await judgeSent(stand, item, sent);
  await judgeLookUp(stand, item);
  await sendsWell(stand, sink, item);
}

/** A connection that broke must not spoil the sends after it. */
async function sendsWell(stand: Stand, sink: Stand['sink'], item: SinkItem): Promise<void> {
  let sent: Sent | null = null;
  for (let time = 0; time < 3 && sent?.told?.outcome !== 'accepted' && (await stand.writes(item)) === 0; time += 1) {
    sent = await stand.dispatch(item, {}, sink);
    await judgeSent(stand, item, sent);
  }
  if (!(await until(stand.written(item), stand.sink.settleMs))) {
    throw stand.broken('never_accepted', sent === null ? undefined : saidOf(sent));
  }
  await judgeOnce(stand, item);
}

async function lostReply(stand: Stand): Promise<void> {
  const sink = await learned(stand);
  const { item, ended: sent } = await underFault(stand, 'lose_reply', (one) => stand.dispatch(one, {}, sink));
  stand.line.clear();
  await judgeSent(stand, item, sent);
  await judgeOnce(stand, item);
  await judgeLookUp(stand, item);
}

async function cutAnywhere(stand: Stand): Promise<void> {
  const { proxy } = stand;
  const item = stand.item();
  proxy.begin();
  await commit(stand, item);
  const deadlineMs = Math.min(stand.patienceMs, stand.sink.deadlineMs);
  const cut: { readonly item: SinkItem; readonly sent: Sent }[] = [];
  for (const step of steps(proxy.turns)) {
    const one = { item: stand.item(), sink: await stand.another() };
    const strike = proxy.cutAt(step);
    const sent = await stand.dispatch(one.item, { deadlineMs }, one.sink);
    proxy.clear();
    if (!strike.struck) continue;
    await judgeSent(stand, one.item, sent);
    await judgeOnce(stand, one.item);
    cut.push({ item: one.item, sent });
  }
  if (cut.length === 0) throw new NotApplicable(NOTHING_STRUCK);
  // Once more, when all has landed that could.
  for (const one of cut) {
    await judgeLookUp(stand, one.item);
    await judgeSent(stand, one.item, one.sent);
    await judgeOnce(stand, one.item);
  }
}

const steps = (turns: number): readonly Step[] =>
  Array.from({ length: turns }, (_, turn) => [
    { turn: turn + 1, direction: 'up' as const },
    { turn: turn + 1, direction: 'down' as const },
  ])
    .flat()
    .slice(0, MOST_STEPS);

async function lateCommit(stand: Stand): Promise<void> {
  const sink = await learned(stand);
  const {
    item,
    strike,
    ended: sent,
  } = await underFault(stand, 'hold', (one, limits) => stand.dispatch(one, limits, sink));
  if (sent.told?.outcome === 'refused') throw stand.broken('false_refused');
  if (stand.sink.lookup !== 'none') {
    const early = await stand.ask(item, { deadlineMs: Math.min(stand.patienceMs, stand.sink.deadlineMs) });
    if (early.state === 'committed' && (await stand.writes(item)) === 0) throw stand.broken('false_committed');
  }
  strike.release();
  const landed = await until(stand.written(item), LANDS_WITHIN_MS);
  stand.line.clear();
  if (!landed) throw new NotApplicable('what was held back did not land when it was let go');
  await judgeSent(stand, item, sent);
  await judgeOnce(stand, item);
  await judgeLookUp(stand, item);
}

async function abortedWithin(stand: Stand): Promise<void> {
  const { item, ended: sent } = await underFault(stand, 'stall', (one, { deadlineMs }) =>
    stand.dispatch(one, { deadlineMs: STOPPED_BEFORE_MS, abortAfterMs: deadlineMs / 3 }),
  );
  if (sent.told?.outcome === 'refused') throw stand.broken('false_refused');
  stand.line.clear();
  await judgeLookUp(stand, item);
  await judgeSent(stand, item, sent);
  await judgeOnce(stand, item);
}

/** What a look-up told of an item although nothing of its answer was passed on. */
function judgeUnread(stand: Stand, looked: Looked): void {
  const state = looked.told?.[0]?.state;
  if (state === 'absent') throw stand.broken('failure_as_absent');
  if (state === 'committed') throw stand.broken('failure_as_committed');
}

async function needsLookUp(stand: Stand): Promise<SinkItem> {
  if (stand.sink.lookup === 'none') throw new NotApplicable('the sink has no look-up');
  const item = stand.item();
  await commit(stand, item);
  return item;
}

async function lookUpTimeout(stand: Stand): Promise<void> {
  const held = await needsLookUp(stand);
  for (const item of [held, stand.item()]) {
    const sink = await stand.another();
    const { ended } = await underFault(stand, 'stall', (one, limits) => stand.observe([one], limits, sink), item);
    stand.line.clear();
    judgeUnread(stand, ended);
  }
  await judgeLookUp(stand, held);
}

async function lookUpLost(stand: Stand): Promise<void> {
  const held = await needsLookUp(stand);
  for (const item of [held, stand.item()]) {
    const sink = await stand.another();
    const { ended } = await underFault(stand, 'lose_reply', (one) => stand.observe([one], {}, sink), item);
    stand.line.clear();
    judgeUnread(stand, ended);
  }
  if (stand.fixture.line === undefined) await cutLookUpAnywhere(stand, held);
  await judgeLookUp(stand, held);
}

/** What is cut after the answer was read is no failure, so only what contradicts the sink is broken here. */
async function cutLookUpAnywhere(stand: Stand, held: SinkItem): Promise<void> {
  const { proxy } = stand;
  const first = await stand.another();
  proxy.begin();
  await stand.observe([held], {}, first);
  const deadlineMs = Math.min(stand.patienceMs, stand.sink.deadlineMs);
  for (const step of steps(proxy.turns)) {
    for (const item of [held, stand.item()]) {
      const sink = await stand.another();
      proxy.cutAt(step);
      const state = (await stand.observe([item], { deadlineMs }, sink)).told?.[0]?.state;
      proxy.clear();
      if (item === held && state === 'absent') throw stand.broken('failure_as_absent');
      if (item !== held && state === 'committed') throw stand.broken('failure_as_committed');
    }
  }
}

async function slowDrip(stand: Stand): Promise<void> {
  const { item, ended: sent } = await underFault(stand, 'drip', (one, limits) => stand.dispatch(one, limits));
  stand.line.clear();
  await judgeLookUp(stand, item);
  await judgeSent(stand, item, sent);
  await judgeOnce(stand, item);
  if (stand.sink.lookup === 'none') return;
  const sink = await stand.another();
  const { ended } = await underFault(stand, 'drip', (one, limits) => stand.observe([one], limits, sink), item);
  stand.line.clear();
  judgeUnread(stand, ended);
}
