/**
 * The queue of one tool, in the situations that it is made for.
 *
 * Held here:
 * - calls go out by first enqueue, whatever the order in which their messages came, and a call that comes back goes before later ones;
 * - the bound is asked when a call comes, and of a resent one only where no queue can have let it in and lost it; with room, nobody waits;
 * - a wait ends at its very millisecond; `no_handler` only where no worker ever was, else `capacity_exhausted`; at a full queue as well;
 * - a call that a worker may have had, also one of a queue that is lost or has forgotten it, is never reported as not dispatched;
 * - a request that has left is answered again as it was, a later request of a call is a new one, unless its chain has ended;
 * - capacity comes from the workers that are there: restarts, late goodbyes, holds after a bounce, and pruning; a sign of life makes a
 *   hold shorter, and lets no more run meanwhile;
 * - a call that nobody there may do, or none of these has a place for, waits without keeping those after it waiting, and is no reason to
 *   hand out any other beyond what there is room for; a queue that began without this goes on so;
 * - whoever asks for another plan under the name of a call that somebody else asked for is turned away, and changes nothing;
 * - a call that was withdrawn never goes out, whichever message comes first;
 * - what is handed over to a new run is what was there, and anything else is refused.
 */
import { describe, expect, it } from 'vitest';
import { stepQueue } from '../../../src/rules/invocations/queue';
import { queueFromRecord, queueToRecord } from '../../../src/rules/invocations/queue-snapshot';
import {
  FIRST_HOLD_MS,
  LONGEST_HOLD_MS,
  MOST_LOSSES,
  MOST_WAITING,
  REMEMBERED,
  capacityOf,
  nextWakeAt,
  openQueue,
  type DriveEnd,
  type QueueEvent,
} from '../../../src/rules/invocations/queue-state';
import type { JsonObject } from '../../../src/rules/recovery';
import { T0, Told, callId, digest, dispatched, outcomes, reports, request, worker } from './support';

const end = (index: number, how: DriveEnd) =>
  ({ type: 'ended', callId: callId(index), worker: 'w', takenAt: T0, ...how }) as const;

describe('order', () => {
  it('is that of the first enqueue, then of the place in the session, whatever came first', () => {
    const queue = new Told();
    const calls = [
      request(3, { queuedAt: T0 - 30 }),
      request(2, { queuedAt: T0 - 20, sequence: 1 }),
      request(1, { queuedAt: T0 - 20, sequence: 2 }),
      request(0, { queuedAt: T0 - 10, waitMs: 1_000_000 }),
    ];
    for (const place of [3, 1, 0, 2]) queue.enqueue(calls[place] as (typeof calls)[0]);
    expect(queue.waiting).toEqual(calls.map((call) => call.callId));
    expect(dispatched(queue.start('a', 3))).toEqual(calls.slice(0, 3).map((call) => call.callId));
  });

  it('puts a call that comes back before those that were enqueued later', () => {
    for (const event of [
      { type: 'bounced', callId: callId(0) } as const,
      end(0, { end: 'again' }),
      end(0, { end: 'lost', code: 'dispatch:lease_expired' }),
    ]) {
      const queue = new Told();
      queue.start('a', 1);
      for (const index of [0, 1, 2]) queue.enqueue(request(index));
      queue.tell({ type: 'worker_stopped', identity: 'a', instance: 'a-1' });
      queue.tell(event);
      expect(queue.waiting).toEqual([callId(0), callId(1), callId(2)]);
    }
  });
});

describe('lists', () => {
  const HASHES = { old: digest('old'), new: digest('new') };
  const listed = (index: number, allow: JsonObject, more: object = {}) => {
    const call = request(index, more);
    return { ...call, carries: { ...call.carries, allow } };
  };
  const hash = (name: keyof typeof HASHES) => ({ descriptor_hashes: [HASHES[name]] });
  const came = (name: keyof typeof HASHES, slots: number) =>
    ({ type: 'worker_started', worker: { ...worker(name, slots), descriptorHash: HASHES[name] } }) as const;

  it('a call that nobody may do waits for somebody, and lets the others go', () => {
    const queue = new Told();
    queue.tell(came('old', 2));
    expect(queue.enqueue(listed(0, hash('new')))).toEqual([]);
    expect(dispatched(queue.enqueue(listed(1, hash('old'))))).toEqual([callId(1)]);
    expect(dispatched(queue.enqueue(request(2)))).toEqual([callId(2)]);
    expect(dispatched(queue.tell(came('new', 1)))).toEqual([callId(0)]);
  });

  it('a call whose workers all have one waits, and those of others go', () => {
    const queue = new Told();
    queue.tell(came('old', 1));
    queue.tell(came('new', 1));
    for (const index of [0, 1]) queue.enqueue(listed(index, hash('new')));
    expect(queue.running).toEqual([callId(0)]);
    expect(dispatched(queue.enqueue(listed(2, { identities: ['old'] })))).toEqual([callId(2)]);
    expect(queue.enqueue(request(3))).toEqual([]);
    expect(dispatched(queue.settle(2))).toEqual([callId(3)]);
    expect(dispatched(queue.settle(0))).toEqual([callId(1)]);
  });

  it('it is not kept back while its workers may have a place, whoever else runs', () => {
    const queue = new Told();
    queue.tell(came('old', 1));
    queue.tell(came('new', 2));
    for (const index of [0, 1]) queue.enqueue(request(index));
    expect(dispatched(queue.enqueue(listed(2, hash('new'))))).toEqual([callId(2)]);
  });

  it('its wait ends as every other, and a bound of none lets in only what goes at once', () => {
    const queue = new Told();
    queue.tell(came('old', 1));
    const call = listed(0, hash('new'));
    queue.enqueue(call);
    expect(outcomes(queue.tell({ type: 'tick' }, call.deadlineAt))).toEqual([
      ['failed', 'dispatch:capacity_exhausted'],
    ]);
    expect(outcomes(queue.enqueue(listed(1, hash('new'), { bound: 0 })))).toHaveLength(1);
    expect(dispatched(queue.enqueue(listed(2, hash('old'), { bound: 0 }), T0))).toEqual([callId(2)]);
  });

  it('are not asked where a queue began without it, nor where they make no difference', () => {
    const asked: string[] = [];
    const not = (change: string): boolean => asked.push(change) < 0;
    const { state } = stepQueue(openQueue(T0), came('old', 2), T0, not);
    const first = stepQueue(state, { type: 'enqueue', call: listed(0, hash('old')) }, T0, not);
    expect(dispatched(first.effects)).toEqual([callId(0)]);
    expect(asked).toEqual([]);
    const second = stepQueue(first.state, { type: 'enqueue', call: listed(1, hash('new')) }, T0, not);
    expect(dispatched(second.effects)).toEqual([callId(1)]);
    expect(asked).toEqual(['heeds_lists']);
  });
});

describe('a rival', () => {
  const call = request(0);
  const rival = { ...call, replyTo: 'another', carries: { plan: 'another' } };

  it.each([0, 1])('is turned away, with %i places for the call that is here', (slots) => {
    const queue = new Told();
    if (slots > 0) queue.start('a', slots);
    queue.enqueue(call);
    const before = queue.state;
    expect(queue.enqueue(rival)).toEqual([{ does: 'turn_away', call: rival, code: 'plan_conflict' }]);
    expect(queue.state).toEqual(before);
    expect(stepQueue(before, { type: 'enqueue', call: rival }, T0, () => false)).toEqual({
      state: before,
      effects: [],
    });
  });

  it.each([
    ['whoever asked for it, with another plan', { carries: rival.carries }],
    ['another who means the same plan', { replyTo: 'another' }],
    ['another who gives it other time', { replyTo: 'another', carries: { ...call.carries, execution_ms: 7 } }],
  ])('is not %s', (_who, more) => {
    const queue = new Told();
    queue.enqueue(call);
    expect(queue.enqueue({ ...call, ...more })).toEqual([]);
  });
});

describe('the bound', () => {
  it('turns away the call after the last that it lets wait, and one that would start at once never', () => {
    const queue = new Told();
    queue.start('a', 1);
    expect(dispatched(queue.enqueue(request(0, { bound: 0 })))).toEqual([callId(0)]);
    expect(outcomes(queue.enqueue(request(1, { bound: 0 })))).toEqual([['failed', 'dispatch:capacity_exhausted']]);
    for (const index of [2, 3]) expect(queue.enqueue(request(index, { bound: 2 }))).toEqual([]);
    expect(outcomes(queue.enqueue(request(4, { bound: 2 })))).toEqual([['failed', 'dispatch:capacity_exhausted']]);
    expect(queue.waiting).toHaveLength(2);
  });

  it('is never wider than what goes into one message', () => {
    const queue = new Told();
    for (let index = 0; index < MOST_WAITING; index += 1) queue.enqueue(request(index, { bound: 9_999 }));
    expect(outcomes(queue.enqueue(request(MOST_WAITING, { bound: 9_999 })))).toEqual([
      ['failed', 'dispatch:no_handler'],
    ]);
    expect(queue.state.waiting).toHaveLength(MOST_WAITING);
    expect(JSON.stringify(queueToRecord(queue.state)).length).toBeLessThan(1_000_000);
  });

  it('says no_handler of a full queue that never had a worker', () => {
    const queue = new Told();
    queue.enqueue(request(0, { bound: 1 }));
    expect(outcomes(queue.enqueue(request(1, { bound: 1 })))).toEqual([['failed', 'dispatch:no_handler']]);
  });

  it('is not asked of a call that a lost queue may have let in', () => {
    const queue = new Told(T0);
    queue.enqueue(request(0, { bound: 1, queuedAt: T0 - 5 }));
    const old = { bound: 1, queuedAt: T0, resent: true };
    expect(queue.enqueue(request(1, old))).toEqual([]);
    for (const [index, more] of [
      [2, { ...old, resent: false }],
      [3, { ...old, queuedAt: T0 + 1 }],
    ] as const) {
      expect(outcomes(queue.enqueue(request(index, more)))).toEqual([['failed', 'dispatch:no_handler']]);
    }
  });

  it('never turns away one that comes back', () => {
    const queue = new Told();
    queue.start('a', 1);
    queue.enqueue(request(0, { bound: 1 }));
    queue.enqueue(request(1, { bound: 1 }));
    expect(reports(queue.tell({ type: 'bounced', callId: callId(0) }))).toEqual([]);
    expect(queue.waiting).toEqual([callId(0), callId(1)]);
  });
});

describe('a wait', () => {
  it.each([
    [-1, []],
    [0, [['failed', 'dispatch:no_handler']]],
    [1, [['failed', 'dispatch:no_handler']]],
  ] as const)('%i ms from its end', (off, expected) => {
    const queue = new Told();
    const call = request(0);
    queue.enqueue(call);
    expect(nextWakeAt(queue.state)).toBe(call.deadlineAt);
    expect(outcomes(queue.tell({ type: 'tick' }, call.deadlineAt + off))).toEqual(expected);
  });

  it.each([
    [-1, [callId(0)]],
    [0, []],
  ] as const)('a worker that comes %i ms from its end takes %j', (off, taken) => {
    const queue = new Told();
    const call = request(0);
    queue.enqueue(call);
    expect(dispatched(queue.start('a', 1, call.deadlineAt + off))).toEqual(taken);
  });

  it('is over for a call that comes too late, and says how long is left to the one that is handed out', () => {
    const queue = new Told();
    queue.start('a', 1);
    const [effect] = queue.enqueue(request(0), T0 + 4_000);
    expect(effect).toMatchObject({ does: 'dispatch', startWithinMs: 6_000 });
    const late = request(1);
    expect(outcomes(queue.enqueue(late, late.deadlineAt))).toEqual([['failed', 'dispatch:capacity_exhausted']]);
  });

  it('says capacity_exhausted once a worker has been there, even after it went', () => {
    const queue = new Told();
    queue.start('a', 1);
    queue.tell({ type: 'worker_stopped', identity: 'a', instance: 'a-1' });
    queue.enqueue(request(0));
    expect(outcomes(queue.tell({ type: 'tick' }, T0 + 10_000))).toEqual([['failed', 'dispatch:capacity_exhausted']]);
  });

  it('begins anew after a worker has had the call, and then ends as unknown', () => {
    for (const how of [{ end: 'again' }, { end: 'lost', code: 'dispatch:lease_expired' }] as const) {
      const queue = new Told();
      queue.start('a', 1);
      queue.enqueue(request(0));
      queue.tell({ type: 'worker_stopped', identity: 'a', instance: 'a-1' });
      expect(reports(queue.tell(end(0, how), T0 + 50_000))).toEqual([]);
      expect(reports(queue.tell({ type: 'tick' }, T0 + 59_999))).toEqual([]);
      expect(outcomes(queue.tell({ type: 'tick' }, T0 + 60_000))).toEqual([['unknown', 'dispatch:indeterminate']]);
    }
  });

  it('goes on after a bounce: nobody had the call', () => {
    const queue = new Told();
    queue.start('a', 1);
    queue.enqueue(request(0));
    queue.tell({ type: 'bounced', callId: callId(0) }, T0 + 9_999);
    expect(outcomes(queue.tell({ type: 'tick' }, T0 + 10_000))).toEqual([['failed', 'dispatch:capacity_exhausted']]);
  });
});

describe('what became of a call', () => {
  it('is reported once, with what is known of it', () => {
    const queue = new Told();
    queue.start('a', 1);
    queue.enqueue(request(0));
    const event = { type: 'ended', callId: callId(0), worker: 'w', takenAt: T0 + 5, end: 'settled' } as const;
    expect(reports(queue.tell(event, T0 + 20))).toEqual([
      {
        callId: callId(0),
        runId: request(0).runId,
        request: 1,
        replyTo: 'countersign-session/s1',
        status: 'settled',
        code: null,
        worker: 'w',
        attempts: 1,
        queuedAt: T0,
        dispatchedAt: T0 + 5,
        completedAt: T0 + 20,
      },
    ]);
    expect(queue.tell(event, T0 + 21)).toEqual([]);
    expect(queue.tell({ type: 'bounced', callId: callId(0) })).toEqual([]);
  });

  it('is what the end says; a lost one goes out again until it was lost too often', () => {
    const ends: readonly [DriveEnd, readonly (readonly [string, string | null])[]][] = [
      [{ end: 'settled' }, [['settled', null]]],
      [{ end: 'failed', code: 'no_adapter' }, [['failed', 'no_adapter']]],
      [{ end: 'unknown', code: 'waiting' }, [['unknown', 'waiting']]],
      [{ end: 'again' }, []],
      [{ end: 'lost', code: 'dispatch:lease_expired' }, []],
    ];
    for (const [how, expected] of ends) {
      const queue = new Told();
      queue.start('a', 1);
      queue.enqueue(request(0));
      expect(outcomes(queue.tell(end(0, how)))).toEqual(expected);
    }
    const queue = new Told();
    queue.start('a', 1);
    queue.enqueue(request(0));
    for (let losses = 1; losses <= MOST_LOSSES; losses += 1) {
      const effects = queue.tell(end(0, { end: 'lost', code: 'dispatch:lease_expired' }));
      const over = losses === MOST_LOSSES;
      expect(outcomes(effects)).toEqual(over ? [['unknown', 'dispatch:lease_expired']] : []);
      expect(dispatched(effects)).toEqual(over ? [] : [callId(0)]);
    }
  });

  it('is told again to whoever asks again, and a later request is a new one unless the chain has ended', () => {
    for (const [how, goesOut] of [
      [{ end: 'settled' }, false],
      [{ end: 'failed', code: 'no_adapter' }, true],
      [{ end: 'unknown', code: 'parked' }, true],
    ] as const) {
      const queue = new Told();
      queue.start('a', 1);
      queue.enqueue(request(0));
      queue.tell(end(0, how));
      const again = queue.enqueue(request(0, { resent: true }));
      expect(again).toMatchObject([{ does: 'report', again: true, report: { status: how.end, request: 1 } }]);
      const later = queue.enqueue(request(0, { request: 2, deadlineAt: T0 + 99_000, replyTo: 'elsewhere' }));
      if (goesOut) {
        expect(dispatched(later)).toEqual([callId(0)]);
        queue.tell(end(0, { end: 'settled' }));
        expect(queue.enqueue(request(0, { request: 1 }))).toHaveLength(1);
        expect(queue.state.running).toEqual([]);
      } else {
        expect(later).toMatchObject([{ again: true, report: { status: 'settled', request: 2, replyTo: 'elsewhere' } }]);
      }
    }
  });

  it('of an earlier request that is forgotten starts nothing', () => {
    const queue = new Told();
    queue.start('a', 1);
    queue.enqueue(request(0, { request: 2 }));
    queue.tell(end(0, { end: 'unknown', code: 'parked' }));
    expect(queue.enqueue(request(0, { request: 1 }))).toEqual([]);
    expect(queue.running).toEqual([]);
  });

  it('is remembered of so many', () => {
    const queue = new Told();
    queue.start('a', 1);
    for (let index = 0; index <= REMEMBERED; index += 1) {
      queue.enqueue(request(index));
      queue.settle(index);
    }
    expect(queue.state.left).toHaveLength(REMEMBERED);
    expect(queue.enqueue(request(1))).toHaveLength(1);
    expect(dispatched(queue.enqueue(request(0)))).toEqual([callId(0)]);
  });
});

describe('what a queue may have handed out and does not know any more', () => {
  const late = T0 + 10_000;
  it.each([
    ['sent again to a queue that is younger', { queuedAt: T0 - 1, resent: true }, 'unknown'],
    ['sent again to a queue that is as old', { queuedAt: T0, resent: true }, 'unknown'],
    ['sent again to a queue that would know it', { queuedAt: T0 + 1, resent: true }, 'failed'],
    ['sent for the first time', { queuedAt: T0 - 1, resent: false }, 'failed'],
  ] as const)('%s: %j', (_name, more, status) => {
    const waits = new Told();
    waits.enqueue(request(0, more));
    expect(reports(waits.tell({ type: 'tick' }, late + 1))).toMatchObject([{ status }]);
    const comesLate = new Told();
    comesLate.tell({ type: 'tick' }, late + 1);
    expect(reports(comesLate.enqueue(request(0, more)))).toMatchObject([{ status }]);
  });

  it('is what came before all that is remembered', () => {
    const queue = new Told();
    queue.start('a', 1);
    for (let index = 0; index <= REMEMBERED; index += 1) {
      queue.enqueue(request(index, { queuedAt: T0 + index }), T0 + index);
      queue.settle(index, T0 + index);
    }
    queue.tell({ type: 'worker_stopped', identity: 'a', instance: 'a-1' });
    const forgotten = request(0, { queuedAt: T0, resent: true });
    const never = request(999, { queuedAt: T0 + 5, resent: true });
    for (const call of [forgotten, never]) queue.enqueue(call);
    expect(outcomes(queue.tell({ type: 'tick' }, T0 + 20_000))).toEqual([
      ['unknown', 'dispatch:indeterminate'],
      ['failed', 'dispatch:capacity_exhausted'],
    ]);
  });
});

describe('the same call again', () => {
  it('changes nothing, unless it is a later request, and another plan under its name never does', () => {
    const queue = new Told();
    queue.enqueue(request(0));
    const before = queue.state;
    expect(queue.enqueue(request(0, { resent: true, replyTo: 'a stranger' }))).toEqual([]);
    expect(queue.state).toEqual(before);
    queue.enqueue(request(0, { carries: { plan: 'another' }, replyTo: 'a stranger', request: 9 }));
    queue.enqueue(request(0, { runId: request(1).runId, replyTo: 'a stranger', request: 9 }));
    expect(queue.state).toEqual(before);
    queue.enqueue(request(0, { request: 2, replyTo: 'the carrier', deadlineAt: T0 + 99_000 }));
    expect(queue.state.waiting).toMatchObject([{ request: 2, replyTo: 'the carrier', until: T0 + 10_000 }]);
    queue.enqueue(request(0));
    expect(queue.state.waiting).toMatchObject([{ request: 2, replyTo: 'the carrier' }]);
  });
});

describe('capacity', () => {
  it('is that of the workers that are there', () => {
    const queue = new Told();
    for (let index = 0; index < 9; index += 1) queue.enqueue(request(index));
    expect(dispatched(queue.start('a', 2))).toHaveLength(2);
    expect(dispatched(queue.start('b', 3))).toHaveLength(3);
    // Started again: as many slots as before, and no more.
    expect(dispatched(queue.tell({ type: 'worker_started', worker: worker('b', 3, 'b-2') }))).toEqual([]);
    // The goodbye of the earlier start comes late.
    queue.tell({ type: 'worker_stopped', identity: 'b', instance: 'b-1' });
    expect(capacityOf(queue.state)).toBe(5);
    queue.tell({ type: 'worker_stopped', identity: 'b', instance: 'b-2' });
    expect(capacityOf(queue.state)).toBe(2);
    expect(queue.running).toHaveLength(5);
    for (const index of [0, 1, 2]) expect(dispatched(queue.settle(index))).toEqual([]);
    expect(dispatched(queue.settle(3))).toEqual([callId(5)]);
  });

  it('is what runs, once a call came back untaken: until a worker starts, some are known to be gone, or time has passed', () => {
    const bounced = (): Told => {
      const queue = new Told();
      queue.start('a', 2);
      queue.start('gone', 2);
      for (let index = 0; index < 6; index += 1) queue.enqueue(request(index, { waitMs: 1_000_000 }));
      const effects = queue.tell({ type: 'bounced', callId: callId(3) });
      expect(effects).toEqual([{ does: 'describe' }]);
      expect(capacityOf(queue.state)).toBe(3);
      // The same is asked once.
      expect(queue.tell({ type: 'bounced', callId: callId(2) })).toEqual([]);
      expect(capacityOf(queue.state)).toBe(2);
      return queue;
    };
    expect(dispatched(bounced().start('b', 2))).toEqual([callId(2), callId(3), callId(4), callId(5)]);
    const pruned = bounced();
    expect(dispatched(pruned.tell({ type: 'described', gone: ['gone', 'unheard of'] }))).toEqual([]);
    expect(pruned.state).toMatchObject({ hold: null, asking: false, workers: [{ identity: 'a' }] });
    expect(dispatched(pruned.settle(0))).toEqual([callId(2)]);
    const held = bounced();
    expect(dispatched(held.tell({ type: 'described', gone: [] }))).toEqual([]);
    expect(nextWakeAt(held.state)).toBe(T0 + FIRST_HOLD_MS);
    expect(dispatched(held.tell({ type: 'tick' }, T0 + FIRST_HOLD_MS - 1))).toEqual([]);
    expect(dispatched(held.tell({ type: 'tick' }, T0 + FIRST_HOLD_MS))).toEqual([callId(2), callId(3)]);
  });

  it('holds back twice as long each time that a hold is followed by a bounce, up to a minute', () => {
    const queue = new Told();
    queue.start('a', 1);
    queue.enqueue(request(0, { waitMs: 10_000_000 }));
    const lengths: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      queue.tell({ type: 'bounced', callId: callId(0) });
      const until = queue.state.hold?.until ?? 0;
      lengths.push(until - queue.now);
      queue.tell({ type: 'tick' }, until);
    }
    expect(lengths).toEqual([5_000, 10_000, 20_000, 40_000, LONGEST_HOLD_MS, LONGEST_HOLD_MS]);
  });

  it('holds for a tenth where all who are there were seen, and for as long as before where nobody could say', () => {
    const holds = (seen: { readonly alive?: boolean }): readonly number[] => {
      const queue = new Told();
      queue.start('a', 1);
      queue.enqueue(request(0, { waitMs: 10_000_000 }));
      return Array.from({ length: 6 }, () => {
        queue.tell({ type: 'bounced', callId: callId(0) });
        expect(dispatched(queue.tell({ type: 'described', gone: [], ...seen }))).toEqual([]);
        const until = nextWakeAt(queue.state) ?? 0;
        const length = until - queue.now;
        expect(dispatched(queue.tell({ type: 'tick' }, until - 1))).toEqual([]);
        expect(dispatched(queue.tell({ type: 'tick' }, until))).toEqual([callId(0)]);
        return length;
      });
    };
    expect(holds({ alive: true })).toEqual([1_000, 2_000, 4_000, 6_000, 6_000, 6_000]);
    const asBefore = [5_000, 10_000, 20_000, 40_000, LONGEST_HOLD_MS, LONGEST_HOLD_MS];
    expect(holds({ alive: false })).toEqual(asBefore);
    expect(holds({})).toEqual(asBefore);
  });

  it.each([
    [{ end: 'settled' }, true, 1_000, 10_000, FIRST_HOLD_MS],
    [{ end: 'again' }, true, 1_000, 10_000, FIRST_HOLD_MS],
    [{ end: 'failed', code: 'expired' }, true, 1_000, 10_000, FIRST_HOLD_MS],
    [{ end: 'settled' }, false, FIRST_HOLD_MS, 10_000, 10_000],
    [{ end: 'lost', code: 'dispatch:lease_expired' }, true, FIRST_HOLD_MS, 10_000, 10_000],
  ] as const)('holds on after a call that was done: %j, alive %j, for %d ms', (how, alive, length, next, after) => {
    const queue = new Told();
    queue.start('a', 2);
    for (let index = 0; index < 4; index += 1) queue.enqueue(request(index, { waitMs: 1_000_000 }));
    queue.tell({ type: 'bounced', callId: callId(1) });
    queue.tell({ ...end(0, how), alive } as QueueEvent);
    // One was running beside it when it came back: one may run, and no more until the hold is over.
    expect([queue.running.length, queue.state.hold]).toEqual([1, { limit: 1, until: queue.now + length }]);
    expect(queue.state.holdMs).toBe(next);
    queue.tell({ type: 'tick' }, queue.state.hold?.until);
    expect(queue.running).toHaveLength(2);
    // Done once the hold is over, it is the end of the trouble.
    const [first] = queue.running;
    queue.tell({ ...end(Number(first?.split(':').at(-1)), how), alive } as QueueEvent);
    expect(queue.state.holdMs).toBe(after);
  });

  it('asks who is there when a call was lost', () => {
    const queue = new Told();
    queue.start('a', 1);
    queue.enqueue(request(0));
    const effects = queue.tell(end(0, { end: 'lost', code: 'dispatch:lease_expired' }));
    expect(effects.map(({ does }) => does)).toEqual(['describe', 'dispatch']);
  });
});

describe('a call that is not wanted any more', () => {
  const withdraw = { type: 'withdraw', callId: callId(0), replyTo: request(0).replyTo } as const;

  it('leaves at once while it waits, and never goes out when the word came first', () => {
    const queue = new Told();
    queue.enqueue(request(0));
    expect(outcomes(queue.tell(withdraw))).toEqual([['failed', 'dispatch:withdrawn']]);
    expect(dispatched(queue.start('a'))).toEqual([]);
    expect(dispatched(queue.enqueue(request(0, { request: 2 })))).toEqual([]);
    const early = new Told();
    early.start('a');
    early.tell(withdraw);
    expect(outcomes(early.enqueue(request(0)))).toEqual([['failed', 'dispatch:withdrawn']]);
  });

  it('is left to finish while it runs, and does not come back', () => {
    for (const [how, expected] of [
      [end(0, { end: 'settled' }), ['settled', null]],
      [{ type: 'bounced', callId: callId(0) } as const, ['failed', 'dispatch:withdrawn']],
      [end(0, { end: 'again' }), ['unknown', 'dispatch:indeterminate']],
      [end(0, { end: 'lost', code: 'dispatch:lease_expired' }), ['unknown', 'dispatch:lease_expired']],
    ] as const) {
      const queue = new Told();
      queue.start('a', 1);
      queue.enqueue(request(0));
      expect(queue.tell(withdraw)).toEqual([]);
      const effects = queue.tell(how);
      expect(outcomes(effects)).toEqual([expected]);
      expect(dispatched(effects)).toEqual([]);
    }
  });

  it('is reported as unknown where a worker has had it', () => {
    const queue = new Told();
    queue.start('a', 1);
    queue.enqueue(request(0));
    queue.tell({ type: 'worker_stopped', identity: 'a', instance: 'a-1' });
    queue.tell(end(0, { end: 'again' }));
    expect(outcomes(queue.tell(withdraw))).toEqual([['unknown', 'dispatch:indeterminate']]);
    // Untaken after it had been taken once.
    const back = new Told();
    back.start('a', 1);
    back.enqueue(request(0));
    back.tell(end(0, { end: 'again' }));
    back.tell(withdraw);
    expect(outcomes(back.tell({ type: 'bounced', callId: callId(0) }))).toEqual([
      ['unknown', 'dispatch:indeterminate'],
    ]);
  });

  it('is withdrawn by its own caller only', () => {
    const queue = new Told();
    queue.enqueue(request(0));
    expect(queue.tell({ ...withdraw, replyTo: 'a stranger' })).toEqual([]);
    expect(dispatched(queue.start('a'))).toEqual([callId(0)]);
  });
});

describe('a new run', () => {
  const busy = (): Told => {
    const queue = new Told();
    queue.start('a', 1);
    for (const index of [0, 1, 2]) queue.enqueue(request(index, { waitMs: 100_000 }));
    queue.tell({ type: 'withdraw', callId: callId(7), replyTo: 'x' });
    queue.tell(end(0, { end: 'again' }), T0 + 5);
    queue.tell({ type: 'drain' });
    queue.tell({ type: 'bounced', callId: callId(0) });
    queue.enqueue(request(3), T0 + 6);
    return queue;
  };

  it('is begun when nothing runs, and a drain hands out nothing until then', () => {
    const queue = new Told();
    queue.start('a', 2);
    for (const index of [0, 1, 2]) queue.enqueue(request(index));
    expect(() => queueToRecord(queue.state)).toThrow('while nothing runs');
    queue.tell({ type: 'drain' });
    expect(dispatched([...queue.settle(0), ...queue.settle(1)])).toEqual([]);
    const next = queueFromRecord(JSON.parse(JSON.stringify(queueToRecord(queue.state))));
    expect(dispatched(stepQueue(next, { type: 'tick' }, T0).effects)).toEqual([callId(2)]);
  });

  it('knows all that the one before knew', () => {
    const { state } = busy();
    expect(state).toMatchObject({ asking: true, draining: true, hold: { limit: 0 } });
    const next = queueFromRecord(JSON.parse(JSON.stringify(queueToRecord(state))));
    expect(next).toEqual({ ...state, asking: false, draining: false });
    expect(queueToRecord(next)).toEqual(queueToRecord(state));
    expect(queueFromRecord(queueToRecord(openQueue(T0)))).toEqual(openQueue(T0));
  });

  it('takes no state that is out of order, or says more or less than one', () => {
    const record = JSON.parse(JSON.stringify(queueToRecord(busy().state))) as Record<string, unknown[]>;
    const swapped = { ...record, waiting: [...(record['waiting'] ?? [])].reverse() };
    const doubled = { ...record, waiting: [record['waiting']?.[0], record['waiting']?.[0]] };
    for (const wrong of [swapped, doubled]) expect(() => queueFromRecord(wrong)).toThrow('in the order');
    for (const wrong of [{ ...record, more: 1 }, { ...record, left: undefined }, null, [], { ...record, hold: 5 }]) {
      expect(() => queueFromRecord(wrong)).toThrow('invalid_record');
    }
  });
});
