/**
 * What could make `drive` take somebody's word for more than was said, or be stuck behind it, on stores in memory. Every journal
 * verifies strictly after each execution, and the chain of its workflow follows.
 *
 * Held here:
 * - a word about an effect covers the attempts that its signer could see, also when another driver sends while it is taken in;
 * - an approval is recorded as of the moment at which it was found to be enough;
 * - what was waited for in one lineage is no reason to deny another;
 * - a key that has changed hands decides no more by what it said before;
 * - one key cannot fill a plan with receipts until nobody can be asked any more;
 * - a stored receipt that this worker cannot read is a question to a person, and no answer is lost over it;
 * - an execution comes back only after all of its sends;
 * - a cancelled plan ends, whether or not anybody can be heard;
 * - a run has one end, also when one driver ends the lineage that another is leaving for the next.
 */
import { describe, expect, it } from 'vitest';
import type { DriveResult } from '../../src/activities/contract';
import { planToRecord } from '../../src/rules/plans/plan';
import { sha256Digest } from '../../src/rules/recovery';
import { ChainKeeper } from '../../src/workflows/chain-keeper';
import { APPROVER, TestReviewers, approvalOf, resolutionOf } from '../support/reviewers';
import { People, answersOf } from './people';
import { TOOL } from './support';

/** The sink took a request, and neither it nor its look-up says what became of it. */
async function doubtful(): Promise<People> {
  const people = new People({ rule: null });
  const { told } = people.bench;
  told.outcomes.push('throw');
  told.answers.push({ state: 'absent' }, { state: 'absent' }, ...Array<'throw'>(40).fill('throw'));
  expect(await people.carry()).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
  told.answers.length = 0;
  return people;
}

function word(people: People, resolution: 'mark_absent' | 'mark_committed'): string {
  const actionIds = [people.bench.plan.effects[0]!.actionId];
  return resolutionOf(people.question(), 'ann', { ...people.signed, resolution, actionIds });
}

describe('a word about an effect', () => {
  it('that it is absent says nothing of what another driver sends while it is taken in', async () => {
    const people = await doubtful();
    const { told } = people.bench;
    const token = word(people, 'mark_absent');
    const reviewers = new (class extends TestReviewers {
      override async load(): ReturnType<TestReviewers['load']> {
        if (this.loads === 0) {
          this.loads += 1;
          // Another run takes the turn, finds that nothing is there, and sends; the write lands, and no answer comes back.
          const by = { driver: sha256Digest('another') };
          told.outcomes.push('late');
          told.answers.push(...Array<{ state: 'absent' }>(3).fill({ state: 'absent' }));
          const { epoch } = await people.bench.drive(people.engine(), {}, by);
          people.pass(3_000);
          told.answers.push(...Array<'throw'>(10).fill('throw'));
          await people.bench.drive(people.engine(), { epoch, waited: [[0, 1, 3_000]] }, by);
        }
        return super.load();
      }
    })();
    await people.bench.drive(
      people.engine({ reviewers }),
      { expected_head: people.chain.expectedHead, epoch: people.epoch, receipts: [token] },
      {},
    );
    expect(told.sent).toHaveLength(2);
    people.forget();
    told.answers.length = 0;
    told.answers.push(...Array<'throw'>(60).fill('throw'));
    expect(await people.carry([], { reclaim: true })).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
    expect(told.sent).toHaveLength(2);
  });

  it('that it is committed says nothing of an attempt that began later, when the sink had said that it is not', async () => {
    const people = await doubtful();
    const { told } = people.bench;
    told.outcomes.push('throw');
    // Found absent after all, sent once more, and again nobody knows.
    told.answers.push({ state: 'absent' }, { state: 'absent' }, ...Array<'throw'>(60).fill('throw'));
    expect(await people.carry([word(people, 'mark_committed')])).toMatchObject({
      status: 'parked',
      reason: 'ambiguous_effect',
    });
    expect(told.sent).toHaveLength(2);
  });
});

/** Parked, asking for approvals. */
async function asking(options: ConstructorParameters<typeof People>[0] = {}): Promise<People> {
  const people = new People(options);
  expect(await people.drive()).toMatchObject({ status: 'parked', reason: 'approval_missing' });
  return people;
}

function approvals(people: People, livesS = 3_600, result = people.last): readonly string[] {
  const asked = people.question(result);
  return ['ann', 'bob'].map((who) => approvalOf(asked, who, { ...people.signed, livesS }));
}

describe('an approval', () => {
  it('that expires while it is being recorded leaves a chain that can be followed', async () => {
    const people = await asking();
    const { store } = people.bench;
    const tokens = approvals(people, 60);
    const create = store.create.bind(store);
    store.create = (path, bytes) => {
      if (path.includes('/receipts/approval-')) people.pass(60_000);
      return create(path, bytes);
    };
    await people.drive(tokens);
    people.forget();
    expect(await people.carry()).toMatchObject({ status: 'parked', reason: 'approval_expired' });
    expect(people.bench.told.sent).toHaveLength(0);
  });

  it('by two keys of one person is not one by two, when one of them has changed hands since', async () => {
    const reviewers = new TestReviewers({ ann: [APPROVER], bob: [APPROVER], cleo: [APPROVER] });
    reviewers.hand('bob', 'ann');
    const people = await asking({ reviewers });
    expect(await people.drive(approvals(people))).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    reviewers.hand('bob', 'bob');
    expect(await people.drive()).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    const again = approvalOf(people.question(), 'bob', people.signed);
    expect(await people.drive([again])).toMatchObject({ status: 'done' });
    people.forget();
    expect(await people.drive()).toMatchObject({ status: 'done', replayed: true });
  });
});

describe('a deadline', () => {
  it('of a new lineage is not over because another lineage was waited for', async () => {
    const people = await asking({
      rule: { approvals: 2, deadline: { afterMs: 3_600_000, then: 'deny' } },
      effects: [{}, {}],
    });
    const engine = people.engine({ at: (point) => void (point === 'answered' && people.pass(7_200_000)) });
    expect(await people.drive(approvals(people, 60), {}, engine)).toMatchObject({ reason: 'approval_expired' });
    people.waitedForApproval = 7_200_000;
    const token = resolutionOf(people.question(), 'cleo', { ...people.signed, resolution: 'new_lineage' });
    const dies = people.engine({
      at: (point) => (point === 'after_append' ? Promise.reject(new Error('killed')) : undefined),
    });
    await expect(people.drive([token], {}, dies)).rejects.toThrow('killed');
    people.epoch = null;
    expect(await people.drive()).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    expect(people.question()).toMatchObject({ lineage: 2, deadlineMs: 3_600_000 });
  });
});

describe('one key', () => {
  it('cannot fill a plan with receipts', async () => {
    const people = await asking();
    const asked = people.question();
    let taken = 0;
    for (let round = 0; round < 2; round += 1) {
      const word = { ...people.signed, resolution: 'reobserve' } as const;
      const tokens = Array.from({ length: 30 }, () => resolutionOf(asked, 'ann', word));
      taken += answersOf(await people.drive(tokens)).filter((refused) => refused === null).length;
    }
    expect(taken).toBe(32);
    expect(people.question().have.length).toBe(taken);
    const others = ['bob', 'cleo'].map((who) => approvalOf(asked, who, people.signed));
    expect(await people.drive(others)).toMatchObject({ status: 'done' });
  });
});

describe('a stored receipt that this worker cannot read', () => {
  it('is a question to a person once the plan has begun', async () => {
    const people = await asking();
    const { store, plan } = people.bench;
    await people.drive([approvals(people)[0] as string]);
    const path = people.bench.path('/receipts/');
    const text = Buffer.from(store.entries.get(path) as Uint8Array).toString();
    const tampered = text.replace(/"token":"[^"]{20}/, (start) => `${start.slice(0, -1)}_`);
    store.entries.set(`${plan.runId}/receipts/${'0'.repeat(64)}.json`, Buffer.from(tampered));
    const result = await people.bench.drive(people.engine(), { expected_head: people.chain.expectedHead });
    expect(result).toMatchObject({ status: 'parked', reason: 'journal_invalid' });
  });
});

describe('a fault of the journal', () => {
  it('that is met while an answer is taken in is no refusal of the answer', async () => {
    const people = await doubtful();
    const { store } = people.bench;
    const list = store.list.bind(store);
    let faults = 0;
    const reviewers = new (class extends TestReviewers {
      override load(): ReturnType<TestReviewers['load']> {
        faults += 1;
        return super.load();
      }
    })();
    // From when the keys are asked for, the next slots cannot be read, once.
    store.list = async (prefix, after) => {
      const names = await list(prefix, after);
      return prefix.includes('/sends/') && faults-- === 1 ? [...names, 'stray'] : names;
    };
    const engine = people.engine({ reviewers });
    const result = await people.drive([word(people, 'mark_absent')], {}, engine);
    expect(result).toMatchObject({ status: 'parked', reason: 'journal_invalid' });
    expect(answersOf(result)).toEqual([]);
  });
});

describe('an execution', () => {
  it('comes back only after all of its sends', async () => {
    const people = await asking({ effects: [{}, {}, {}, {}], order: 'independent', sink: { maxInFlight: 2 } });
    const { told } = people.bench;
    let sends = 0;
    const engine = people.engine({
      at: async (point) => {
        // The second lane is on its way to its send when the first one finds that the keys are gone.
        if (point === 'answered') people.reviewers.away = true;
        if (point === 'sending' && (sends += 1) === 2) await new Promise((resolve) => setTimeout(resolve, 50));
      },
    });
    const result = await people.drive(approvals(people), {}, engine);
    const sent = told.sent.length;
    expect(result).toMatchObject({ status: 'parked', reason: 'reviewers_unavailable' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(told.sent).toHaveLength(sent);
    expect(people.bench.plan.effects[0]?.toolId).toBe(TOOL);
  });

  it.each([2, 0, 1.5, '1', null])('begins no run in lineage %j', async (lineage) => {
    const people = new People({ rule: null });
    const result = await people.bench.drive(people.engine(), { lineage: lineage as number });
    expect(result).toMatchObject({ status: 'refused', code: 'invalid_record' });
    expect(people.bench.store.names('')).toEqual(['journal.json']);
  });
});

describe('a plan that is cancelled', () => {
  it('ends although the keys for what somebody has answered cannot be had', async () => {
    const people = await asking();
    const tokens = approvals(people);
    people.reviewers.away = true;
    expect(await people.drive(tokens, { intent: 'cancel' })).toMatchObject({ status: 'done' });
    expect(people.chain.head?.phase).toBe('aborted');
  });
});

describe('two drivers, of which one ends the lineage that the other leaves,', () => {
  it.each([[false], [true]])('come to one end of the run (the end is there first: %j)', async (early) => {
    const people = await asking({ effects: [{}, {}] });
    const expires = people.engine({ at: (point) => void (point === 'answered' && people.pass(60_000)) });
    expect(await people.drive(approvals(people, 60), {}, expires)).toMatchObject({ reason: 'approval_expired' });
    const reopen = resolutionOf(people.question(), 'cleo', { ...people.signed, resolution: 'new_lineage' });
    const { store, plan } = people.bench;
    const create = store.create.bind(store);
    const other = new ChainKeeper(planToRecord(plan), null);
    let epoch: number | null = null;
    const otherDrives = async (receipts: readonly string[]): Promise<DriveResult> => {
      const { lineage, expectedHead, journalId } = other;
      const request = { receipts, epoch, lineage, expected_head: expectedHead, journal_id: journalId };
      const result = await people.bench.drive(people.engine(), request, { driver: sha256Digest('another') });
      other.accept(result);
      epoch = result.epoch;
      return result;
    };
    // One is told to cancel, and stops right before its last checkpoint; the other takes over, and leaves for a new lineage.
    store.create = async (path, bytes) => {
      if (!path.includes('lineage-0001/checkpoint')) return create(path, bytes);
      store.create = async (later, content) => {
        if (early && later.includes('/lineages/')) await create(path, bytes);
        return create(later, content);
      };
      const result = await otherDrives([reopen]);
      if (result.status === 'parked') await otherDrives(approvals(people, 3_600, result));
      return create(path, bytes);
    };
    const cancelled = await people.drive([], { intent: 'cancel' });
    expect(cancelled.status).toBe('stopped');
    expect(await people.drive([], { intent: 'cancel', reclaim: true })).toMatchObject({ status: 'done' });
    expect(other.head?.phase).toBe(early ? 'aborted' : 'completed');
    expect(people.chain.lineages).toEqual(other.lineages);
    expect(people.bench.told.sent).toHaveLength(early ? 1 : 2);
    people.forget();
    await people.drive();
    expect(people.chain.lineages).toEqual(other.lineages);
  });
});
