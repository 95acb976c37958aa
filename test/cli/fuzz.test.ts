/**
 * Damaged drafts and plans.
 *
 * Held here, for 100,000 of each from a fixed seed:
 * - the reader accepts or answers with a `Refusal` that names a field, never with another error;
 * - a message quotes no value of an operation;
 * - what is accepted keeps its values: it reads the same again, and its plan is the same again;
 * - the damage reaches many different rules, and is sometimes harmless.
 */
import { describe, expect, it } from 'vitest';
import { planFileFromBytes, type PlanFile } from '../../src/cli/plan-file';
import { draftFromJson, planFromDraft } from '../../src/rules/plans/draft';
import { planToRecord, type GovernedPlan } from '../../src/rules/plans/plan';
import { Refusal } from '../../src/rules/refusal';
import { Chance, damaged, type Json } from '../support/damage';

const ROUNDS = 100_000;
const SECRET = 'planted-77c1';
const draft: Json = {
  workflow_id: 'workflow:example.org/w@1.0.0',
  name: 'n',
  order: 'ordered',
  effects: [
    {
      id: 'a',
      tool_id: 'tool:example.org/a@1.0.0',
      kind: 'local_tool',
      operation: { note: [SECRET, 1.5, { deep: null }] },
    },
    { id: 'b', tool_id: 'tool:example.org/b@1.0.0', kind: 'fhir_write', operation: SECRET, approval_required: true },
  ],
};
const planOf = (value: unknown): GovernedPlan => planFromDraft(draftFromJson(value), 'ab'.repeat(32)).plan;
const plan = planToRecord(planOf(draft)) as Json;

function survey(seed: number, document: Json, accepted: (file: PlanFile) => void): Map<string, number> {
  const chance = new Chance(seed);
  const answers = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const bytes = damaged(chance, document);
    let answer = 'accepted';
    try {
      accepted(planFileFromBytes(bytes));
    } catch (fault) {
      if (!(fault instanceof Refusal) || fault.field === null) throw fault;
      if (fault.message.includes(SECRET)) throw new Error('a message quotes an operation');
      answer = `${fault.field.replace(/[0-9]+/g, 'n')}: ${fault.reason.slice(0, 40)}`;
    }
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  }
  return answers;
}

describe('the plan reader', () => {
  it('answers every damaged draft', { timeout: 300_000 }, () => {
    const answers = survey(11, draft, (file) => {
      if (file.form !== 'draft') return;
      const text = JSON.stringify(file.draft);
      const again = planFileFromBytes(Buffer.from(text));
      if (again.form !== 'draft' || JSON.stringify(again.draft) !== text) throw new Error('a draft reads differently');
    });
    expect(answers.get('accepted')).toBeGreaterThan(1_000);
    expect(answers.size).toBeGreaterThan(40);
  });

  it('answers every damaged plan', { timeout: 300_000 }, () => {
    const answers = survey(12, plan, (file) => {
      if (file.form !== 'plan') throw new Error('a damaged plan was taken for a draft');
      if (JSON.stringify(planToRecord(file.plan)) !== JSON.stringify(plan))
        throw new Error('a changed plan was accepted');
    });
    expect(answers.get('accepted')).toBeGreaterThan(50);
    expect(answers.size).toBeGreaterThan(40);
  });
});
