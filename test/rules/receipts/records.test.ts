/**
 * Properties of what the journal keeps of an approval:
 * - each record is read back as it was written, and its text is one: no second text of it is taken for the same;
 * - a stored receipt counts only with the key that made its signature;
 * - a nonce has one name for each key, and its claim differs with whatever was decided.
 */
import { describe, expect, it } from 'vitest';
import {
  approvalDigest,
  approvalFromBytes,
  approvalToText,
  type ApprovalRecord,
} from '../../../src/rules/receipts/approval-record';
import { claimFromBytes, claimToText, nonceName } from '../../../src/rules/receipts/nonce-claim';
import { decisionOf, receiptFromBytes, receiptName, receiptToText } from '../../../src/rules/receipts/receipt-record';
import { sha256Digest } from '../../../src/rules/recovery';
import { Refusal, type RefusalCode } from '../../../src/rules/refusal';
import { NOW, approval, common, decided, digest, nonce, resolution, xOf } from './support';

const record: ApprovalRecord = {
  journalId: common.journalId,
  runId: common.runId,
  lineage: 1,
  planDigest: common.planDigest,
  receipts: [digest('a'), digest('b')].sort(),
  expiresAt: NOW,
};

describe('an approval', () => {
  it('is read back, and known by its digest', () => {
    expect(approvalFromBytes(approvalToText(record))).toEqual(record);
    expect(approvalDigest(record)).toBe(sha256Digest(approvalToText(record)));
  });

  it.each<readonly [string, Partial<ApprovalRecord>]>([
    ['no receipts', { receipts: [] }],
    ['receipts in another order', { receipts: [...record.receipts].reverse() }],
    ['a receipt twice', { receipts: [digest('a'), digest('a')] }],
    ['no digest', { receipts: ['a'] }],
  ])('of %s is refused', (_what, change) => {
    expect(() => approvalFromBytes(approvalToText({ ...record, ...change }))).toThrow(Refusal);
  });
});

describe('a stored receipt', () => {
  const decision = decided('ann', approval());
  const stored = { token: decision.token, key: decision.key, receivedAt: NOW };

  it('is read back, and says what was decided', () => {
    expect(receiptFromBytes(receiptToText(stored))).toEqual(stored);
    expect(decisionOf(receiptFromBytes(receiptToText(stored)))).toEqual(decision);
    expect(receiptName(decision.digest)).toBe(`${decision.digest.slice(7)}.json`);
    expect(receiptToText(stored)).not.toContain('person:');
  });

  it.each<readonly [string, RefusalCode, object]>([
    ['another key', 'receipt_unsigned', { key: { ...decision.key, x: xOf('bob') } }],
    ['another key id', 'receipt_unknown_key', { key: { ...decision.key, kid: 'key-bob' } }],
    ['another token', 'receipt_unsigned', { token: `${decision.token.slice(0, -3)}AAA` }],
    ['no token', 'receipt_malformed', { token: 'x' }],
  ])('counts for nothing with %s', (_what, code, change) => {
    const read = receiptFromBytes(receiptToText({ ...stored, ...change }));
    expect(() => decisionOf(read)).toThrow(expect.objectContaining({ code }));
  });
});

describe('a nonce', () => {
  it('has one name for each key, and its claim is read back', () => {
    const claim = { nonce: nonce(1), runId: common.runId, lineage: 1, actionDigest: digest('x') };
    expect(claimFromBytes(claimToText(claim))).toEqual(claim);
    const names = [
      nonceName('a', nonce(1)),
      nonceName('b', nonce(1)),
      nonceName('a', nonce(2)),
      nonceName('a/b', nonce(1)),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(names[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is claimed for what was decided, not for when', () => {
    const digests = (...all: Parameters<typeof decided>[1][]): unknown =>
      new Set(all.map((one) => decided('ann', one).actionDigest)).size;
    expect(digests(approval(), approval({ exp: common.exp + 1, iat: common.iat + 1, jti: nonce(2) }))).toBe(1);
    expect(
      digests(
        approval(),
        approval({ decision: 'reject' }),
        approval({ lineage: 2 }),
        resolution(),
        resolution({ resolution: 'abort' }),
        resolution({ headDigest: digest('other') }),
      ),
    ).toBe(6);
  });
});
