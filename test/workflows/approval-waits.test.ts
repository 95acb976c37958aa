/**
 * How long a workflow says that an approval was waited for.
 *
 * Held here:
 * - the time is counted from the first question of a lineage, through continue-as-new and through answers without a question;
 * - it always names the lineage that was waited for, and begins anew in the next one.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { DriveResult } from '../../src/activities/contract';
import { questionToRecord } from '../../src/rules/receipts/question';
import { Answers } from '../../src/workflows/answers';
import { People } from '../activities/people';

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

test('the next lineage is waited for anew, also when nothing was asked in between', async () => {
  const people = new People();
  await people.drive();
  const question = people.question();
  const parked = (lineage: number): DriveResult =>
    ({ ...people.last, question: questionToRecord({ ...question, lineage }) }) as DriveResult;
  const unasked = { ...people.last, question: null } as DriveResult;
  let answers = new Answers(undefined);
  const waited = (): unknown => answers.forRequest('drive');

  answers.hear(parked(1));
  vi.advanceTimersByTime(1_000);
  answers = new Answers(JSON.parse(JSON.stringify(answers.carried)) as never);
  vi.advanceTimersByTime(500);
  answers.hear(unasked);
  expect(waited()).toEqual({ approval_waited: 1_500, approval_waited_in: 1 });
  answers = new Answers(JSON.parse(JSON.stringify(answers.carried)) as never);
  answers.hear(parked(2));
  expect(waited()).toEqual({});
  vi.advanceTimersByTime(10);
  expect(waited()).toEqual({ approval_waited: 10, approval_waited_in: 2 });
});
