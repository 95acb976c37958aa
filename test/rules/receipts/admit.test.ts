/**
 * Properties of the one decision about a receipt:
 * - a receipt that is right in everything is admitted; wrong in one claim, it is refused with the code of that claim;
 * - validity ends exactly at `exp`, begins at most five minutes before `iat`, and no lifetime exceeds 30 days or the policy;
 * - a used nonce admits the same decision again, and no other;
 * - only what is asked is admitted: no approval without a rule, no resolution without a question.
 */
import { describe, expect, it } from 'vitest';
import { MAX_LIFETIME_MS, admitDecision, type DecisionContext } from '../../../src/rules/receipts/admit';
import type { Claims } from '../../../src/rules/receipts/claims';
import { signReceipt } from '../../../src/rules/receipts/jws';
import type { RefusalCode } from '../../../src/rules/refusal';
import { doorTable } from './door-table';
import {
  APPROVER,
  AUDITOR,
  CLERK,
  CONTEXT,
  NOW,
  approval,
  common,
  decided,
  digest,
  nonce,
  personOf,
  request,
  resolution,
  signer,
} from './support';

function outcome(name: string, claims: Claims, context: Partial<DecisionContext> = {}): RefusalCode | 'admitted' {
  const answer = admitDecision(signReceipt(claims, signer(name)), { ...CONTEXT, ...context });
  return answer.ok ? 'admitted' : answer.refusal.code;
}

type Row = readonly [what: string, name: string, claims: Claims, code: RefusalCode | 'admitted', context?: object];
const whole = (rows: readonly Row[]): readonly Required<Row>[] =>
  rows.map(([what, name, claims, code, context = {}]) => [what, name, claims, code, context]);

const ADMITTED: readonly Row[] = [
  ['an approval', 'ann', approval(), 'admitted'],
  ['a rejection', 'bob', approval({ decision: 'reject' }), 'admitted'],
  ['an approval in another role that the key holds', 'ann', approval({ role: AUDITOR }), 'admitted'],
  ['any role where the rule names none', 'dan', approval({ role: CLERK }), 'admitted', { rules: [{ approvals: 1 }] }],
  ['a resolution', 'ann', resolution(), 'admitted'],
  ['a resolution where no approval was asked', 'dan', resolution({ role: CLERK }), 'admitted', { rules: [] }],
  ['a request of the requester', 'rita', request(), 'admitted'],
  ['a request where nobody is named', 'dan', request(), 'admitted', { requester: null }],
];

const WRONG: readonly Row[] = [
  ['journal', 'ann', approval({ journalId: `jrn_${'9'.repeat(32)}` }), 'receipt_wrong_journal'],
  ['run', 'ann', approval({ runId: `run_${'9'.repeat(32)}` }), 'receipt_wrong_run'],
  ['plan', 'ann', approval({ planDigest: digest('other') }), 'receipt_wrong_plan'],
  ['lineage, an earlier one', 'ann', approval(), 'receipt_wrong_lineage', { lineage: 2 }],
  ['lineage, a later one', 'ann', approval({ lineage: 2 }), 'receipt_wrong_lineage'],
  ['role, not held', 'bob', approval({ role: AUDITOR }), 'receipt_wrong_role'],
  ['role, not allowed', 'dan', approval({ role: CLERK }), 'receipt_wrong_role'],
  ['role of another version', 'ann', approval({ role: AUDITOR.replace('1.0.0', '1.0.1') }), 'receipt_wrong_role'],
  ['role of a resolution', 'dan', resolution({ role: CLERK }), 'receipt_wrong_role'],
  ['person: who asked approves', 'rita', approval(), 'receipt_requester'],
  ['person: who asked rejects', 'rita', approval({ decision: 'reject' }), 'receipt_requester'],
  ['person: who asked resolves', 'rita', resolution(), 'receipt_requester'],
  ['person: a request of another', 'ann', request(), 'receipt_requester'],
  ['key: revoked', 'rex', approval(), 'receipt_revoked'],
  ['key: unknown', 'zoe', approval(), 'receipt_unknown_key'],
  ['head', 'ann', resolution({ headDigest: digest('old') }), 'receipt_stale_head'],
  ['moment: no approval is asked', 'ann', approval(), 'receipt_not_wanted', { rules: [] }],
  ['moment: no request is asked', 'rita', request(), 'receipt_not_wanted', { rules: [] }],
  ['moment: no question is open', 'ann', resolution(), 'receipt_not_wanted', { headDigest: null }],
];

describe('a receipt', () => {
  it.each(doorTable(CONTEXT))('of the table of doors: $what', ({ token, code }) => {
    const answer = admitDecision(token, { ...CONTEXT, headDigest: null });
    expect(answer.ok ? 'admitted' : answer.refusal.code).toBe(code);
  });
  it.each(whole(ADMITTED))('is admitted: %s', (_what, name, claims, code, context) => {
    expect(outcome(name, claims, context)).toBe(code);
  });
  it.each(whole(WRONG))('is refused for its %s', (_what, name, claims, code, context) => {
    expect(outcome(name, claims, context)).toBe(code);
  });

  it('is known by its digest, its nonce and what it decides', () => {
    const answer = admitDecision(signReceipt(approval(), signer('ann')), CONTEXT);
    expect(answer).toEqual({ ok: true, decision: decided('ann', approval()) });
  });
});

describe('time', () => {
  const at = (ms: number): { now: number } => ({ now: NOW + ms });
  const LIFE = MAX_LIFETIME_MS / 1000;
  const rows: readonly (readonly [string, RefusalCode | 'admitted', Claims, object])[] = [
    ['1 ms before exp', 'admitted', approval(), at(3_600_000 - 1)],
    ['at exp', 'receipt_expired', approval(), at(3_600_000)],
    ['1 ms after exp', 'receipt_expired', approval(), at(3_600_000 + 1)],
    ['300 s before iat, and 1 ms', 'receipt_not_yet_valid', approval(), at(-300_001)],
    ['300 s before iat', 'admitted', approval(), at(-300_000)],
    ['a life of 30 days', 'admitted', approval({ exp: common.iat + LIFE }), {}],
    ['a life of 30 days and 1 s', 'receipt_lifetime', approval({ exp: common.iat + LIFE + 1 }), {}],
    ['a life of no time', 'receipt_lifetime', approval({ exp: common.iat }), {}],
    ['a life that ends before it begins', 'receipt_lifetime', approval({ exp: common.iat - 1 }), {}],
    ['the longest time', 'receipt_lifetime', approval({ exp: 253_402_300_799 }), {}],
    ['a life as the policy allows', 'admitted', approval(), { maxLifetimeMs: 3_600_000 }],
    ['a longer life than the policy allows', 'receipt_lifetime', approval(), { maxLifetimeMs: 3_599_999 }],
    [
      'a policy cannot allow more',
      'receipt_lifetime',
      approval({ exp: common.iat + LIFE + 1 }),
      { maxLifetimeMs: 1e15 },
    ],
    ['an expired rejection', 'receipt_expired', approval({ decision: 'reject' }), at(3_600_000)],
    ['an expired request', 'receipt_expired', request(), { ...at(3_600_000), requester: null }],
    ['an expired resolution', 'receipt_expired', resolution(), at(3_600_000)],
  ];
  it.each(rows)('%s: %s', (_what, code, claims, context) => {
    expect(outcome(claims.kind === 'request' ? 'dan' : 'ann', claims, context)).toBe(code);
  });
});

describe('a nonce', () => {
  const first = decided('ann', approval());
  const seen = new Map([[first.nonceName, first.actionDigest]]);
  const rows: readonly (readonly [string, RefusalCode | 'admitted', string, Claims])[] = [
    ['the same receipt', 'admitted', 'ann', approval()],
    ['the same decision, signed again', 'admitted', 'ann', approval({ exp: common.exp + 1 })],
    ['another nonce', 'admitted', 'ann', approval({ jti: nonce(2), decision: 'reject' })],
    ['the same nonce under another key', 'admitted', 'bob', approval({ decision: 'reject' })],
    ['another decision', 'receipt_replayed', 'ann', approval({ decision: 'reject' })],
    ['another role', 'receipt_replayed', 'ann', approval({ role: AUDITOR })],
    ['another kind', 'receipt_replayed', 'ann', resolution()],
  ];
  it.each(rows)('that was used, for %s: %s', (_what, code, name, claims) => {
    expect(outcome(name, claims, { seen })).toBe(code);
  });
});

it('takes everybody who is known to have asked, not only whom the plan names', () => {
  const context = { requester: null, requesters: new Set([digest(personOf('ann'))]) };
  expect(outcome('ann', approval(), context)).toBe('receipt_requester');
  expect(outcome('rita', approval({ role: APPROVER }), context)).toBe('admitted');
});
