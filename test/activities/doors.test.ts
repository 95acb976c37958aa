/**
 * `drive` is a door that anyone in the namespace can knock at.
 *
 * Held here:
 * - a stranger changes no byte of the journal and sends nothing;
 * - what cannot be driven (no adapter, another kind, no content, another plan, another journal) is refused before anything
 *   is written;
 * - a journal that is shorter, other or broken is a refusal that sends nothing, and a question to a person once it began;
 * - a store that does not answer is thrown, never refused; what is planted in contents comes out nowhere.
 */
import { describe, expect, it } from 'vitest';
import type { DriveRequest } from '../../src/activities/contract';
import type { Caller, Engine } from '../../src/activities/engine';
import { Journal } from '../../src/activities/journal';
import { StoreError } from '../../src/ports';
import { contentJson } from '../../src/rules/plans/content-json';
import { planToRecord } from '../../src/rules/plans/plan';
import { sha256Digest } from '../../src/rules/recovery';
import { Bench, TOOL } from './support';

const planBytes = ({ plan }: Bench): Uint8Array => new TextEncoder().encode(contentJson(planToRecord(plan)));
const refused = (code: string) => ({ status: 'refused', code });
const parked = (reason: string) => ({ status: 'parked', reason });

async function untouched(bench: Bench, act: () => Promise<unknown>): Promise<void> {
  const before = bench.bytes();
  const sent = bench.told.sent.length;
  await act();
  expect(bench.bytes()).toBe(before);
  expect(bench.told.sent).toHaveLength(sent);
}

describe('a stranger', () => {
  const strangers: Record<string, [Partial<DriveRequest>, Partial<Caller>]> = {
    'with another workflow id': [{}, { workflowId: 'somebody-else' }],
    'with the id of another run': [{}, { workflowId: `countersign/run_${'0'.repeat(32)}` }],
    'outside of any workflow': [{}, { workflowId: null }],
    'that names another run than its plan': [{ run_id: `run_${'0'.repeat(32)}` }, {}],
  };
  it.each(Object.keys(strangers))('%s changes nothing, whatever it asks for', async (name) => {
    const [request, caller] = strangers[name] as [Partial<DriveRequest>, Partial<Caller>];
    const begun = new Bench();
    begun.told.outcomes.push({ outcome: 'not_sent' });
    await begun.drive();
    for (const bench of [new Bench(), begun])
      for (const intent of ['drive', 'cancel', 'follow'] as const)
        await untouched(bench, async () => {
          const asked = { ...request, intent, reclaim: true, epoch: 1 };
          expect(await bench.drive(bench.engine(), asked, caller)).toMatchObject(refused('not_the_plans_workflow'));
        });
  });

  it('may preview, which writes nothing and sends nothing', async () => {
    const bench = new Bench([{}, {}]);
    await untouched(bench, async () => {
      const result = await bench.drive(bench.engine(), { intent: 'preview' }, { workflowId: null });
      expect(result).toMatchObject({ status: 'previewed', effects: [{ state: 'absent' }, { state: 'absent' }] });
    });
  });
});

describe('what cannot be driven', () => {
  it.each(['drive', 'cancel', 'preview'] as const)('is refused to %s before anything is written', async (intent) => {
    const bench = new Bench();
    const other = 'tool:example.org/other@1.0.0';
    const unlike = { sink: bench.told.sink({ kind: 'fhir_write' }) };
    await untouched(bench, async () => {
      expect(await bench.drive(bench.engine({ toolId: other }), { intent })).toMatchObject(refused('no_adapter'));
      expect(await bench.drive(bench.engine(unlike), { intent })).toMatchObject(refused('no_adapter'));
      const wrong = { intent, journal_id: `jrn_${'1'.repeat(32)}` };
      expect(await bench.drive(bench.engine(), wrong)).toMatchObject(refused('wrong_journal'));
    });
    const [path] = [...bench.contents.entries.keys()].filter((name) => name.startsWith('operations/'));
    bench.contents.entries.set(path as string, Buffer.from('{"operation":{"index":7}}'));
    await untouched(bench, async () =>
      expect(await bench.drive(bench.engine(), { intent })).toMatchObject(refused('content_missing')),
    );
    bench.contents.entries.delete(path as string);
    await untouched(bench, async () =>
      expect(await bench.drive(bench.engine(), { intent })).toMatchObject(refused('content_missing')),
    );
    bench.store.entries.delete('journal.json');
    expect(await bench.drive(bench.engine(), { intent })).toMatchObject(refused('journal_missing'));
  });

  it('is refused as a conflict when the run is known under another plan', async () => {
    const bench = new Bench();
    await bench.drive();
    const other = new Bench([{ operation: { index: 'other' } }]);
    for (const [path, bytes] of other.contents.entries) bench.contents.entries.set(path, bytes);
    expect(other.plan.runId).toBe(bench.plan.runId);
    await untouched(bench, async () => {
      const result = await bench.drive(bench.engine(), { plan: planToRecord(other.plan) });
      expect(result).toMatchObject(refused('plan_conflict'));
    });
  });

  it.each<[string, (bench: Bench, other: Bench) => Partial<Engine>, string]>([
    [
      'another driver makes it of another plan meanwhile',
      (bench, other) => ({ now: () => (bench.store.put(`${other.plan.runId}/plan.json`, planBytes(other)), 1) }),
      'plan_conflict',
    ],
    ['the policy is none', () => ({ policy: () => ({ approvals: 0 }) }), 'invalid_record'],
  ])('is refused without a head when %s', async (_what, change, code) => {
    const [bench, other] = [new Bench(), new Bench([{ operation: { index: 'other' } }])];
    const result = await bench.drive(bench.engine({}, change(bench, other)));
    expect(result).toMatchObject({ ...refused(code), head: null });
    expect([...bench.store.entries.keys()].filter((path) => path.includes('checkpoint'))).toEqual([]);
    expect(bench.told.sent).toEqual([]);
  });

  it('is refused when the plan was altered', async () => {
    const bench = new Bench();
    await untouched(bench, async () => {
      const plan = { ...planToRecord(bench.plan), order: 'independent' };
      expect(await bench.drive(bench.engine(), { plan })).toMatchObject(refused('invalid_plan'));
    });
  });
});

describe('a journal that is not what it was', () => {
  async function halfway(): Promise<[Bench, Partial<DriveRequest>]> {
    const bench = new Bench([{}, {}]);
    bench.told.outcomes.push({ outcome: 'accepted', externalId: 'a' }, { outcome: 'not_sent' });
    const { head, epoch, journal_id } = await bench.drive();
    return [bench, { expected_head: head, epoch, journal_id }];
  }

  it('is behind when its head is shorter or another', async () => {
    const [bench, known] = await halfway();
    const other = { ...known, expected_head: { sequence: 1, digest: sha256Digest('other') } };
    await untouched(bench, async () =>
      expect(await bench.drive(bench.engine(), other)).toMatchObject(parked('journal_behind')),
    );
    bench.store.entries.delete(bench.path('checkpoint-00000000000000000001'));
    await untouched(bench, async () =>
      expect(await bench.drive(bench.engine(), known)).toMatchObject(parked('journal_behind')),
    );
  });

  it('is behind when it lacks a head that an earlier run, or who resumed it, knew', async () => {
    const [bench, { expected_head: head, journal_id }] = await halfway();
    const continued = { journal_id: journal_id ?? null, known_head: head ?? null };
    bench.store.entries.delete(bench.path('checkpoint-00000000000000000001'));
    await untouched(bench, async () =>
      expect(await bench.drive(bench.engine(), continued)).toMatchObject(parked('journal_behind')),
    );
    for (const path of [...bench.store.entries.keys()]) if (path !== 'journal.json') bench.store.entries.delete(path);
    await untouched(bench, async () =>
      expect(await bench.drive(bench.engine(), continued)).toMatchObject(parked('journal_behind')),
    );
  });

  const BROKEN: Record<string, (bench: Bench) => void> = {
    'holds a checkpoint that is cut off': (bench) => cut(bench, 'checkpoint-00000000000000000001'),
    'lacks a checkpoint in the middle': (bench) =>
      void bench.store.entries.delete(bench.path('checkpoint-00000000000000000000')),
    'holds a foreign file in a lineage': (bench) =>
      void bench.store.put(`${bench.plan.runId}/lineage-0001/notes.txt`, Buffer.from('x')),
    'holds a slot that is cut off': (bench) => cut(bench, '/0001'),
    'holds an end that is cut off': (bench) => cut(bench, '.end'),
    'holds a foreign file among its slots': (bench) =>
      void bench.store.put(`${bench.path('/0001')}.tmp`, Buffer.from('x')),
    'holds an epoch that is cut off': (bench) => cut(bench, '/epochs/'),
    'holds a plan that is cut off': (bench) => cut(bench, '/plan.json'),
  };
  function cut(bench: Bench, part: string): void {
    const path = bench.path(part);
    const bytes = bench.store.entries.get(path) as Uint8Array;
    bench.store.entries.set(path, bytes.subarray(0, bytes.length - 9));
  }
  it.each(Object.keys(BROKEN))('is invalid when it %s: a question to a person, and nothing is sent', async (fault) => {
    const [bench, known] = await halfway();
    (BROKEN[fault] as (bench: Bench) => void)(bench);
    await untouched(bench, async () =>
      expect(await bench.drive(bench.engine(), known)).toMatchObject(parked('journal_invalid')),
    );
  });

  it('is invalid for a driver that has to adopt a checkpoint without a witness', async () => {
    const [bench] = await halfway();
    bench.store.entries.delete(bench.path('/witnesses/'));
    await untouched(bench, async () =>
      expect(await bench.drive(bench.engine(), {}, { driver: sha256Digest('other') })).toMatchObject(
        refused('journal_invalid'),
      ),
    );
  });

  it('is a question to a person as soon as this very execution has begun', async () => {
    const bench = new Bench([{}, {}]);
    const broken = (journal: Journal): Journal =>
      Object.assign(journal, {
        writeOwed: async (...given: Parameters<Journal['writeOwed']>) => {
          const outcomes = await Journal.prototype.writeOwed.apply(journal, given);
          if (given[0].some(({ entry }) => entry[0].endsWith('.end'))) cut(bench, '.end');
          return outcomes;
        },
      });
    // Its end is known before the next slot is taken, and so is written with it.
    bench.told.outcomes.push({ outcome: 'accepted', externalId: 'row-1' });
    const engine = bench.engine({}, { journal: broken(new Journal(bench.store)) });
    expect(await bench.drive(engine)).toMatchObject(parked('journal_invalid'));
    expect(bench.told.sent.length).toBeGreaterThan(0);
  });
});

describe('a store that does not answer', () => {
  it('fails the execution at any of its calls, and never turns the plan down', async () => {
    const calls = await countCalls(Infinity);
    expect(calls).toBeGreaterThan(10);
    for (let failing = 0; failing < calls; failing += 1)
      await expect(countCalls(failing), `call ${failing}`).rejects.toThrow(StoreError);
  });

  async function countCalls(failing: number): Promise<number> {
    const bench = new Bench();
    let calls = 0;
    const guarded = (name: 'create' | 'read' | 'list'): unknown => {
      const original = bench.store[name].bind(bench.store) as (...given: unknown[]) => Promise<unknown>;
      return (...given: unknown[]) => {
        calls += 1;
        // From that call on, so that an unclear create cannot be settled by reading back either.
        if (calls > failing) return Promise.reject(new StoreError('store_unavailable', 'the store did not answer'));
        return original(...given);
      };
    };
    const store = { scope: 'shared', create: guarded('create'), read: guarded('read'), list: guarded('list') };
    const engine: Engine = bench.engine({}, { journal: new Journal(store as unknown as typeof bench.store) });
    expect(await bench.drive(engine)).toMatchObject({ status: 'done' });
    return calls;
  }
});

describe('contents', () => {
  const PLANTED = ['alice-planted', 'planted-iban-77'];
  const operation = { patient: PLANTED[0], nested: [{ iban: PLANTED[1] }] };

  it('come out nowhere: not in results, errors or the journal', async () => {
    const texts: string[] = [];
    const look = (bench: Bench, value: unknown): void => void texts.push(JSON.stringify(value), bench.bytes());
    const outcomes = [
      { outcome: 'accepted', externalId: 'row-1', result: operation },
      { outcome: 'refused', code: `no: ${PLANTED[0]}` },
      { outcome: 'not_sent' },
      'throw',
    ] as const;
    for (const outcome of outcomes) {
      const bench = new Bench([{ operation }]);
      bench.told.outcomes.push(outcome);
      look(bench, await bench.carry());
      look(bench, await bench.drive(bench.engine(), { intent: 'preview' }));
      for (const path of bench.contents.entries.keys()) {
        if (path.startsWith('operations/')) bench.contents.entries.set(path, Buffer.from(PLANTED.join()));
      }
      look(bench, await bench.drive());
    }
    for (const planted of PLANTED) expect(texts.filter((text) => text.includes(planted))).toEqual([]);
  });
});

it('names the tool that is missing, so that one knows what to define', async () => {
  const bench = new Bench();
  const result = await bench.drive(bench.engine({ toolId: 'tool:example.org/other@1.0.0' }));
  expect(result).toMatchObject({ message: expect.stringContaining(TOOL) as unknown });
});
