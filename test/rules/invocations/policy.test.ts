/**
 * Policies.
 *
 * Held here:
 * - deny before approval before allow, whatever the order of the rules; where some rule allows, what none allows is denied;
 * - every operator on arguments that are there, missing, null, and of another kind;
 * - what cannot be judged makes a rule match that forbids or asks, and not match where it allows; through `not`, `all` and `any` as
 *   well: a rule that forbids matches whenever some value of the missing argument would make it match, and one that allows only when
 *   every value would (checked against all values of a small world);
 * - an agent's list denies every other tool; a tool's rule is about its tools only;
 * - when a call stands still, only rules that speak of it count;
 * - what is no policy is refused by the name of its rule and the path of the field.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  approvalRuleOf,
  judgeCall,
  judgeTrigger,
  policiesFromRecord,
  policiesFromText,
  policiesOf,
  type PolicyRule,
} from '../../../src/rules/invocations/policy';
import {
  compileCondition,
  conditionToRecord,
  type Condition,
  type Truth,
} from '../../../src/rules/invocations/policy-condition';
import { TRIGGERS } from '../../../src/rules/invocations/vocabulary';
import { Refusal } from '../../../src/rules/refusal';
import { CHARGE } from './support';

const ROLE = 'role:example.org/finance';
const REFUND = { tool: 'refund', version: null };
const rule = (more: Partial<PolicyRule>): PolicyRule => ({ name: 'one', scope: 'agent', decision: 'deny', ...more });
const over = (value: number): Condition => ({ field: 'amount', op: 'gt', value });
const judge = (rules: readonly PolicyRule[], args: unknown, tool: { tool: string; version: string | null } = CHARGE) =>
  judgeCall(policiesOf(rules), { tool, args });
const truthOf = (condition: unknown, args: unknown): Truth =>
  compileCondition(condition, 'condition').judge({ args, trigger: null, outcome: null });

describe('a call', () => {
  it('is judged by the strictest rule that matches, in whatever order they stand', () => {
    const rules = [
      rule({ name: 'a', decision: 'allow' }),
      rule({ name: 'b', decision: 'require_approval', route: ROLE, approvals: 2, conditions: over(100) }),
      rule({ name: 'c', decision: 'deny', conditions: over(1_000) }),
    ];
    fc.assert(
      fc.property(
        fc.shuffledSubarray(rules, { minLength: 3 }),
        fc.constantFrom(1, 100, 101, 1_000, 1_001),
        (some, amount) => {
          const expected = amount > 1_000 ? 'deny' : amount > 100 ? 'require_approval' : 'allow';
          expect(judge(some, { amount }).decision).toBe(expected);
        },
      ),
    );
    expect(judge(rules, { amount: 101 })).toEqual({
      decision: 'require_approval',
      terms: [
        { rule: 'b', route: ROLE, approvals: 2, expiryMs: null, onTimeout: 'deny', onRejection: 'return_to_agent' },
      ],
    });
    expect(judge(rules, { amount: 1_001 })).toEqual({ decision: 'deny', rule: 'c' });
  });

  it('must meet every rule that asks', () => {
    const rules = ['a', 'b'].map((name) => rule({ name, decision: 'require_approval' }));
    expect(judge(rules, {})).toMatchObject({ terms: [{ rule: 'a' }, { rule: 'b' }] });
  });

  it('may go where nothing is said, and not where others may and it may not', () => {
    expect(judge([], {})).toEqual({ decision: 'allow' });
    expect(judge([rule({ conditions: over(5) })], { amount: 5 })).toEqual({ decision: 'allow' });
    const small = [rule({ decision: 'allow', conditions: { field: 'amount', op: 'lte', value: 5 } })];
    expect(judge(small, { amount: 5 })).toEqual({ decision: 'allow' });
    expect(judge(small, { amount: 6 })).toEqual({ decision: 'deny', rule: null });
    expect(judge(small, {})).toEqual({ decision: 'deny', rule: null });
    // A rule about another tool allows nothing here, and forbids nothing either.
    const elsewhere = [rule({ scope: 'tool', allow: ['refund'], decision: 'allow', conditions: over(5) })];
    expect(judge(elsewhere, { amount: 1 })).toEqual({ decision: 'allow' });
    expect(judge(elsewhere, { amount: 1 }, REFUND)).toEqual({ decision: 'deny', rule: null });
  });

  it('of a tool that is not on the list of the agent is denied', () => {
    const rules = [rule({ decision: 'allow', allow: ['charge@1.0.0', 'refund'] })];
    const tools = [
      CHARGE,
      { tool: 'charge', version: '2.0.0' },
      { tool: 'charge', version: null },
      REFUND,
      { tool: 'refund', version: '1.0.0' },
    ];
    expect(tools.map((tool) => judge(rules, {}, tool).decision)).toEqual(['allow', 'deny', 'deny', 'allow', 'allow']);
    // The list binds whatever the rule decides, and whether its conditions hold.
    const never = [rule({ decision: 'deny', allow: ['charge'], conditions: over(5) })];
    expect(judge(never, { amount: 1 }).decision).toBe('allow');
    expect(judge(never, { amount: 1 }, REFUND)).toEqual({ decision: 'deny', rule: 'one' });
  });

  it('is judged by a rule of its tool only', () => {
    const rules = [rule({ scope: 'tool', allow: ['charge@default'] })];
    expect(judge(rules, {}, { tool: 'charge', version: null }).decision).toBe('deny');
    expect(judge(rules, {}).decision).toBe('allow');
  });

  it('is not stopped by a rule that escalates', () => {
    expect(judge([rule({ decision: 'escalate' })], {})).toEqual({ decision: 'allow' });
  });
});

describe('an operator', () => {
  const cases: readonly [Condition, unknown, Truth][] = [
    ...(
      [
        ['eq', 5, 5, 'true'],
        ['eq', 5, 6, 'false'],
        ['eq', 5, '5', 'unknown'],
        ['eq', 5, null, 'unknown'],
        ['eq', null, null, 'true'],
        ['eq', null, 5, 'false'],
        ['eq', 'a', 'a', 'true'],
        ['eq', true, 1, 'unknown'],
        ['eq', 'a', ['a'], 'unknown'],
        ['neq', 5, 5, 'false'],
        ['neq', 5, 6, 'true'],
        ['neq', 5, '5', 'unknown'],
        ['gt', 5, 6, 'true'],
        ['gt', 5, 5, 'false'],
        ['gt', 5, '6', 'unknown'],
        ['gt', 5, null, 'unknown'],
        ['gte', 5, 5, 'true'],
        ['gte', 5, 4.9, 'false'],
        ['lt', 5, 4, 'true'],
        ['lt', 5, 5, 'false'],
        ['lte', 5, 5, 'true'],
        ['lte', 5, 5.1, 'false'],
        ['in', ['a', 5, null], 'a', 'true'],
        ['in', ['a', 5, null], null, 'true'],
        ['in', ['a', 5], 6, 'unknown'],
        ['in', [4, 5], 6, 'false'],
        ['in', ['a'], 6, 'unknown'],
        ['matches', '^a+$', 'aaa', 'true'],
        ['matches', '^a+$', 'aab', 'false'],
        ['matches', 'a', 5, 'unknown'],
        ['matches', 'a', 'a'.repeat(20_001), 'unknown'],
      ] as const
    ).map(
      ([op, value, amount, expected]) => [{ field: 'amount', op, value } as Condition, { amount }, expected] as const,
    ),
  ] as [Condition, unknown, Truth][];
  it.each(cases)('%j of %j', (condition, args, expected) => {
    expect(truthOf(condition, args)).toBe(expected);
    expect(truthOf({ not: condition }, args)).toBe({ true: 'false', false: 'true', unknown: 'unknown' }[expected]);
    expect(truthOf(condition, {})).toBe('unknown');
    expect(truthOf(condition, null)).toBe('unknown');
  });

  it('finds an argument by its path, and never what the language put there', () => {
    const args = { customer: { 'a.b': 1, 'c/d': 2, list: [10, 20] }, dispatch: { trigger: 3 } };
    const found = (field: string, value: number | string): Truth => truthOf({ field, op: 'eq', value }, args);
    expect(found('customer.list.1', 20)).toBe('true');
    expect(found('/customer/a.b', 1)).toBe('true');
    expect(found('/customer/c~1d', 2)).toBe('true');
    expect(found('/dispatch/trigger', 3)).toBe('true');
    expect(found('constructor.name', 'Object')).toBe('unknown');
    for (const field of [
      'customer.list.length',
      'customer.list.01',
      'customer.list.-1',
      'customer.list.2',
      'customer.x',
      'toString',
      'constructor.name',
      '__proto__.x',
      'customer.a.b',
    ]) {
      expect(found(field, 2), field).toBe('unknown');
    }
  });
});

describe('what is missing', () => {
  it('makes a rule match that forbids or asks, and not one that allows; under not as well', () => {
    for (const conditions of [
      over(100),
      { not: over(100) },
      { not: { not: over(100) } },
      { all: [over(100)] },
      { any: [over(100)] },
    ] as Condition[]) {
      expect(judge([rule({ conditions })], {}).decision).toBe('deny');
      expect(judge([rule({ decision: 'require_approval', conditions })], {}).decision).toBe('require_approval');
      expect(judge([rule({ decision: 'allow', conditions })], {}).decision).toBe('deny');
    }
  });

  it('is settled by what is known, where that is enough', () => {
    const known: Condition = { field: 'kind', op: 'eq', value: 'transfer' };
    const both: Condition = { all: [known, over(100)] };
    expect(judge([rule({ conditions: both })], { kind: 'balance' }).decision).toBe('allow');
    expect(judge([rule({ conditions: both })], { kind: 'transfer' }).decision).toBe('deny');
    expect(
      judge([rule({ decision: 'allow', conditions: { any: [known, over(100)] } })], { kind: 'transfer' }).decision,
    ).toBe('allow');
  });

  it('never lets a call through that some value of it would stop', () => {
    const field = fc.constantFrom('x', 'y');
    const leaf = fc.tuple(
      field,
      fc.constantFrom('eq' as const, 'gt' as const, 'lt' as const, 'neq' as const),
      fc.nat(2),
    );
    const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
      condition: fc.oneof(
        { maxDepth: 4 },
        leaf.map(([name, op, value]) => ({ field: name, op, value })),
        fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map((all) => ({ all })),
        fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
        tie('condition').map((not) => ({ not })),
      ),
    }));
    const VALUES = [-1, 0, 1, 2, 3];
    fc.assert(
      fc.property(condition, fc.option(fc.constantFrom(...VALUES)), (one, y) => {
        const args = y === null ? {} : { y };
        const ys = y === null ? VALUES : [y];
        const truths = VALUES.flatMap((x) => ys.map((value) => truthOf(one, { x, y: value })));
        const conditions = one;
        if (truths.includes('true')) expect(judge([rule({ conditions })], args).decision).toBe('deny');
        if (truths.includes('false')) {
          expect(judge([rule({ decision: 'allow', conditions })], args).decision).toBe('deny');
        }
        expect(truths).not.toContain('unknown');
        expect(conditionToRecord(one)).toEqual(one);
      }),
      { numRuns: 2_000, seed: 8 },
    );
  });
});

describe('a call that stands still', () => {
  const trigger = (rules: readonly PolicyRule[], more: Partial<Parameters<typeof judgeTrigger>[1]> = {}) =>
    judgeTrigger(policiesOf(rules), { tool: CHARGE, args: {}, trigger: 'dispatch:no_handler', outcome: null, ...more });
  const speaks: Condition = { field: 'dispatch.trigger', op: 'eq', value: 'dispatch:no_handler' };

  it.each(TRIGGERS)('by %s is told apart', (one) => {
    const rules = TRIGGERS.map((value) =>
      rule({
        name: value.replace(':', '-'),
        decision: 'escalate',
        route: ROLE,
        conditions: { field: 'dispatch.trigger', op: 'eq', value },
      }),
    );
    expect(trigger(rules, { trigger: one })).toMatchObject({
      decision: 'escalate',
      terms: [{ rule: one.replace(':', '-') }],
    });
  });

  it('goes to people only where a rule speaks of that', () => {
    expect(trigger([])).toEqual({ decision: 'fail' });
    expect(trigger([rule({ decision: 'require_approval' })])).toEqual({ decision: 'fail' });
    expect(trigger([rule({ decision: 'escalate' })]).decision).toBe('escalate');
    expect(trigger([rule({ decision: 'require_approval', conditions: speaks })]).decision).toBe('escalate');
    expect(trigger([rule({ decision: 'allow', conditions: speaks })])).toEqual({ decision: 'fail' });
    const denied = [rule({ decision: 'escalate' }), rule({ name: 'two', conditions: speaks })];
    expect(trigger(denied)).toEqual({ decision: 'fail' });
    expect(trigger([rule({ decision: 'escalate', scope: 'tool', allow: ['refund'] })])).toEqual({ decision: 'fail' });
    expect(trigger([rule({ decision: 'escalate', scope: 'tool', allow: ['charge'] })]).decision).toBe('escalate');
  });

  it('is asked about its outcome, and a session about its limits', () => {
    const lost = rule({
      decision: 'escalate',
      conditions: { field: 'dispatch.outcome', op: 'in', value: ['indeterminate'] },
    });
    expect(trigger([lost], { outcome: 'indeterminate' }).decision).toBe('escalate');
    expect(trigger([lost], { outcome: 'failed' }).decision).toBe('fail');
    expect(trigger([lost]).decision).toBe('fail');
    const limit = rule({
      decision: 'escalate',
      conditions: { field: 'dispatch.trigger', op: 'matches', value: '^limit:' },
    });
    expect(trigger([limit], { tool: null, trigger: 'limit:escalate' }).decision).toBe('escalate');
    expect(
      trigger([rule({ ...limit, scope: 'tool', allow: ['charge'] })], { tool: null, trigger: 'limit:escalate' })
        .decision,
    ).toBe('fail');
  });

  it('is known not to stand still before anything went wrong', () => {
    expect(judge([rule({ conditions: speaks })], {}).decision).toBe('allow');
    expect(judge([rule({ conditions: { not: speaks } })], {}).decision).toBe('deny');
  });
});

describe('terms', () => {
  it('are read whole, and become a rule of the receipts', () => {
    const full = rule({
      decision: 'require_approval',
      route: ROLE,
      approvals: 3,
      expiryMs: 60_000,
      onTimeout: { escalate: [ROLE, 'role:example.org/board'] },
      onRejection: 'fail',
    });
    const verdict = judge([full], {});
    const terms = {
      rule: 'one',
      route: ROLE,
      approvals: 3,
      expiryMs: 60_000,
      onTimeout: { escalate: [ROLE, 'role:example.org/board'] },
      onRejection: 'fail',
    } as const;
    expect(verdict).toEqual({ decision: 'require_approval', terms: [terms] });
    expect(approvalRuleOf(terms)).toEqual({ approvals: 3, roles: [ROLE] });
    expect(approvalRuleOf({ ...terms, route: null })).toEqual({ approvals: 3 });
    const file = [
      {
        name: 'one',
        scope: 'agent',
        decision: 'require_approval',
        route: ROLE,
        approvals: 3,
        expiry_ms: 60_000,
        on_timeout: terms.onTimeout,
        on_rejection: 'fail',
      },
    ];
    expect(judgeCall(policiesFromText(JSON.stringify(file)), { tool: CHARGE, args: {} })).toEqual(verdict);
  });
});

describe('what is refused', () => {
  const good = { name: 'one', scope: 'agent', decision: 'deny' };
  const leaf = { field: 'amount', op: 'gt', value: 5 };
  const cases: readonly [unknown, string][] = [
    [{}, 'policies'],
    [[5], 'policies[0]'],
    [[{}], 'policies[0].name'],
    [[{ ...good, name: 'a b' }], 'policies[0].name'],
    [[good, good], 'policies.one.name'],
    [[{ ...good, scope: 'world' }], 'policies.one.scope'],
    [[{ ...good, decision: 'maybe' }], 'policies.one.decision'],
    [[{ ...good, extra: 1 }], 'policies.one.extra'],
    [[{ ...good, scope: 'tool' }], 'policies.one.allow'],
    [[{ ...good, allow: ['charge@1'] }], 'policies.one.allow'],
    [[{ ...good, allow: ['Charge'] }], 'policies.one.allow'],
    [[{ ...good, allow: [5] }], 'policies.one.allow'],
    [[{ ...good, route: ROLE }], 'policies.one.route'],
    [[{ ...good, decision: 'escalate', route: 'finance' }], 'policies.one.route'],
    [[{ ...good, decision: 'escalate', approvals: 0 }], 'policies.one.approvals'],
    [[{ ...good, decision: 'escalate', approvals: 101 }], 'policies.one.approvals'],
    [[{ ...good, decision: 'escalate', on_timeout: 'allow' }], 'policies.one.on_timeout'],
    [[{ ...good, decision: 'escalate', expiry_ms: 5, on_timeout: 'none' }], 'policies.one.on_timeout'],
    [
      [{ ...good, decision: 'escalate', expiry_ms: 5, on_timeout: { escalate: [] } }],
      'policies.one.on_timeout.escalate',
    ],
    [
      [{ ...good, decision: 'escalate', expiry_ms: 5, on_timeout: { escalate: Array<string>(6).fill(ROLE) } }],
      'policies.one.on_timeout.escalate',
    ],
    [[{ ...good, decision: 'escalate', on_rejection: 'retry' }], 'policies.one.on_rejection'],
    [[{ ...good, conditions: null }], 'policies.one.conditions'],
    [[{ ...good, conditions: { all: [] } }], 'policies.one.conditions.all'],
    [[{ ...good, conditions: { all: [leaf], any: [leaf] } }], 'policies.one.conditions.any'],
    [[{ ...good, conditions: { any: [leaf, { ...leaf, op: 'like' }] } }], 'policies.one.conditions.any[1].op'],
    [[{ ...good, conditions: { not: { ...leaf, value: '5' } } }], 'policies.one.conditions.not.value'],
    [[{ ...good, conditions: { ...leaf, field: '' } }], 'policies.one.conditions.field'],
    [[{ ...good, conditions: { ...leaf, field: 'a..b' } }], 'policies.one.conditions.field'],
    [[{ ...good, conditions: { ...leaf, field: '/a~2' } }], 'policies.one.conditions.field'],
    [[{ ...good, conditions: { ...leaf, field: 'dispatch.reason' } }], 'policies.one.conditions.field'],
    [[{ ...good, conditions: { ...leaf, field: 'dispatch.trigger' } }], 'policies.one.conditions.op'],
    [[{ ...good, conditions: { ...leaf, op: 'in', value: 5 } }], 'policies.one.conditions.value'],
    [[{ ...good, conditions: { ...leaf, op: 'in', value: [[5]] } }], 'policies.one.conditions.value'],
    [[{ ...good, conditions: { ...leaf, op: 'eq', value: {} } }], 'policies.one.conditions.value'],
    [[{ ...good, conditions: { ...leaf, op: 'gt', value: Number.NaN } }], 'policies.one.conditions.value'],
    [[{ ...good, conditions: { ...leaf, op: 'matches', value: '(' } }], 'policies.one.conditions.value'],
    [[{ ...good, conditions: { ...leaf, extra: 1 } }], 'policies.one.conditions.extra'],
  ];
  it.each(cases)('%j', (value, field) => {
    let fault: unknown;
    try {
      policiesFromRecord(value);
    } catch (thrown) {
      fault = thrown;
    }
    expect(fault).toBeInstanceOf(Refusal);
    expect(fault).toMatchObject({ code: 'invalid_policy', field });
  });

  it('a member that is none, also in a rule that was written in a program', () => {
    expect(() => policiesOf([rule({ expiry: 5 } as Partial<PolicyRule>)])).toThrow(
      'invalid_policy: policies.one.expiry',
    );
    const odd = { not: { ...over(5), extra: 1 } } as unknown as Condition;
    expect(() => policiesOf([rule({ conditions: odd })])).toThrow('invalid_policy: policies.one.conditions.not.extra');
    let deep: Condition = over(5);
    for (let level = 0; level < 22; level += 1) deep = { not: deep };
    expect(() => policiesOf([rule({ conditions: deep })])).toThrow('nests deeper');
    const many = Array.from({ length: 1_001 }, (_, index) => rule({ name: `r${index}` }));
    expect(() => policiesOf(many)).toThrow('1000 rules at most');
    expect(() => policiesFromText('[{')).toThrow('invalid_record');
  });
});
