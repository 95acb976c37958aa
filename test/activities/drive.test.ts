/**
 * What `drive` does with each thing that a sink, a person or a worker may say, on stores in memory.
 *
 * Held here:
 * - approval asked for by plan, tool or worker: parked, nothing sent; cancel works all the same;
 * - a refusal ends the plan, later effects are not sent, and it is found again when its sender did not live to say so;
 * - not sent is asked again when the sink says so; in flight is waited for; unknown is bounded by attempts, then a person;
 * - a plan that is ended never calls an effect not sent that may still land;
 * - independent effects go side by side, no more than the sink takes, and none is started after the first failure;
 * - what a sink gave back for an effect that it was seen to hold is written, whatever becomes of the slot that it was to go with;
 * - intervals, the longest drive and a worker that must stop are kept; malformed answers of adapters say nothing.
 */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ApprovalPolicy, Engine } from '../../src/activities/engine';
import { Journal } from '../../src/activities/journal';
import { StoreError, type DispatchOutcome, type EffectSink, type SinkAnswer, type Store } from '../../src/ports';
import { Registry } from '../../src/activities/registry';
import { Bench, TOOL } from './support';

const ABSENT: SinkAnswer = { state: 'absent' };
const phase = async (bench: Bench): Promise<string | undefined> =>
  (await new Journal(bench.store).chain(bench.plan.runId, 1)).at(-1)?.phase;
const sentIndexes = (bench: Bench): unknown[] => bench.told.sent.map((item) => item.operation);

describe('an approval', () => {
  const ASKED_BY: Record<string, () => [Bench, Engine]> = {
    'the plan': () => {
      const bench = new Bench([{}, { approvalRequired: true }]);
      return [bench, bench.engine()];
    },
    'the tool': () => {
      const bench = new Bench([{}, {}]);
      return [bench, bench.engine({ approvalRequired: true })];
    },
    "the worker's policy": () => {
      const bench = new Bench([{}, { operation: { amount: 900 } }]);
      const policy: ApprovalPolicy = (_tool, operation) =>
        (operation as { amount?: number }).amount === 900 ? { approvals: 1 } : null;
      return [bench, bench.engine({}, { policy })];
    },
  };
  it.each(Object.keys(ASKED_BY))('asked for by %s parks the plan before anything is sent', async (name) => {
    const [bench, engine] = (ASKED_BY[name] as () => [Bench, Engine])();
    expect(await bench.carry(engine)).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    expect(bench.told.sent).toEqual([]);
    expect(await bench.drive(engine, { intent: 'cancel' })).toMatchObject({ status: 'done' });
    expect([await phase(bench), bench.told.sent.length]).toEqual(['aborted', 0]);
  });
});

describe('a refusal', () => {
  const refused: DispatchOutcome = { outcome: 'refused', code: 'out_of_stock' };

  it('ends the plan; what stands behind it is not sent', async () => {
    const bench = new Bench([{}, {}, {}]);
    bench.told.outcomes.push({ outcome: 'accepted', externalId: 'a' }, refused);
    const result = await bench.carry();
    expect(result).toMatchObject({ status: 'done' });
    expect(result.steps.at(-1)).toMatchObject({ step: 'refused', refusal: { ordinal: 1, code: 'out_of_stock' } });
    expect([await phase(bench), sentIndexes(bench)]).toEqual(['aborted', [{ index: 0 }, { index: 1 }]]);
  });

  it('is still one when its sender died behind the end record', async () => {
    const bench = new Bench([{}, {}]);
    bench.told.outcomes.push(refused);
    const dying = bench.engine(
      {},
      { at: (point) => (point === 'ended' ? Promise.reject(new Error('killed')) : undefined) },
    );
    await expect(bench.drive(dying)).rejects.toThrow('killed');
    expect(await bench.carry()).toMatchObject({ status: 'done' });
    expect([await phase(bench), bench.told.sent.length]).toEqual(['aborted', 1]);
  });

  it('is not the last word while an earlier send of the same effect may still land', async () => {
    const bench = new Bench();
    const engine = bench.engine({ sink: bench.told.sink({ enforcesKey: 'always' }) });
    // The first request is on its way, unseen; the second one is refused; then the first one lands.
    bench.told.outcomes.push('throw', refused);
    const first = await bench.drive(engine);
    expect(first).toMatchObject({ status: 'waiting' });
    const second = await bench.drive(engine, { epoch: first.epoch });
    expect(second).toMatchObject({ status: 'waiting', pending: [[0, 1]] });
    const [item] = bench.told.sent;
    const operationDigest = item?.operationDigest ?? '';
    bench.told.held.set(item?.idempotencyKey ?? '', { state: 'committed', operationDigest, externalId: 'late' });
    expect(await bench.carry(engine)).toMatchObject({ status: 'done' });
    expect(await phase(bench)).toBe('completed');
  });
});

describe('a sink that', () => {
  it('is busy is asked again when it says so, without using up an attempt', async () => {
    const bench = new Bench();
    const busy = Array.from({ length: 5 }, () => ({ outcome: 'not_sent', retryAfterMs: 7_000 }) as const);
    bench.told.outcomes.push(...busy);
    expect(await bench.drive()).not.toHaveProperty('message');
    expect(await bench.drive()).toMatchObject({ status: 'waiting', ms: 7_000, pending: [] });
    expect(await bench.carry()).toMatchObject({ status: 'done' });
    expect([await phase(bench), bench.told.sent.length]).toEqual(['completed', 6]);
  });

  it('was long busy still has its whole time to answer a look-up', async () => {
    const bench = new Bench();
    bench.told.outcomes.push({ outcome: 'not_sent', retryAfterMs: 60_000 });
    const first = await bench.drive();
    bench.clockMs += 60_000;
    // What the workflow credits is what `pending` says: for being busy, nothing.
    bench.told.answers.push('throw', 'throw', 'throw');
    const { epoch, head, journal_id } = first;
    const next = await bench.drive(bench.engine(), { epoch, expected_head: head, journal_id });
    expect(next).toMatchObject({ status: 'waiting', pending: [[0, 0]] });
  });

  it('is still working on it is waited for, and then has done it', async () => {
    const bench = new Bench();
    bench.told.answers.push({ state: 'in_flight', retryAfterMs: 1_500 });
    expect(await bench.drive()).toMatchObject({ status: 'waiting', ms: 1_500 });
    expect(await bench.carry()).toMatchObject({ status: 'done' });
    expect(bench.told.sent).toHaveLength(1);
  });

  it('never tells is sent to as often as its tool allows, then a person is asked', async () => {
    const bench = new Bench();
    bench.told.outcomes.push('throw', 'throw', 'throw', 'throw');
    const result = await bench.carry(bench.engine({ maxAttempts: 3 }));
    expect(result).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
    expect(result.steps.at(-1)).toMatchObject({ observations: [{ state: 'ambiguous', doubt: 'attempts_exhausted' }] });
    expect(bench.told.sent).toHaveLength(3);
  });

  it('can neither be asked nor enforces keys leaves a lost reply to a person', async () => {
    const bench = new Bench();
    bench.told.outcomes.push('throw');
    const result = await bench.carry(bench.engine({ sink: bench.told.sink({ lookup: 'none' }) }));
    expect(result).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
    expect(bench.told.sent).toHaveLength(1);
  });

  it.each(['always', 'no'] as const)(
    'has lost what it had shown is not sent to again, whether it enforces keys (%s) or not: a person is asked',
    async (enforcesKey) => {
      const bench = new Bench();
      let shown = 0;
      const observe: EffectSink['observe'] = (items) => {
        const { sent, held } = bench.told;
        if (sent.length > 0) shown += 1;
        return Promise.resolve(items.map(({ idempotencyKey: key }) => (shown === 1 && held.get(key)) || ABSENT));
      };
      const result = await bench.carry(bench.engine({ sink: bench.told.sink({ enforcesKey, observe }) }));
      expect(result).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
      expect(result.steps.at(-1)).toMatchObject({ observations: [{ doubt: 'acked_but_absent' }] });
      expect(bench.told.sent).toHaveLength(1);
    },
  );

  it('holds another operation under the key is left to a person', async () => {
    const bench = new Bench();
    const other: SinkAnswer = { state: 'committed', operationDigest: `sha256:${'0'.repeat(64)}`, externalId: null };
    bench.told.answers.push(other);
    expect(await bench.carry()).toMatchObject({ status: 'parked', reason: 'effect_mismatch' });
    expect(bench.told.sent).toEqual([]);
  });

  it.each<[string, unknown]>([
    [
      'a result that JSON cannot carry',
      { outcome: 'accepted', externalId: 'a', result: { at: new Date(0), no: undefined } },
    ],
    ['no result', { outcome: 'accepted', externalId: null }],
  ])('accepts with %s has done it', async (_what, outcome) => {
    const bench = new Bench();
    bench.told.outcomes.push(outcome as DispatchOutcome);
    expect(await bench.carry()).toMatchObject({ status: 'done' });
    expect([await phase(bench), bench.told.sent.length]).toEqual(['completed', 1]);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['an unknown outcome', { outcome: 'perhaps' }],
    ['an id that is no text', { outcome: 'accepted', externalId: 7 }],
    ['a wait that is no time', { outcome: 'not_sent', retryAfterMs: NaN }],
  ])('answers a send with %s has said nothing', async (_what, outcome) => {
    const bench = new Bench();
    const dispatch: EffectSink['dispatch'] = (item) => {
      bench.told.sent.push(item);
      return Promise.resolve(outcome as DispatchOutcome);
    };
    expect(await bench.drive(bench.engine({ sink: bench.told.sink({ dispatch }) }))).toMatchObject({
      status: 'waiting',
      ms: 3_000,
      pending: [[0, 1]],
    });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['an unknown state', { state: 'perhaps' }],
    ['a commit without a digest', { state: 'committed', externalId: 'a' }],
    ['a wait that is no time', { state: 'in_flight', retryAfterMs: NaN }],
    ['a wait before now', { state: 'in_flight', retryAfterMs: -5 }],
  ])('answers a look-up with %s is asked again', async (_what, answer) => {
    const bench = new Bench();
    const observe: EffectSink['observe'] = (items) => Promise.resolve(items.map(() => answer as SinkAnswer));
    const result = await bench.drive(bench.engine({ sink: bench.told.sink({ observe }) }));
    expect(result).toMatchObject({ status: 'waiting', ms: 1_000 });
    expect(bench.told.sent).toEqual([]);
  });
});

describe('cancelling', () => {
  it('sends nothing more and says what is done and what is not', async () => {
    const bench = new Bench([{}, {}]);
    bench.told.outcomes.push({ outcome: 'accepted', externalId: 'a' }, { outcome: 'not_sent' });
    const { epoch } = await bench.drive();
    const result = await bench.drive(bench.engine(), { intent: 'cancel', epoch });
    expect(result.steps.at(-1)).toMatchObject({
      step: 'cancelled',
      observations: [{ state: 'committed' }, { state: 'absent' }],
    });
    expect([await phase(bench), bench.told.sent.length]).toEqual(['aborted', 2]);
    expect(await bench.drive()).toMatchObject({ status: 'done', replayed: true });
  });

  it.each(['always', 'no'] as const)(
    'waits for a send that may still land (keys enforced: %s)',
    async (enforcesKey) => {
      const bench = new Bench();
      const engine = bench.engine({ sink: bench.told.sink({ enforcesKey }) });
      bench.told.outcomes.push('throw');
      const { epoch } = await bench.drive(engine);
      const waiting = await bench.drive(engine, { intent: 'cancel', epoch });
      expect(waiting).toMatchObject({ status: 'waiting', ms: 3_000, pending: [[0, 1]] });
      const waited = [[0, 1, 3_000]] as const;
      const result = await bench.drive(engine, { intent: 'cancel', epoch: waiting.epoch, waited });
      expect(result.steps.at(-1)).toMatchObject({ observations: [{ state: 'absent', proof: 'looked_up' }] });
    },
  );

  it('calls unknown what nobody can tell', async () => {
    const bench = new Bench();
    const engine = bench.engine({ sink: bench.told.sink({ enforcesKey: 'always', lookup: 'none' }) });
    bench.told.outcomes.push('throw');
    const { epoch } = await bench.drive(engine);
    const result = await bench.drive(engine, { intent: 'cancel', epoch, waited: [[0, 1, 3_000]] });
    expect(result.steps.at(-1)).toMatchObject({ observations: [{ state: 'ambiguous', doubt: 'outcome_unknown' }] });
  });
});

describe('independent effects', () => {
  it('go side by side, no more at once than the sink takes', async () => {
    for (const maxInFlight of [1, 3]) {
      const bench = new Bench(
        Array.from({ length: 8 }, () => ({})),
        'independent',
      );
      const engine = bench.engine({ sink: bench.told.sink({ maxInFlight }) });
      expect(await bench.carry(engine)).toMatchObject({ status: 'done' });
      expect([bench.told.mostAtOnce, bench.told.sent.length]).toEqual([maxInFlight, 8]);
    }
  });

  it('are not started any more after the first that failed', async () => {
    const bench = new Bench(
      Array.from({ length: 9 }, () => ({})),
      'independent',
    );
    bench.told.outcomes.push({ outcome: 'refused', code: 'no' });
    await bench.carry(bench.engine({ sink: bench.told.sink({ maxInFlight: 2 }) }));
    expect(await phase(bench)).toBe('aborted');
    expect(bench.told.sent.length).toBeLessThanOrEqual(3);
  });
});

describe('the end of a send that was seen in the sink', () => {
  const ends = (bench: Bench): number => [...bench.store.entries.keys()].filter((name) => name.endsWith('.end')).length;
  /** Does something once, right before the slot of the second effect is created. */
  const beforeSecondSlot = (bench: Bench, act: (path: string) => void): void => {
    const create = bench.store.create.bind(bench.store);
    let slots = 0;
    bench.store.create = async (entry, bytes) => {
      if (entry.endsWith('/0001') && (slots += 1) === 2) act(entry);
      return create(entry, bytes);
    };
  };

  it('goes with the next slot, and before it', async () => {
    const bench = new Bench([{}, {}, {}]);
    for (const externalId of ['a', 'b', 'c']) bench.told.outcomes.push({ outcome: 'accepted', externalId });
    expect(await bench.drive()).toMatchObject({ status: 'done' });
    const order = [...bench.store.entries.keys()].filter((name) => name.includes('/sends/'));
    const names = order.map((name) => path.basename(name));
    expect(names).toEqual(['0001', '0001.end', '0001', '0001.end', '0001', '0001.end']);
    expect(new Set(order.map((name) => path.dirname(name))).size).toBe(3);
  });

  it.each<[string, (bench: Bench) => void, object]>([
    [
      'is taken by another',
      (bench) =>
        beforeSecondSlot(bench, (slot) => {
          const ours = JSON.parse(Buffer.from(bench.store.entries.get(bench.path('/0001'))!).toString()) as object;
          const theirs = JSON.stringify({ ...ours, owner: `own_${'0'.repeat(32)}` });
          bench.store.put(slot, Buffer.from(theirs));
        }),
      { status: 'stopped' },
    ],
    [
      'cannot be written',
      (bench) =>
        beforeSecondSlot(bench, () => {
          throw new StoreError('store_full', 'no space for it');
        }),
      { code: 'store_full' },
    ],
    ['is not to be taken, for the turn is lost', (bench) => loseTurnAfterFirst(bench), { status: 'fenced' }],
  ])('is written when that slot %s', async (_what, hinder, answer) => {
    const bench = new Bench([{}, {}]);
    hinder(bench);
    const told = await bench.drive().catch((fault: unknown) => fault);
    expect(told).toMatchObject(answer);
    expect([bench.told.sent.length, ends(bench)]).toEqual([1, 1]);
  });
});

/** As if another driver took the next epoch while the first send was under way. */
function loseTurnAfterFirst(bench: Bench): void {
  const read = bench.store.read.bind(bench.store);
  bench.store.read = (path) =>
    bench.told.sent.length === 1 && path.endsWith('epochs/000002') ? read(bench.path('epochs/000001')) : read(path);
}

describe('the worker', () => {
  it('keeps the least time between two sends', async () => {
    const bench = new Bench([{}, {}, {}]);
    await bench.carry(bench.engine({ sink: bench.told.sink({ minIntervalMs: 400 }) }));
    expect(bench.slept).toEqual([400, 400]);
  });

  it('comes back after its longest time, and when it must stop, with the effect in hand finished', async () => {
    const bench = new Bench([{}, {}, {}]);
    const stopping = (): boolean => bench.told.sent.length === 1;
    expect(await bench.drive(bench.engine(), {}, { stopping })).toMatchObject({ status: 'stopped' });
    expect([...bench.told.held.keys()]).toHaveLength(1);
    const slow = new Bench([{}, {}, {}]);
    const sink = slow.told.sink();
    const dispatch: EffectSink['dispatch'] = (item, context) => {
      slow.clockMs += 11 * 60_000;
      return sink.dispatch(item, context);
    };
    const engine = slow.engine({ sink: { ...sink, deadlineMs: 3_600_000, dispatch } });
    expect(await slow.drive(engine)).toMatchObject({ status: 'stopped' });
    expect(slow.told.sent).toHaveLength(1);
  });

  it('does not send when its slot has run out while it was stopped', async () => {
    for (const point of ['slot_taken', 'sending'] as const) {
      const bench = new Bench();
      const at = (now: string): void => {
        if (now === point && bench.told.sent.length === 0) bench.clockMs += 5_000;
      };
      const late = { status: 'waiting', message: expect.stringContaining('answers too slowly') as string };
      expect(await bench.drive(bench.engine({}, { at }))).toMatchObject(late);
      expect(bench.told.sent).toEqual([]);
    }
  });

  it('refuses sinks without sane limits when it starts', () => {
    const { told } = new Bench();
    for (const [traits, maxAttempts] of [
      [{ deadlineMs: 0 }, 3],
      [{ settleMs: NaN }, 3],
      [{ maxInFlight: Infinity }, 3],
      [{ minIntervalMs: -1 }, 3],
      [{ horizonMs: 0.5 }, 3],
      [{ enforcesKey: 'within_horizon' }, 3],
      [{}, 0],
    ] as [Partial<EffectSink>, number][])
      expect(
        () => new Registry([{ toolId: TOOL, sink: told.sink(traits), maxAttempts }]),
        JSON.stringify(traits),
      ).toThrow(TOOL);
  });

  it('settles an unclear slot by reading its owner back, and sends once', async () => {
    const bench = new Bench();
    const create = bench.store.create.bind(bench.store);
    bench.store.create = async (path, bytes) => {
      const outcome = await create(path, bytes);
      if (path.endsWith('/0001')) throw new StoreError('store_unavailable', 'the answer was lost');
      return outcome;
    };
    expect(await bench.drive()).toMatchObject({ status: 'done' });
    expect(bench.told.sent).toHaveLength(1);
  });

  it.each(['plan', 'epoch', 'lineage', 'witness', '/0001'])(
    'sends nothing on the strength of entries that came with an unclear slot, while %s cannot be read back',
    async (part) => {
      const bench = new Bench();
      const read = bench.store.read.bind(bench.store);
      let unclear = false;
      bench.store.read = (path) => {
        // As a disk that has not flushed the folder of one of them.
        if (unclear && path.includes(part)) throw new StoreError('store_io_failed', 'not flushed');
        return read(path);
      };
      const inOrder: Store['createInOrder'] = (entries) => {
        for (const [path, bytes] of entries) bench.store.put(path, bytes);
        unclear = true;
        return Promise.reject(new StoreError('store_io_failed', 'not flushed'));
      };
      const engine = bench.engine({}, { journal: new Journal(Object.assign(bench.store, { createInOrder: inOrder })) });
      await expect(bench.drive(engine)).rejects.toThrow('not flushed');
      expect(bench.told.sent).toEqual([]);
    },
  );
});
