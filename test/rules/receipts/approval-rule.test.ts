/**
 * Properties of what approval is asked:
 * - merging adds: every rule that anybody demands is demanded, once, in one order; a plan's own wish counts where no rule does;
 * - a rule that says nothing sensible is refused;
 * - a deadline denies or escalates exactly when its time is up, never before, and escalation only ever adds a role.
 */
import { describe, expect, it } from 'vitest';
import {
  afterDeadlines,
  mergeRules,
  requirementFromRecord,
  requirementToRecord,
  type ApprovalRule,
} from '../../../src/rules/receipts/approval-rule';
import { Refusal } from '../../../src/rules/refusal';
import { APPROVER, AUDITOR, CLERK, digest } from './support';

const one: ApprovalRule = { approvals: 1 };
const two: ApprovalRule = { approvals: 2, roles: [APPROVER, AUDITOR], signedRequest: true };

describe('merging', () => {
  it.each<readonly [string, readonly (ApprovalRule | null)[], boolean, readonly ApprovalRule[]]>([
    ['nothing', [], false, []],
    ['nothing, asked by the plan', [], true, [one]],
    ['no rule of any effect', [null, null], false, []],
    ['no rule of any effect, asked by the plan', [null], true, [one]],
    ['a rule wins over the plan’s wish', [null, two], true, [two]],
    ['the same rule twice', [one, { ...one, signedRequest: false }], false, [one]],
    ['roles in another order, one twice', [two, { ...two, roles: [AUDITOR, APPROVER, AUDITOR] }], false, [two]],
  ])('%s', (_what, rules, asked, expected) => {
    expect(mergeRules(rules, asked)).toEqual(expected);
  });

  it('keeps every rule, in one order', () => {
    expect(mergeRules([one, two], false)).toEqual(mergeRules([two, one], true));
    expect(mergeRules([one, two], false)).toHaveLength(2);
  });

  it.each<readonly [string, object]>([
    ['no approval', { approvals: 0 }],
    ['half an approval', { approvals: 1.5 }],
    ['more than anybody has', { approvals: 101 }],
    ['a misspelt member', { approvals: 1, role: [APPROVER] }],
    ['no role at all', { approvals: 1, roles: [] }],
    ['a role that is none', { approvals: 1, roles: ['approver'] }],
    ['a deadline before it begins', { approvals: 1, deadline: { afterMs: -1, then: 'deny' } }],
    ['a deadline of another kind', { approvals: 1, deadline: { afterMs: 1, then: 'allow' } }],
    ['an escalation to nobody', { approvals: 1, deadline: { afterMs: 1, then: { escalate: 'x' } } }],
  ])('refuses a rule of %s', (_what, rule) => {
    expect(() => mergeRules([rule as ApprovalRule], false)).toThrow(Refusal);
  });
});

it('reads back what it wrote', () => {
  const rules = mergeRules([one, two, { ...one, deadline: { afterMs: 5, then: { escalate: CLERK } } }], false);
  const requirement = { rules, requester: digest('somebody') };
  expect(requirementFromRecord(requirementToRecord(requirement))).toEqual(requirement);
  expect(requirementFromRecord(JSON.parse(JSON.stringify(requirementToRecord(requirement))))).toEqual(requirement);
});

describe('deadlines', () => {
  const deny: ApprovalRule = { approvals: 1, deadline: { afterMs: 100, then: 'deny' } };
  const none: ApprovalRule = { approvals: 1, deadline: { afterMs: 100, then: 'none' } };
  const up: ApprovalRule = { approvals: 1, roles: [APPROVER], deadline: { afterMs: 200, then: { escalate: AUDITOR } } };

  it.each<readonly [readonly ApprovalRule[], number, object]>([
    [[one], 1e12, { denied: false, nextMs: null }],
    [[deny], 99, { denied: false, nextMs: 1 }],
    [[deny], 100, { denied: true, nextMs: null }],
    [[deny, up], 100, { denied: true, nextMs: 100 }],
    [[none], 100, { denied: false, nextMs: null, rules: [none] }],
    [[up], 199, { denied: false, nextMs: 1, rules: [up] }],
    [[up], 200, { denied: false, nextMs: null, rules: [{ ...up, roles: [APPROVER, AUDITOR] }] }],
    [[{ ...up, roles: [AUDITOR] }], 200, { rules: [{ ...up, roles: [AUDITOR] }] }],
    [[{ approvals: 1, deadline: { afterMs: 1, then: { escalate: AUDITOR } } }], 5, { rules: [{ approvals: 1 }] }],
  ])('%j after %i ms', (rules, waited, expected) => {
    expect(afterDeadlines(rules, waited)).toMatchObject(expected);
  });
});
