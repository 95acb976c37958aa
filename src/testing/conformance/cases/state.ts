/** Cases in which the sink holds what it should not hold. Invariant: that it does is checked before anything is demanded. */
import type { SinkItem } from '../../../ports';
import type { CaseOf } from '../conformance-case';
import { commit, enforces, judgeEnforced, until } from '../judge';
import { NotApplicable } from '../promises';
import { pause, type Stand } from '../stand';

export const STATE: readonly CaseOf[] = [
  { fault: 'wrong_digest', keeps: 'another operation under the key is never taken for this one', run: wrongDigest },
  { fault: 'duplicate_rows', keeps: 'never picks one of several matches, and does not deny them', run: duplicateRows },
  {
    fault: 'expired_key',
    keeps: 'a key that was forgotten makes no second write where keys are enforced always',
    run: expiredKey,
  },
];

async function wrongDigest(stand: Stand): Promise<void> {
  const other = stand.item();
  await commit(stand, other);
  const held = await stand.writes(other);
  const item: SinkItem = { ...stand.item(), idempotencyKey: other.idempotencyKey };
  await judgeOther(stand, item);
  const sent = await stand.dispatch(item);
  const now = await stand.writes(item);
  if (enforces(stand) && now > held) throw stand.broken('written_twice', `${now} writes`);
  if (sent.told?.outcome !== 'accepted' || now > held) return;
  // It may have been written over; otherwise what was accepted is nowhere.
  const answer = await stand.ask(item);
  const { lookup } = stand.sink;
  if (answer.state === 'committed' ? answer.operationDigest !== item.operationDigest : lookup === 'authoritative') {
    throw stand.broken('false_accepted');
  }
}

async function judgeOther(stand: Stand, item: SinkItem): Promise<void> {
  const { sink } = stand;
  if (sink.lookup === 'none') return;
  const end = performance.now() + sink.settleMs;
  for (;;) {
    const answer = await stand.ask(item);
    if (answer.state === 'committed' && answer.operationDigest === item.operationDigest) {
      throw stand.broken('digest_ignored');
    }
    if (answer.state !== 'absent' || sink.lookup === 'hint') return;
    if (performance.now() >= end) throw stand.broken('false_absent');
    await pause(100);
  }
}

async function duplicateRows(stand: Stand): Promise<void> {
  const { fixture, sink } = stand;
  if (sink.lookup === 'none') throw new NotApplicable('the sink has no look-up');
  if (fixture.duplicate === undefined) throw new NotApplicable('no second write can be made under one key');
  const item = stand.item();
  await commit(stand, item);
  await fixture.duplicate(item);
  if (!(await until(async () => (await stand.writes(item)) > 1, sink.settleMs))) {
    throw new NotApplicable('the fixture made no second write');
  }
  const end = performance.now() + sink.settleMs;
  for (;;) {
    const { state } = await stand.ask(item);
    if (state === 'absent' && sink.lookup === 'authoritative' && performance.now() >= end)
      throw stand.broken('false_absent');
    if (state !== 'absent' && performance.now() >= end) {
      if (state === 'committed') throw stand.broken('one_of_several');
      return;
    }
    if (state === 'unknown') return;
    await pause(100);
  }
}

async function expiredKey(stand: Stand): Promise<void> {
  const { fixture, sink } = stand;
  if (fixture.forget === undefined) throw new NotApplicable('the sink keeps keys for ever, or they cannot be aged');
  const item = stand.item();
  await commit(stand, item);
  await fixture.forget(item);
  const held = await stand.writes(item);
  const answer = await stand.ask(item);
  if (answer.state === 'absent' && held > 0 && sink.lookup === 'authoritative' && sink.horizonMs === undefined) {
    throw stand.broken('false_absent', 'and no horizonMs is declared');
  }
  const again = await stand.dispatch(item);
  if (again.told?.outcome === 'refused') throw stand.broken('false_refused');
  if (sink.enforcesKey === 'always') await judgeEnforced(stand, item);
}
