/**
 * The queue under any messages in any order, as often as they come.
 *
 * Held here, at every step:
 * - nothing is handed out beyond what the workers have room for, or past an older call, or twice at once, or after it was withdrawn;
 * - nothing that could be handed out waits, and no wait outlives its end;
 * - every call that was let in is waiting, running or reported; each request has one report, and that one for ever;
 * - those that wait and never came back are no more than the bound;
 * - what a worker may have had is never reported as not dispatched, also by a queue that was lost and is built anew;
 * - the state is plain JSON, and goes through a new run unchanged;
 * - in the end, when workers take all there is, every request has its report.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stepQueue } from '../../../src/rules/invocations/queue';
import { queueFromRecord, queueToRecord } from '../../../src/rules/invocations/queue-snapshot';
import {
  capacityOf,
  compareCalls,
  openQueue,
  type DriveEnd,
  type QueueEffect,
  type QueueEvent,
  type QueueReport,
  type QueueRequest,
  type QueueState,
} from '../../../src/rules/invocations/queue-state';
import { T0, request, worker } from './support';

const RUNS = Number(process.env['MODEL_RUNS'] ?? 400);
const BOUND = 4;
const WORKERS = ['a', 'b', 'c'];
const UNSENT = ['dispatch:no_handler', 'dispatch:capacity_exhausted', 'dispatch:withdrawn'];

type Word =
  | { readonly say: 'enqueue'; readonly call: number; readonly ago: number; readonly resent: boolean }
  | { readonly say: 'repeat' | 'again' | 'withdraw'; readonly pick: number }
  | { readonly say: 'start' | 'stop'; readonly who: number; readonly slots: number; readonly life: number }
  | { readonly say: 'end'; readonly pick: number; readonly how: DriveEnd; readonly alive?: boolean }
  | { readonly say: 'bounce' | 'stale'; readonly pick: number }
  | { readonly say: 'described'; readonly who: number; readonly alive: boolean }
  | { readonly say: 'renew' | 'drain' | 'tick' | 'lose' }
  | { readonly say: 'pass'; readonly ms: number };

const nat = fc.nat(11);
const ENDS = fc.constantFrom<DriveEnd>(
  { end: 'settled' },
  { end: 'settled' },
  { end: 'failed', code: 'no_adapter' },
  { end: 'again' },
  { end: 'lost', code: 'dispatch:lease_expired' },
  { end: 'unknown', code: 'parked' },
);
const WORDS: fc.Arbitrary<Word> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ say: fc.constant('enqueue' as const), call: nat, ago: fc.nat(3), resent: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ say: fc.constantFrom('repeat' as const, 'again' as const), pick: nat }) },
  { weight: 1, arbitrary: fc.record({ say: fc.constant('withdraw' as const), pick: nat }) },
  {
    weight: 3,
    arbitrary: fc.record({
      say: fc.constantFrom('start' as const, 'start' as const, 'stop' as const),
      who: fc.nat(2),
      slots: fc.integer({ min: 1, max: 2 }),
      life: fc.nat(1),
    }),
  },
  { weight: 5, arbitrary: fc.record({ say: fc.constant('end' as const), pick: nat, how: ENDS, alive: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ say: fc.constantFrom('bounce' as const, 'stale' as const), pick: nat }) },
  { weight: 1, arbitrary: fc.record({ say: fc.constant('described' as const), who: fc.nat(3), alive: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      say: fc.constantFrom('renew' as const, 'drain' as const, 'tick' as const, 'lose' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ say: fc.constant('pass' as const), ms: fc.constantFrom(1, 500, 4_000, 9_999, 10_000) }),
  },
);

/** What the world outside of the queue has said and heard. */
class World {
  state: QueueState = openQueue(T0);
  now = T0;
  /** The last request of each call. */
  readonly asked = new Map<string, QueueRequest>();
  readonly reported = new Map<string, QueueReport>();
  private readonly withdrawn = new Set<string>();
  private readonly cameOut = new Set<string>();
  private rebuilding = false;
  /** Those that went out and did not come back untaken. */
  private readonly had = new Set<string>();

  say(word: Word): void {
    const picked = [...this.asked.values()][('pick' in word ? word.pick : 0) % Math.max(1, this.asked.size)];
    const running = this.state.running[('pick' in word ? word.pick : 0) % Math.max(1, this.state.running.length)];
    switch (word.say) {
      case 'enqueue': {
        const call = request(word.call, { queuedAt: this.now - word.ago, resent: word.resent, bound: BOUND });
        if (!this.asked.has(call.callId)) this.enqueue(call);
        return;
      }
      case 'repeat':
        if (picked === undefined || this.isHeardAndLost(picked)) return;
        return this.enqueue({ ...picked, resent: true });
      case 'again': {
        // Its caller has heard how it ended, and wants it once more.
        const heard = picked === undefined ? undefined : this.reported.get(nameOf(picked));
        if (picked === undefined || heard === undefined) return;
        this.enqueue({ ...picked, request: picked.request + 1, deadlineAt: this.now + picked.waitMs, resent: false });
        return;
      }
      case 'withdraw':
        if (picked === undefined) return;
        this.tell({ type: 'withdraw', callId: picked.callId, replyTo: picked.replyTo });
        this.withdrawn.add(picked.callId);
        return;
      case 'start': {
        const name = WORKERS[word.who] as string;
        return this.tell({ type: 'worker_started', worker: worker(name, word.slots, `${name}-${word.life}`) });
      }
      case 'stop': {
        const name = WORKERS[word.who] as string;
        return this.tell({ type: 'worker_stopped', identity: name, instance: `${name}-${word.life}` });
      }
      case 'end':
        if (running === undefined) return;
        return this.tell({
          ...{ type: 'ended', callId: running.callId, worker: 'w', takenAt: this.now, alive: word.alive ?? false },
          ...word.how,
        });
      case 'bounce':
        if (running === undefined) return;
        if (running.attempts === 0) this.had.delete(nameOf(running));
        return this.tell({ type: 'bounced', callId: running.callId });
      case 'stale':
        if (picked === undefined || this.state.running.some(({ callId }) => callId === picked.callId)) return;
        return this.tell({ type: 'ended', callId: picked.callId, worker: 'w', takenAt: this.now, end: 'settled' });
      case 'described':
        // The one beside them all is of nobody: all are here.
        return this.tell({ type: 'described', gone: WORKERS.slice(word.who, word.who + 1), alive: word.alive });
      case 'renew': {
        if (this.state.running.length > 0) return;
        const { state } = this;
        this.state = queueFromRecord(JSON.parse(JSON.stringify(queueToRecord(state))));
        expect(this.state).toEqual({ ...state, asking: false, draining: false });
        return this.tell({ type: 'tick' });
      }
      case 'lose':
        return this.lose();
      case 'drain':
        return this.tell({ type: 'drain' });
      case 'tick':
        return this.tell({ type: 'tick' });
      case 'pass':
        this.now += word.ms;
        return this.tell({ type: 'tick' });
    }
  }

  /** Nobody asks again for what a queue that is lost has answered already. */
  private isHeardAndLost(call: QueueRequest): boolean {
    return this.reported.has(nameOf(call)) && !this.state.left.some(({ callId }) => callId === call.callId);
  }

  /** The queue is gone, and what ran goes on without it; whoever waits for a call asks again. */
  private lose(): void {
    this.now += 1;
    this.state = openQueue(this.now);
    this.rebuilding = true;
    for (const call of this.asked.values()) {
      if (!this.reported.has(nameOf(call))) this.enqueue({ ...call, resent: true });
    }
    this.rebuilding = false;
    // Those who wanted it called off say so again.
    for (const call of this.asked.values()) {
      if (this.withdrawn.has(call.callId)) this.tell({ type: 'withdraw', callId: call.callId, replyTo: call.replyTo });
    }
  }

  enqueue(call: QueueRequest): void {
    this.asked.set(call.callId, call);
    this.tell({ type: 'enqueue', call });
    const once = this.state;
    const { state, effects } = stepQueue(once, { type: 'enqueue', call }, this.now);
    expect(state).toEqual(once);
    expect(effects.every((effect) => effect.does === 'report' && effect.again)).toBe(true);
  }

  tell(event: QueueEvent): void {
    const before = this.state;
    const { state, effects } = stepQueue(before, event, this.now);
    this.state = state;
    this.checkHold(event, before);
    for (const effect of effects) this.hear(effect, event, before);
    this.check();
  }

  private hear(effect: QueueEffect, event: QueueEvent, before: QueueState): void {
    if (effect.does === 'dispatch') {
      const { callId } = effect.call;
      expect(effect.startWithinMs).toBeGreaterThan(0);
      expect(this.withdrawn.has(callId)).toBe(false);
      // Only what has just come back may go out while it was out.
      const cameBack = (event.type === 'ended' || event.type === 'bounced') && event.callId === callId;
      expect(cameBack || !before.running.some((one) => one.callId === callId)).toBe(true);
      expect(this.state.running.length).toBeLessThanOrEqual(capacityOf(this.state));
      expect(this.state.waiting.every((other) => compareCalls(effect.call, other) < 0)).toBe(true);
      this.cameOut.add(nameOf(effect.call));
      this.had.add(nameOf(effect.call));
    }
    if (effect.does !== 'report') return;
    const { report, again } = effect;
    const known = this.reported.get(nameOf(report));
    if (again) expect(known?.status ?? 'settled').toBe(report.status);
    else expect(known).toBeUndefined();
    if (UNSENT.includes(report.code ?? '')) {
      expect(report).toMatchObject({ status: 'failed', attempts: 0 });
      expect(this.had.has(nameOf(report))).toBe(false);
    }
    this.reported.set(nameOf(report), known ?? report);
  }

  /** Whatever is known of the workers: nobody's place is counted twice, and only a bounce makes a hold, longer or narrower. */
  private checkHold(event: QueueEvent, { hold: earlier }: QueueState): void {
    const { hold, workers } = this.state;
    expect(capacityOf(this.state)).toBeLessThanOrEqual(workers.reduce((sum, { slots }) => sum + slots, 0));
    if (hold === null || event.type === 'bounced') return;
    expect(earlier?.limit).toBe(hold.limit);
    expect(earlier?.until).toBeGreaterThanOrEqual(hold.until);
  }

  private check(): void {
    const { state, now } = this;
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
    const inside = [...state.waiting, ...state.running].map(({ callId }) => callId);
    expect(new Set(inside).size).toBe(inside.length);
    for (const [index, call] of state.waiting.entries()) {
      expect(call.until).toBeGreaterThan(now);
      const last = state.waiting[index - 1];
      if (last !== undefined) expect(compareCalls(last, call)).toBeLessThan(0);
    }
    if (state.waiting.length > 0 && !state.draining) {
      expect(state.running.length).toBeGreaterThanOrEqual(capacityOf(state));
    }
    const fresh = state.waiting.filter(
      (call) => !call.resent && !this.cameOut.has(nameOf(call)) && call.attempts === 0,
    );
    expect(fresh.length).toBeLessThanOrEqual(BOUND);
    for (const call of this.rebuilding ? [] : this.asked.values()) {
      expect(inside.includes(call.callId) || this.reported.has(nameOf(call))).toBe(true);
    }
  }

  /** Workers take all there is. */
  finish(): void {
    if (this.state.draining) {
      while (this.state.running.length > 0) this.say({ say: 'end', pick: 0, how: { end: 'settled' } });
      this.say({ say: 'renew' });
    }
    this.tell({ type: 'worker_started', worker: worker('last', 100) });
    while (this.state.running.length > 0) this.say({ say: 'end', pick: 0, how: { end: 'settled' } });
    expect(this.state.waiting).toEqual([]);
    for (const call of this.asked.values()) expect(this.reported.has(nameOf(call))).toBe(true);
  }
}

const nameOf = ({ callId, request: number }: { callId: string; request: number }): string => `${callId} ${number}`;

it('loses and doubles nothing, and keeps order, bound and room', { timeout: 600_000 }, () => {
  fc.assert(
    fc.property(fc.array(WORDS, { minLength: 1, maxLength: 80 }), (words) => {
      const world = new World();
      for (const word of words) world.say(word);
      world.finish();
    }),
    { numRuns: RUNS, seed: 11 },
  );
});

it('is the same queue however the messages of a moment are shuffled and repeated', () => {
  const calls = Array.from({ length: 8 }, (_, index) =>
    request(index, { queuedAt: T0 - (index % 3), session: `s${index % 2}` }),
  );
  const all = [...calls, ...calls];
  fc.assert(
    fc.property(fc.shuffledSubarray([...all.keys()], { minLength: all.length }), (order) => {
      let state = openQueue(T0);
      for (const place of order) {
        state = stepQueue(state, { type: 'enqueue', call: all[place] as QueueRequest }, T0).state;
      }
      const step = stepQueue(state, { type: 'worker_started', worker: worker('a', 100) }, T0);
      expect(step.effects.map((effect) => (effect.does === 'dispatch' ? effect.call.callId : effect.does))).toEqual(
        [...calls].sort(compareCalls).map(({ callId }) => callId),
      );
    }),
    { numRuns: 200, seed: 12 },
  );
});
