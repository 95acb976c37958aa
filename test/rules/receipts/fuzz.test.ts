/**
 * Every reader of receipts, fed with valid records that were damaged in their structure.
 *
 * Held here, over at least 100,000 inputs each (FUZZ_INPUTS for more):
 * - whatever is read, it is accepted or refused with a code; no other error, no hang, no deep recursion;
 * - what is accepted is written back as a text that reads back the same;
 * - no damaged receipt is admitted at a door, and every refusal is one sentence that quotes nothing of it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admitDecision } from '../../../src/rules/receipts/admit';
import { approvalFromBytes, approvalToText } from '../../../src/rules/receipts/approval-record';
import { requirementFromRecord, requirementToRecord } from '../../../src/rules/receipts/approval-rule';
import { fromBase64url, toBase64url } from '../../../src/rules/receipts/base64url';
import { RECEIPT_TYPES, claimsToRecord, type Claims } from '../../../src/rules/receipts/claims';
import { jwksFromBytes, keysFromRecord, keysToRecord } from '../../../src/rules/receipts/jwks';
import { claimsOf, decodeReceipt, signReceipt } from '../../../src/rules/receipts/jws';
import { claimFromBytes, claimToText } from '../../../src/rules/receipts/nonce-claim';
import { receiptFromBytes, receiptToText } from '../../../src/rules/receipts/receipt-record';
import { makeSigningKey, signingKeyFromBytes, signingKeyToText } from '../../../src/rules/receipts/signing-key';
import { canonicalJson, isJsonObject, parseJson } from '../../../src/rules/recovery';
import { INPUTS, fuzz, type Reader } from '../damage';
import {
  APPROVER,
  AUDITOR,
  CONTEXT,
  KEYS,
  NOW,
  REVIEWERS,
  action,
  approval,
  common,
  decided,
  digest,
  nonce,
  personOf,
  request,
  resolution,
  seedOf,
  signer,
} from './support';

const plain = (text: string): unknown => JSON.parse(text) as unknown;
/** UTF-8 where there is one; a lone surrogate becomes bytes that are none. */
const part = (text: string): string => Buffer.from(text).toString('base64url');
const SEAL = 'A'.repeat(86);

const claims = (what: string, valid: Claims): Reader => ({
  name: what,
  valid: plain(canonicalJson(claimsToRecord(valid))),
  trip: (text) => {
    const header = part(canonicalJson({ alg: 'EdDSA', kid: 'key-ann', typ: RECEIPT_TYPES[valid.kind] }));
    return canonicalJson(claimsToRecord(claimsOf(decodeReceipt(`${header}.${part(text)}.${SEAL}`))));
  },
});

const decision = decided('ann', approval());
const requirement = {
  rules: [
    { approvals: 2, roles: [APPROVER], signedRequest: true, deadline: { afterMs: 5, then: { escalate: AUDITOR } } },
    { approvals: 1, deadline: { afterMs: 5, then: 'deny' as const } },
  ],
  requester: digest('somebody'),
};

const READERS: readonly Reader[] = [
  claims('request', request()),
  claims('approval', approval()),
  claims('resolution', resolution({ resolution: 'mark_committed', actionIds: [action(1)], externalId: 'é' })),
  {
    name: 'header',
    valid: { alg: 'EdDSA', kid: 'key-ann', typ: RECEIPT_TYPES.approval },
    trip: (text) => {
      const { kid, kind } = decodeReceipt(`${part(text)}.${part('{}')}.${SEAL}`);
      return canonicalJson({ kid, kind });
    },
  },
  {
    name: 'key set',
    valid: { keys: [REVIEWERS[0], REVIEWERS[5], { kty: 'RSA', n: 'AQAB', kid: 'key-rsa' }], more: [1] },
    trip: (text) => canonicalJson({ keys: keysToRecord(jwksFromBytes(text)) }),
  },
  {
    name: 'list of keys',
    valid: plain(canonicalJson({ keys: keysToRecord(KEYS) })),
    trip: (text) => {
      const read = parseJson(text, 'keys');
      const keys = isJsonObject(read) ? read['keys'] : read;
      return canonicalJson({ keys: keysToRecord(keysFromRecord(keys)) });
    },
  },
  {
    name: 'requirement',
    valid: plain(canonicalJson(requirementToRecord(requirement))),
    trip: (text) => canonicalJson(requirementToRecord(requirementFromRecord(parseJson(text, 'requirement')))),
  },
  {
    name: 'approval record',
    valid: plain(approvalToText({ ...common, receipts: [digest('a'), digest('b')].sort(), expiresAt: NOW })),
    trip: (text) => approvalToText(approvalFromBytes(text)),
  },
  {
    name: 'nonce claim',
    valid: plain(claimToText({ nonce: nonce(1), runId: common.runId, lineage: 1, actionDigest: digest('x') })),
    trip: (text) => claimToText(claimFromBytes(text)),
  },
  {
    name: 'receipt record',
    valid: plain(receiptToText({ token: decision.token, key: decision.key, receivedAt: NOW })),
    trip: (text) => receiptToText(receiptFromBytes(text)),
  },
  {
    name: 'signing key',
    valid: plain(signingKeyToText(makeSigningKey(seedOf('own'), personOf('own'), [APPROVER]))),
    trip: (text) => signingKeyToText(signingKeyFromBytes(text)),
  },
];

const WORDS = [digest('0'), APPROVER, personOf('ann'), common.runId, nonce(2), action(2), 'EdDSA', 'reject', 'abort'];

describe.each(READERS)('the reader of a $name', (reader) => fuzz(reader, WORDS));

describe('base64url', () => {
  it('has one text for every byte string, and one byte string for every text', { timeout: 3_600_000 }, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const text = toBase64url(bytes);
        if (text !== Buffer.from(bytes).toString('base64url')) throw new Error('is not base64url');
        if (Buffer.compare(fromBase64url(text) ?? new Uint8Array(1), bytes) !== 0) throw new Error('reads otherwise');
      }),
      { numRuns: INPUTS, seed: 7 },
    );
    fc.assert(
      fc.property(fc.string({ maxLength: 12, unit: fc.constantFrom(...'ABab01-_=+/ \n\u00e9') }), (text) => {
        const bytes = fromBase64url(text);
        if (bytes !== null && toBase64url(bytes) !== text) throw new Error('has two texts');
      }),
      { numRuns: INPUTS, seed: 7 },
    );
  });
});

describe('a damaged receipt', () => {
  const token = signReceipt(approval(), signer('ann'));
  const seal = token.lastIndexOf('.');
  const CHARACTERS = [...'AZaz09-_.=+/ "{', '\n', '\u0000', 'é', '\ud800'];

  it('is never admitted, and its refusal quotes nothing', { timeout: 3_600_000 }, () => {
    const anywhere = fc.record({
      at: fc.nat(seal),
      gone: fc.integer({ min: 0, max: 3 }),
      put: fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 3 }),
      times: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 400),
    });
    const inSignature = fc.record({
      at: fc.integer({ min: seal + 1, max: token.length - 2 }),
      gone: fc.constant(1),
      put: fc.constantFrom(...'AbC09-_').map((character) => [character]),
      times: fc.constant(1),
    });
    // Only a damaged signature costs its whole computation.
    const damage = fc.oneof({ weight: 99, arbitrary: anywhere }, { weight: 1, arbitrary: inSignature });
    let unsigned = 0;
    fc.assert(
      fc.property(damage, ({ at, gone, put, times }) => {
        const other = token.slice(0, at) + put.join('').repeat(times) + token.slice(at + gone);
        if (other === token) return;
        const answer = admitDecision(other, CONTEXT);
        if (answer.ok) throw new Error('was admitted');
        const { code, message } = answer.refusal;
        if (code === 'receipt_unsigned') unsigned += 1;
        if (!/^[^\n]{1,300}$/.test(message)) throw new Error('is refused with no sentence');
      }),
      { numRuns: INPUTS, seed: 7 },
    );
    expect(unsigned).toBeGreaterThan(0);
  });
});
