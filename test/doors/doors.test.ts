/**
 * One table of answers, run through the doors that need no server: the client before it sends, the validator of the workflow's
 * Updates, and `drive`. What is refused is refused everywhere, with the same code; nothing is recorded of it.
 *
 * Held here:
 * - each answer gets the code of the table at each door, to the millisecond of its expiry;
 * - a refused answer leaves no entry in the journal, and is nowhere kept by the workflow;
 * - the same answer twice is kept once; its nonce for anything else is a replay;
 * - where nothing is asked, nothing is taken;
 * - the client has the workers look for a key that it does not know, at the head that it was asked about and at no other.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { answerTo } from '../../src/answer-plan';
import { questionFromRecord, questionToRecord, type Answer, type Question } from '../../src/rules/receipts/question';
import { type Refusal } from '../../src/rules/refusal';
import { Answers } from '../../src/workflows/answers';
import { People, answersOf } from '../activities/people';
import { CASES, MISPLACED, REPLAYED, REQUESTER, RULE, reviewers, type Case } from './table';

interface Asked {
  readonly people: People;
  readonly question: Question;
}

async function asking(): Promise<Asked> {
  const people = new People({ effects: [{}, {}], rule: RULE, requester: REQUESTER, reviewers: reviewers() });
  await people.drive();
  return { people, question: people.question() };
}

/** What a door says: null, or the code of its refusal. */
type Door = (asked: Asked, token: unknown, door: Answer) => Promise<string | null>;

const DOORS: Record<string, Door> = {
  client: async ({ question }, token, door) => {
    const sent: unknown[] = [];
    const workflow = {
      query: () => Promise.resolve(questionToRecord(question)),
      executeUpdate: (name: string) => Promise.resolve(sent.push(name)),
    };
    const code = await answerTo(workflow as never, door, token as string).then(
      () => null,
      (fault: Refusal) => fault.code,
    );
    // A key that is not known here may be known to the workers by now; nothing else leaves before it is admitted.
    expect(sent).toEqual(code === null ? [door] : code === 'receipt_unknown_key' ? ['reobserve'] : []);
    return code;
  },
  validator: ({ question }, token, door) => {
    const answers = new Answers({ question: questionToRecord(question), kept: [], handled: [], waited_ms: 0 });
    const before = JSON.stringify(answers.carried);
    const code = codeOf(() => answers.check(door, token, null));
    expect(JSON.stringify(answers.carried)).toBe(before);
    return Promise.resolve(code);
  },
  drive: async ({ people }, token) => {
    const before = people.bench.bytes();
    const result = await people.drive([token as string]);
    const [code] = answersOf(result);
    if (code !== null) expect(people.bench.bytes()).toBe(before);
    return code as string;
  },
};

function codeOf(check: () => void): string | null {
  try {
    check();
    return null;
  } catch (fault) {
    return (fault as ApplicationFailure).type ?? 'untyped';
  }
}

/** At both of our clocks: the engine's own, and that of a client or workflow. */
async function arrive({ people, question }: Asked, { token, afterMs }: Case): Promise<unknown> {
  const answer = token(question, people.now);
  people.pass(afterMs?.(people.now) ?? 0);
  vi.useFakeTimers({ now: people.now, toFake: ['Date'] });
  return answer;
}

afterEach(() => void vi.useRealTimers());

describe.each(Object.keys(DOORS))('at the door of the %s', (name) => {
  const door = DOORS[name] as Door;

  it.each(CASES.map((one) => [one.says, one.code ?? 'kept', one] as const))('%s is %s', async (_says, _code, one) => {
    const asked = await asking();
    expect(await door(asked, await arrive(asked, one), one.door ?? 'approve')).toBe(one.code);
  });

  // A drive takes receipts of every kind together.
  it.each((name === 'drive' ? [] : MISPLACED).map((one) => [one.says, one] as const))(
    '%s is refused',
    async (_says, one) => {
      const asked = await asking();
      expect(await door(asked, await arrive(asked, one), one.door ?? 'approve')).toBe(one.code);
    },
  );

  it('a nonce is used once, and the same answer again is the same answer', async () => {
    const { people, question } = await asking();
    const first = REPLAYED.first(question, people.now);
    await people.drive([first]);
    const asked = { people, question: people.question() };
    vi.useFakeTimers({ now: people.now, toFake: ['Date'] });
    expect(await door(asked, first, 'approve')).toBe(null);
    expect(await door(asked, REPLAYED.second(question, people.now), 'approve')).toBe('receipt_replayed');
    expect(people.bench.store.names(`${people.bench.plan.runId}/receipts`)).toHaveLength(1);
  });
});

it.each([true, false])(
  'a key that nobody knows is looked for at the head of the question (moved on: %s)',
  async (movedOn) => {
    const { people, question } = await asking();
    const unknown = CASES.find(({ code }) => code === 'receipt_unknown_key')?.token(question, people.now) as string;
    const sent: unknown[] = [];
    const stale = ApplicationFailure.nonRetryable('the plan has moved on', 'stale_head');
    const workflow = {
      query: () => Promise.resolve(questionToRecord(question)),
      executeUpdate: async (name: string, { args }: { args: unknown[] }) => {
        sent.push([name, ...args]);
        if (movedOn) throw new WorkflowUpdateFailedError('refused', stale);
      },
    };
    const answered = answerTo(workflow as never, 'approve', unknown);
    await expect(answered).rejects.toMatchObject({ code: 'receipt_unknown_key' });
    expect(sent).toEqual([['reobserve', question.headDigest]]);
  },
);

describe('where nothing is asked', () => {
  it('a workflow takes nothing, and says why', () => {
    const answers = new Answers(undefined);
    const token = 'e30.e30.'.padEnd(94, 'A');
    expect(codeOf(() => answers.check('approve', 'junk', null))).toBe('receipt_malformed');
    expect(codeOf(() => answers.check('approve', token, null))).toBe('receipt_malformed');
  });

  it.each([
    [null, 'receipt_not_wanted'],
    ['reviewers_unavailable', 'reviewers_unavailable'],
  ])('a good answer is refused (%s)', async (why, code) => {
    const { people, question } = await asking();
    const token = REPLAYED.first(question, people.now);
    expect(codeOf(() => new Answers(undefined).check('approve', token, why))).toBe(code);
  });

  it('the drive of a plan that needs nobody refuses an approval', async () => {
    const { question, people } = await asking();
    const other = new People({ rule: null, effects: [{}, {}], requester: REQUESTER, sink: { lookup: 'none' } });
    other.bench.told.outcomes.push({ outcome: 'not_sent' });
    await other.drive();
    expect(other.bench.plan.planDigest).toBe(people.bench.plan.planDigest);
    expect(answersOf(await other.drive([REPLAYED.first(question, people.now)]))).toEqual(['receipt_not_wanted']);
  });
});

describe('a question', () => {
  it('is the same after its way through a history', async () => {
    const { question } = await asking();
    expect(questionFromRecord(JSON.parse(JSON.stringify(questionToRecord(question))))).toEqual(question);
  });
});
