/** Cases in which the line between adapter and sink fails. Invariant: each says so when its fault did not happen. */
import type { SinkItem } from '../../../ports';
import type { CaseOf } from '../conformance-case';
import type { FaultProxy, Step } from '../fault-proxy';
import type { LineFault, Strike } from '../fixture';
import { commit, judgeEnforced, judgeLookUp, judgeOnce, judgeSent, saidOf, until } from '../judge';
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

export function mustHaveStruck(strike: Strike): void {
  if (!strike.struck) throw new NotApplicable('nothing that this fault could strike crossed the line');
}

const patiently = (stand: Stand): { readonly deadlineMs: number } => ({
  deadlineMs: Math.min(stand.patienceMs, stand.sink.deadlineMs),
});

async function lost(stand: Stand, fault: LineFault): Promise<void> {
  const sink = await learned(stand);
  const item = stand.item();
  const strike = armed(stand, fault, stand.written(item));
  const sent = await stand.dispatch(item, patiently(stand), sink);
  mustHaveStruck(strike);
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
  const item = stand.item();
  const strike = armed(stand, 'lose_reply', stand.written(item));
  const sent = await stand.dispatch(item, {}, sink);
  mustHaveStruck(strike);
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
  const cut: { readonly item: SinkItem; readonly sent: Sent }[] = [];
  for (const step of steps(proxy.turns)) {
    const one = { item: stand.item(), sink: await stand.another() };
    const strike = proxy.cutAt(step);
    const sent = await stand.dispatch(one.item, patiently(stand), one.sink);
    proxy.clear();
    if (!strike.struck) continue;
    await judgeSent(stand, one.item, sent);
    await judgeOnce(stand, one.item);
    cut.push({ item: one.item, sent });
  }
  if (cut.length === 0) throw new NotApplicable('nothing that this fault could strike crossed the line');
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
  const item = stand.item();
  const strike = armed(stand, 'hold', stand.written(item));
  const sent = await stand.dispatch(item, patiently(stand), sink);
  mustHaveStruck(strike);
  if (sent.told?.outcome === 'refused') throw stand.broken('false_refused');
  if (stand.sink.lookup !== 'none') {
    const early = (await stand.observe([item], patiently(stand))).told?.[0]?.state;
    if (early === 'committed' && (await stand.writes(item)) === 0) throw stand.broken('false_committed');
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
  const item = stand.item();
  const strike = armed(stand, 'stall', stand.written(item));
  const sent = await stand.dispatch(item, { deadlineMs: 600_000, abortAfterMs: stand.patienceMs / 3 });
  mustHaveStruck(strike);
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
    const strike = armed(stand, 'stall', async () => true);
    const looked = await stand.observe([item], patiently(stand), sink);
    stand.line.clear();
    mustHaveStruck(strike);
    judgeUnread(stand, looked);
  }
  await judgeLookUp(stand, held);
}

async function lookUpLost(stand: Stand): Promise<void> {
  const held = await needsLookUp(stand);
  const sink = await stand.another();
  const proxy: FaultProxy | null = stand.fixture.line === undefined ? stand.proxy : null;
  proxy?.begin();
  await stand.observe([held], {}, sink);
  const strikes = proxy === null ? [() => armed(stand, 'lose_reply', async () => true)] : answered(proxy);
  for (const strikeAt of strikes) {
    for (const item of [held, stand.item()]) {
      const another = await stand.another();
      const strike = strikeAt();
      const looked = await stand.observe([item], patiently(stand), another);
      stand.line.clear();
      if (strike.struck) judgeUnread(stand, looked);
    }
  }
  await judgeLookUp(stand, held);
}

/** Each step of a look-up up to the answer of its last turn but what is said when all is read. */
const answered = (proxy: FaultProxy): readonly (() => Strike)[] =>
  steps(proxy.turns).map((step) => () => proxy.cutAt(step));

async function slowDrip(stand: Stand): Promise<void> {
  const item = stand.item();
  const strike = armed(stand, 'drip', stand.written(item));
  const sent = await stand.dispatch(item, patiently(stand));
  mustHaveStruck(strike);
  stand.line.clear();
  await judgeLookUp(stand, item);
  await judgeSent(stand, item, sent);
  await judgeOnce(stand, item);
  if (stand.sink.lookup === 'none') return;
  const sink = await stand.another();
  const dripping = armed(stand, 'drip', async () => true);
  const looked = await stand.observe([item], patiently(stand), sink);
  stand.line.clear();
  if (dripping.struck) judgeUnread(stand, looked);
  await judgeEnforced(stand, item);
}
