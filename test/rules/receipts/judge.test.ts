/**
 * Properties of the judgement about a requirement:
 * - it is met by distinct people with distinct keys in allowed roles, and by nothing else; every rule must be met;
 * - the order in which receipts arrive, and how often, never matters;
 * - a quorum is monotone: one more approval never takes a met requirement away, and never shortens it;
 * - the requester never counts, whoever else there is; a rejection by anyone entitled ends it, expired or not;
 * - expiry is exclusive, and a key that is revoked, replaced, gone or without its role no longer counts;
 * - with the receipts of a met requirement alone it is met as well, until exactly the moment it said.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ApprovalRule, Requirement } from '../../../src/rules/receipts/approval-rule';
import type { Decision } from '../../../src/rules/receipts/decision';
import type { Jwks } from '../../../src/rules/receipts/jwks';
import { judgeApprovals, type Judgement } from '../../../src/rules/receipts/judge';
import {
  APPROVER,
  AUDITOR,
  CLERK,
  KEYS,
  NOW,
  REVIEWERS,
  approval,
  common,
  decided,
  digest,
  entry,
  jwks,
  nonce,
  personOf,
  request,
  resolution,
} from './support';

const HOUR = 3600;
const yes = (name: string, role = APPROVER, life = HOUR): Decision =>
  decided(name, approval({ role, exp: common.iat + life, jti: nonce(life) }));
const no = (name: string, role = APPROVER): Decision => decided(name, approval({ role, decision: 'reject' }));
const requester = digest(personOf('rita'));
const needs = (...rules: ApprovalRule[]): Requirement => ({ rules, requester });
const judge = (requirement: Requirement, decisions: readonly Decision[], now = NOW, keys: Jwks = KEYS): Judgement =>
  judgeApprovals(requirement, decisions, keys, now);
const met = (expiresAt: number, ...receipts: Decision[]): Judgement => ({
  state: 'met',
  receipts: receipts.map(({ digest: name }) => name).sort(),
  expiresAt,
});
const missing = (have: number, need: number, more: object = {}): object => ({
  state: 'missing',
  rules: [{ have, need }],
  signedRequest: false,
  expired: 0,
  revoked: 0,
  ...more,
});

const [ann, bob, cleo] = [yes('ann'), yes('bob', APPROVER, 2 * HOUR), yes('cleo', APPROVER, 3 * HOUR)];
const TWO: ApprovalRule = { approvals: 2, roles: [APPROVER] };
const MS = 1000 * HOUR;

describe('a requirement', () => {
  const rows: readonly (readonly [string, Requirement, readonly Decision[], object])[] = [
    ['of nothing', needs(), [ann], { state: 'not_asked' }],
    ['of one', needs({ approvals: 1 }), [ann], met(NOW + MS, ann)],
    ['of two, by two people', needs(TWO), [ann, bob], met(NOW + MS, ann, bob)],
    ['of two, by the two that last longest', needs(TWO), [ann, bob, cleo], met(NOW + 2 * MS, bob, cleo)],
    ['of two, by one', needs(TWO), [ann], missing(1, 2)],
    ['of two, by one person twice', needs(TWO), [ann, yes('ann', APPROVER, 2 * HOUR)], missing(1, 2)],
    ['of two, by one person in two roles', needs({ approvals: 2 }), [ann, yes('ann', AUDITOR)], missing(1, 2)],
    ['of a role that nobody spoke in', needs({ approvals: 1, roles: [AUDITOR] }), [ann, bob], missing(0, 1)],
    [
      'of any of two roles',
      needs({ approvals: 2, roles: [AUDITOR, CLERK] }),
      [yes('ann', AUDITOR), yes('dan', CLERK)],
      {
        state: 'met',
      },
    ],
    [
      'of two rules, one met',
      needs(TWO, { approvals: 1, roles: [CLERK] }),
      [ann, bob],
      {
        state: 'missing',
        rules: [
          { have: 2, need: 2 },
          { have: 0, need: 1 },
        ],
      },
    ],
    [
      'of two rules, by one person in both',
      needs({ approvals: 1, roles: [AUDITOR] }, { approvals: 1, roles: [APPROVER] }),
      [ann, yes('ann', AUDITOR)],
      { state: 'met' },
    ],
    ['without the requester', needs(TWO), [ann, yes('rita')], missing(1, 2)],
    [
      'ended by a rejection',
      needs(TWO),
      [ann, bob, no('cleo')],
      { state: 'denied', by: no('cleo').digest, kid: 'key-cleo' },
    ],
    ['ended by somebody who also approved', needs(TWO), [ann, bob, no('ann')], { state: 'denied' }],
    ['not ended by the requester', needs(TWO), [ann, bob, no('rita')], met(NOW + MS, ann, bob)],
    ['not ended in a role that no rule asks', needs(TWO), [ann, bob, no('dan', CLERK)], met(NOW + MS, ann, bob)],
    ['not met by a resolution', needs({ approvals: 1 }), [decided('ann', resolution())], missing(0, 1)],
    [
      'of a signed request, without',
      needs({ ...TWO, signedRequest: true }),
      [ann, bob],
      missing(2, 2, { signedRequest: true }),
    ],
    [
      'of a signed request, with',
      needs({ ...TWO, signedRequest: true }),
      [ann, bob, decided('rita', request())],
      {
        state: 'met',
        receipts: [ann, bob, decided('rita', request())].map((one) => one.digest).sort(),
      },
    ],
    [
      'of a signed request, by somebody else',
      needs({ ...TWO, signedRequest: true }),
      [ann, bob, decided('dan', request())],
      {
        state: 'missing',
        signedRequest: true,
      },
    ],
    [
      'whoever signed a request does not count',
      { rules: [TWO], requester: null },
      [ann, bob, decided('ann', request())],
      {
        state: 'missing',
        rules: [{ have: 1, need: 2 }],
      },
    ],
  ];
  it.each(rows)('%s', (_what, requirement, decisions, expected) => {
    expect(judge(requirement, decisions)).toMatchObject(expected);
    expect(judge(requirement, [...decisions].reverse())).toEqual(judge(requirement, decisions));
  });
});

describe('at a send', () => {
  it.each([
    [-1, 'met'],
    [0, 'missing'],
    [1, 'missing'],
  ] as const)('%i ms from its expiry: %s', (ms, state) => {
    expect(judge(needs(TWO), [ann, bob], NOW + MS + ms).state).toBe(state);
  });

  it('says how many have expired', () => {
    expect(judge(needs(TWO), [ann, bob], NOW + MS)).toEqual(missing(1, 2, { expired: 1 }));
  });

  it('is ended by a rejection that has expired since: it came in time', () => {
    expect(judge(needs(TWO), [cleo, no('ann')], NOW + MS)).toMatchObject({ state: 'denied' });
  });

  const others = REVIEWERS.filter(({ kid }) => kid !== 'key-ann');
  const changes: readonly (readonly [string, Jwks])[] = [
    ['revoked', jwks(entry('ann', [APPROVER], { countersign_revoked: true }), ...others)],
    ['gone', jwks(...others)],
    ['without its role', jwks(entry('ann', [CLERK]), ...others)],
    ['replaced', jwks(entry('ann', [APPROVER], { x: entry('eve', [])['x'] }), ...others)],
  ];
  it.each(changes)('a key that is %s no longer counts', (_what, keys) => {
    expect(judge(needs(TWO), [ann, bob], NOW, keys)).toEqual(missing(1, 2, { revoked: 1 }));
    expect(judge(needs(TWO), [ann, bob, cleo], NOW, keys)).toEqual(met(NOW + 2 * MS, bob, cleo));
    expect(judge(needs(TWO), [bob, cleo, no('ann')], NOW, keys).state).toBe('met');
  });

  it('a key that changed hands counts for nobody, neither who had it nor who has it', () => {
    const keys = jwks(entry('ann', [APPROVER], { countersign_person: personOf('rita') }), ...others.slice(0, 2));
    expect(judge(needs({ approvals: 1 }), [ann], NOW, keys)).toEqual(missing(0, 1, { revoked: 1 }));
    const then = decided('ann', approval(), keys);
    expect(judge(needs({ approvals: 1 }), [then])).toEqual(missing(0, 1));
  });

  it('a signed request counts as long as it is valid', () => {
    const asked = needs({ ...TWO, signedRequest: true });
    const [short, long] = [HOUR / 2, HOUR].map((life) => decided('rita', request({ exp: common.iat + life })));
    const all = [ann, bob, short] as Decision[];
    expect(judge(asked, all)).toMatchObject({ state: 'met', expiresAt: NOW + MS / 2 });
    expect(judge(asked, all, NOW + MS / 2)).toEqual(missing(2, 2, { signedRequest: true }));
    expect(judge(asked, [...all, long as Decision], NOW + MS / 2)).toMatchObject({ state: 'met', expiresAt: NOW + MS });
  });

  it('two keys of one person are one person', () => {
    const keys = jwks(entry('ann', [APPROVER]), entry('bob', [APPROVER], { countersign_person: personOf('ann') }));
    const both = [yes('ann'), decided('bob', approval(), keys)];
    expect(judge(needs(TWO), both, NOW, keys)).toEqual(missing(1, 2));
  });
});

describe('in general', () => {
  /** Every decision that a property may draw, signed once. */
  const POOL: readonly Decision[] = ['ann', 'bob', 'cleo', 'rita', 'rex'].flatMap((name) => [
    ...[1, 2, 3].map((life) => yes(name, APPROVER, life * HOUR)),
    ...(name === 'ann' ? [yes('ann', AUDITOR), decided('ann', resolution())] : []),
  ]);
  const VETOES = ['ann', 'bob', 'cleo'].map((name) => no(name));
  const some = fc.subarray([...POOL]);
  const rule = fc.record({
    approvals: fc.integer({ min: 1, max: 4 }),
    roles: fc.subarray([APPROVER, AUDITOR], { minLength: 1 }),
  });
  const requirement = fc.record({
    rules: fc.array(rule, { minLength: 1, maxLength: 3 }),
    requester: fc.constant(requester),
  });
  const moment = fc.integer({ min: 0, max: 4 * HOUR }).map((s) => NOW + 1000 * s);
  const RUNS = { numRuns: 1_000, seed: 11 };

  it('neither order nor repetition matters', () => {
    fc.assert(
      fc.property(
        requirement,
        fc.subarray([...POOL, ...VETOES]),
        fc.infiniteStream(fc.nat()),
        moment,
        (asked, given, order, now) => {
          const shuffled = [...given, ...given.slice(0, 2)]
            .map((one) => [order.next().value ?? 0, one] as const)
            .sort(([a], [b]) => a - b)
            .map(([, one]) => one);
          expect(judge(asked, shuffled, now)).toEqual(judge(asked, given, now));
        },
      ),
      RUNS,
    );
  });

  it('one more approval never makes it worse', () => {
    fc.assert(
      fc.property(requirement, some, fc.constantFrom(...POOL), moment, (asked, given, more, now) => {
        const before = judge(asked, given, now);
        const after = judge(asked, [...given, more], now);
        if (before.state === 'met') {
          expect(after).toMatchObject({ state: 'met' });
          if (after.state === 'met') expect(after.expiresAt).toBeGreaterThanOrEqual(before.expiresAt);
        } else if (before.state === 'missing' && after.state === 'missing') {
          after.rules.forEach(({ have }, index) => expect(have).toBeGreaterThanOrEqual(before.rules[index]?.have ?? 0));
        }
      }),
      RUNS,
    );
  });

  it('what is met is met by its receipts alone, until the moment it said, and by no fewer', () => {
    fc.assert(
      fc.property(requirement, some, moment, (asked, given, now) => {
        const before = judge(asked, given, now);
        if (before.state !== 'met') return;
        const used = given.filter((one) => before.receipts.includes(one.digest));
        expect(judge(asked, used, before.expiresAt - 1)).toEqual(before);
        expect(judge(asked, used, before.expiresAt).state).toBe('missing');
        const people = new Set(used.map(({ key }) => key.person));
        expect(people.size).toBeGreaterThanOrEqual(Math.max(...asked.rules.map(({ approvals }) => approvals)));
        expect(people.has(requester)).toBe(false);
        expect(used.some(({ key }) => key.kid === 'key-rex')).toBe(false);
      }),
      RUNS,
    );
  });

  it('a rejection by anyone entitled ends it, whatever else there is', () => {
    const asked = fc.record({
      rules: fc.array(fc.record({ approvals: fc.integer({ min: 1, max: 4 }) }), { minLength: 1, maxLength: 3 }),
      requester: fc.constant(requester),
    });
    fc.assert(
      fc.property(asked, some, fc.constantFrom(...VETOES), moment, (needed, given, veto, now) => {
        expect(judge(needed, [...given, veto], now)).toMatchObject({ state: 'denied', by: veto.digest });
      }),
      RUNS,
    );
  });
});
