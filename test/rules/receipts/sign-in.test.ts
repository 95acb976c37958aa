/**
 * Properties of sign-ins and statements:
 * - a sign-in is admitted exactly when it answers an open nonce of this inbox, for its origin, in time, by a live reviewer's key; each other
 *   one is refused by the code that says why, the last millisecond included
 * - it is no answer to a plan and permits no launch, and no receipt of another kind signs in
 * - an origin is https, or this machine; nothing with a path, a name of somebody, or another spelling
 * - a statement reads back as what it was made of, and signs to the same receipt; anything else is refused
 */
import { ed25519 } from '@noble/curves/ed25519';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admitDecision } from '../../../src/rules/receipts/admit';
import { RECEIPT_KINDS, type SignedClaims } from '../../../src/rules/receipts/claims';
import {
  claimsOf,
  decodeReceipt,
  launchClaimsOf,
  signReceipt,
  signedBytes,
  signingInput,
  withSignature,
} from '../../../src/rules/receipts/jws';
import { admittedSignIn, type SignInContext } from '../../../src/rules/receipts/sign-in';
import { isInboxOrigin, type SignInClaims } from '../../../src/rules/receipts/sign-in-claims';
import { statementFromText, statementToText } from '../../../src/rules/receipts/statement';
import { doorOf } from '../../../src/rules/receipts/question';
import { Refusal } from '../../../src/rules/refusal';
import { KEYS, NOW, approval, nonce, personOf, request, resolution, seedOf, signer } from './support';
import { personDigest } from '../../../src/rules/receipts/names';

const ORIGIN = 'http://127.0.0.1:8484';
const claims = (more: Partial<SignInClaims> = {}): SignInClaims => ({
  kind: 'signin',
  origin: ORIGIN,
  jti: nonce(7),
  iat: NOW / 1000,
  exp: NOW / 1000 + 300,
  ...more,
});
const context = (more: Partial<SignInContext> = {}): SignInContext => ({
  now: NOW,
  keys: KEYS,
  origin: ORIGIN,
  nonces: new Set([nonce(7)]),
  ...more,
});
const signed = (more: Partial<SignInClaims> = {}, who = 'ann'): string => signReceipt(claims(more), signer(who));

function codeOf(act: () => unknown): string {
  try {
    act();
    return 'admitted';
  } catch (fault) {
    if (fault instanceof Refusal) return fault.code;
    throw fault;
  }
}
const judged = (token: unknown, more: Partial<SignInContext> = {}): string =>
  codeOf(() => admittedSignIn(token, context(more)));

describe('a sign-in', () => {
  it('is admitted as the answer to an open nonce', () => {
    expect(admittedSignIn(signed(), context())).toEqual({
      kid: 'key-ann',
      person: personDigest(personOf('ann')),
      roles: KEYS.keys.find(({ kid }) => kid === 'key-ann')?.roles,
      nonce: nonce(7),
    });
  });

  const foreign = `${signed().slice(0, signed().lastIndexOf('.'))}.${signed({ jti: nonce(8) }).split('.')[2] ?? ''}`;
  it.each([
    ['of nobody’s key', signed({}, 'eve'), {}, 'receipt_unknown_key'],
    ['of a revoked key', signed({}, 'rex'), {}, 'receipt_revoked'],
    ['for another inbox', signed({ origin: 'https://inbox.example.org' }), {}, 'receipt_wrong_origin'],
    ['for another port', signed({ origin: 'http://127.0.0.1:8485' }), {}, 'receipt_wrong_origin'],
    ['a nonce of somebody else', signed(), { nonces: new Set([nonce(8)]) }, 'receipt_replayed'],
    ['an answered nonce', signed(), { nonces: new Set<string>() }, 'receipt_replayed'],
    ['the last millisecond', signed(), { now: NOW + 299_999 }, 'admitted'],
    ['the moment of its end', signed(), { now: NOW + 300_000 }, 'receipt_expired'],
    ['too long a life', signed({ exp: NOW / 1000 + 301 }), {}, 'receipt_lifetime'],
    ['no life', signed({ exp: NOW / 1000 }), {}, 'receipt_lifetime'],
    ['a clock far ahead', signed(), { now: NOW - 300_001 }, 'receipt_not_yet_valid'],
    ['a clock a little ahead', signed(), { now: NOW - 300_000 }, 'admitted'],
    ['another’s signature', foreign, {}, 'receipt_unsigned'],
    ['no text', 7, {}, 'receipt_malformed'],
    ['an approval', signReceipt(approval(), signer('ann')), {}, 'receipt_wrong_type'],
    ['a request', signReceipt(request(), signer('ann')), {}, 'receipt_wrong_type'],
    ['a resolution', signReceipt(resolution(), signer('ann')), {}, 'receipt_wrong_type'],
  ] as const)('%s', (_name, token, more, expected) => {
    expect(judged(token, more)).toBe(expected);
  });

  it('opens no other door', () => {
    expect(doorOf('signin')).toBeNull();
    expect(codeOf(() => claimsOf(decodeReceipt(signed())))).toBe('receipt_wrong_type');
    expect(codeOf(() => launchClaimsOf(decodeReceipt(signed())))).toBe('receipt_wrong_type');
    const plan = { ...context(), journalId: '', runId: '', lineage: 1, planDigest: '', headDigest: null };
    const asked = {
      ...plan,
      requesters: new Set<string>(),
      requester: null,
      rules: [],
      seen: new Map<string, string>(),
    };
    expect(admitDecision(signed(), asked)).toMatchObject({ ok: false, refusal: { code: 'receipt_wrong_type' } });
  });

  it('is refused in any other form', () => {
    const records: object[] = [{}, { ...claims(), role: 'x' }, { origin: ORIGIN, jti: nonce(1), iat: 1.5, exp: 2 }];
    for (const record of records) {
      const text = JSON.stringify({ typ: 'countersign-signin+jwt', claims: record });
      expect(codeOf(() => statementFromText(text))).toBe('receipt_malformed');
    }
  });
});

it.each([
  ['https://inbox.example.org', true],
  ['https://inbox.example.org:8443', true],
  ['https://[2001:db8::1]', true],
  ['http://127.0.0.1:8484', true],
  ['http://localhost:1', true],
  ['http://[::1]:80', true],
  ['http://inbox.example.org', false],
  ['https://inbox.example.org/', false],
  ['https://user@inbox.example.org', false],
  ['https://Inbox.example.org', false],
  ['https://inbox.example.org:0', false],
  ['https://inbox.example.org:080', false],
  ['https://', false],
  ['https://-a', false],
  ['javascript://127.0.0.1', false],
  [`https://${'a'.repeat(300)}`, false],
  ['https://a\n', false],
])('the origin %j is taken: %s', (origin, taken) => {
  expect(isInboxOrigin(origin)).toBe(taken);
});

describe('a statement', () => {
  const kinds: readonly SignedClaims[] = [claims(), approval(), request(), resolution()];

  it('reads back, and signs to the same receipt wherever the key is', () => {
    for (const said of kinds) {
      const read = statementFromText(statementToText(said));
      expect(read).toEqual(said);
      const input = signingInput(read, 'key-ann');
      const elsewhere = withSignature(input, ed25519.sign(signedBytes(input), seedOf('ann')));
      expect(elsewhere).toBe(signReceipt(said, signer('ann')));
    }
  });

  it('is refused as anything else, and quotes nothing', () => {
    const good = statementToText(approval());
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.constantFrom('{', '"', 'x', '\\u0000', ''), (at, other) => {
        const text = good.slice(0, at) + other + good.slice(at + 1);
        const code = codeOf(() => statementToText(statementFromText(text)));
        expect(['admitted', 'invalid_record', 'receipt_malformed']).toContain(code);
      }),
    );
    for (const text of ['', '[]', '{}', '{"typ":"x","claims":{}}', '{"typ":"countersign-launch+jwt","claims":{}}']) {
      expect(codeOf(() => statementFromText(text))).toMatch(/^(invalid_record|receipt_malformed)$/);
    }
    expect(kinds.length + 1).toBe(RECEIPT_KINDS.length); // but for launches, which have a table of their own
  });
});
