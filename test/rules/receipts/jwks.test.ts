/**
 * Properties of the reviewers' key set:
 * - what is a reviewer's Ed25519 key is read, whatever else stands in the set or beside its members; other keys are passed over;
 * - anything of ours that cannot be understood refuses the whole set: a lost revocation would be worse than no set;
 * - one id for one key, one key for one person; no private key, no point that verifies more than it should;
 * - nobody's name is in what is passed on.
 */
import { ed25519 } from '@noble/curves/ed25519';
import { describe, expect, it } from 'vitest';
import { findKey, jwksFromBytes, keysFromRecord, keysToRecord, MAX_JWKS_BYTES } from '../../../src/rules/receipts/jwks';
import { toBase64url } from '../../../src/rules/receipts/base64url';
import {
  makeSigningKey,
  publicEntry,
  signingKeyFromBytes,
  signingKeyToText,
} from '../../../src/rules/receipts/signing-key';
import { canonicalJson } from '../../../src/rules/recovery';
import { Refusal } from '../../../src/rules/refusal';
import { APPROVER, AUDITOR, KEYS, REVIEWERS, digest, entry, jwks, personOf, seedOf, xOf, type Entry } from './support';

const refused = (...entries: readonly Entry[]): string => {
  try {
    jwks(...entries);
  } catch (fault) {
    if (fault instanceof Refusal) return fault.code;
    throw fault;
  }
  return 'read';
};

it('reads reviewers, in order of their ids, with persons by digest', () => {
  expect(findKey(KEYS, 'key-ann')).toEqual({
    kid: 'key-ann',
    x: xOf('ann'),
    person: digest(personOf('ann')),
    roles: [APPROVER, AUDITOR],
    revoked: false,
  });
  expect(findKey(KEYS, 'key-rex')?.revoked).toBe(true);
  expect(findKey(KEYS, 'key-nobody')).toBeNull();
  expect(jwks(...[...REVIEWERS].reverse())).toEqual(KEYS);
  expect(canonicalJson(keysToRecord(KEYS))).not.toContain('person:');
  expect(keysFromRecord(JSON.parse(canonicalJson(keysToRecord(KEYS))))).toEqual(KEYS);
});

it('changes its digest with whatever matters', () => {
  const digests = [
    KEYS,
    jwks(...REVIEWERS.slice(1)),
    jwks(entry('ann', [APPROVER]), ...REVIEWERS.slice(1)),
    jwks(entry('ann', [APPROVER, AUDITOR], { countersign_revoked: true }), ...REVIEWERS.slice(1)),
    jwks(entry('ann', [APPROVER, AUDITOR], { countersign_person: personOf('eve') }), ...REVIEWERS.slice(1)),
  ].map((set) => set.digest);
  expect(new Set(digests).size).toBe(digests.length);
});

describe('passed over', () => {
  it.each<readonly [string, object]>([
    ['another kind of key', { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'rsa' }],
    ['an elliptic key', { ...entry('eve', [APPROVER]), kty: 'EC', crv: 'P-256' }],
    ['another curve', { ...entry('eve', [APPROVER]), crv: 'Ed448' }],
    ['a key for exchange', { ...entry('eve', [APPROVER]), crv: 'X25519' }],
    ['a key of no reviewer, under a known id', { kty: 'OKP', crv: 'Ed25519', x: xOf('eve'), kid: 'key-ann' }],
  ])('%s', (_what, other) => {
    expect(jwks(...REVIEWERS, other as Entry)).toEqual(KEYS);
  });

  it('members that are not ours', () => {
    const more = { use: 'sig', alg: 'EdDSA', key_ops: ['verify'], x5t: 'AA', issued: 1 };
    expect(jwks(entry('ann', [APPROVER, AUDITOR], more), ...REVIEWERS.slice(1))).toEqual(KEYS);
    expect(jwksFromBytes(JSON.stringify({ keys: REVIEWERS, next: 'x' }))).toEqual(KEYS);
  });
});

describe('refuses the set', () => {
  const spare = `${xOf('eve').slice(0, -1)}${xOf('eve').endsWith('A') ? 'B' : String.fromCharCode(xOf('eve').charCodeAt(42) + 1)}`;
  const ORDER_8 = 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a';
  const mixed = toBase64url(
    ed25519.Point.fromBytes(ed25519.getPublicKey(seedOf('eve')))
      .add(ed25519.Point.fromHex(ORDER_8))
      .toBytes(),
  );
  const point = (hex: string): string => toBase64url(new Uint8Array(Buffer.from(hex, 'hex')));
  it.each<readonly [string, object]>([
    ['one id twice', entry('eve', [APPROVER], { kid: 'key-ann' })],
    ['one key under two ids', entry('eve', [APPROVER], { x: xOf('ann') })],
    ['a private key', entry('eve', [APPROVER], { d: toBase64url(seedOf('eve')) })],
    ['no id', entry('eve', [APPROVER], { kid: undefined })],
    ['an id with a line', entry('eve', [APPROVER], { kid: 'a\nb' })],
    ['no person', entry('eve', [APPROVER], { countersign_person: undefined })],
    ['a person with a version', entry('eve', [APPROVER], { countersign_person: `${personOf('eve')}@1.0.0` })],
    ['a role as person', entry('eve', [APPROVER], { countersign_person: APPROVER })],
    ['no roles', entry('eve', [])],
    ['one role, no list', entry('eve', [], { countersign_roles: APPROVER })],
    ['a role that is none', entry('eve', ['approver'])],
    ['a revocation in words', entry('eve', [APPROVER], { countersign_revoked: 'yes' })],
    ['a misspelt revocation', entry('eve', [APPROVER], { countersign_revoke: true })],
    ['a misspelt revocation of another kind of key', { kty: 'RSA', countersign_revoke: true }],
    ['a key for encryption', entry('eve', [APPROVER], { use: 'enc' })],
    ['another algorithm', entry('eve', [APPROVER], { alg: 'ES256' })],
    ['a key too short', entry('eve', [APPROVER], { x: xOf('eve').slice(2) })],
    ['a key with padding', entry('eve', [APPROVER], { x: `${xOf('eve')}=` })],
    ['a key with spare bits', entry('eve', [APPROVER], { x: spare })],
    ['the identity', entry('eve', [APPROVER], { x: point(`01${'00'.repeat(31)}`) })],
    ['a point of order 2', entry('eve', [APPROVER], { x: point(`ec${'ff'.repeat(30)}7f`) })],
    ['a point of order 8', entry('eve', [APPROVER], { x: point(ORDER_8) })],
    ['a point of mixed order', entry('eve', [APPROVER], { x: mixed })],
    ['a coordinate beyond the field', entry('eve', [APPROVER], { x: point(`f0${'ff'.repeat(30)}7f`) })],
    ['no point of the curve', entry('eve', [APPROVER], { x: point(`02${'00'.repeat(31)}`) })],
    ['no object', null as unknown as Entry],
  ])('with %s', (_what, other) => {
    expect(refused(...REVIEWERS, other as Entry)).toBe('reviewers_unavailable');
  });

  it.each<readonly [string, string | Uint8Array]>([
    ['that is no JSON', '{'],
    ['that is a list', '[]'],
    ['without keys', '{}'],
    ['whose keys are an object', '{"keys":{}}'],
    ['with a member twice', `{"keys":[],"keys":${JSON.stringify(REVIEWERS)}}`],
    ['with a revocation twice', `{"keys":[${JSON.stringify(REVIEWERS[5]).slice(0, -1)},"countersign_revoked":false}]}`],
    ['that is too large', `{"keys":[]${' '.repeat(MAX_JWKS_BYTES)}}`],
    ['of bytes that are no text', new Uint8Array([0x7b, 0xff, 0x7d])],
  ])('%s', (_what, text) => {
    expect(() => jwksFromBytes(text)).toThrow(/^reviewers_unavailable: [^\n]+$/);
  });

  it('and never quotes it', () => {
    const told = (): unknown =>
      jwks(entry('eve', [APPROVER], { countersign_person: 'Eve Example', kid: 'secret-kid' }));
    expect(told).toThrow(Refusal);
    expect(told).not.toThrow(/Eve|secret-kid/);
  });
});

describe('a key of one’s own', () => {
  const key = makeSigningKey(seedOf('own'), personOf('own'), [AUDITOR, APPROVER, AUDITOR]);

  it('is read back whole, and known by its public half', () => {
    expect(signingKeyFromBytes(signingKeyToText(key))).toEqual(key);
    const known = findKey(jwksFromBytes(JSON.stringify({ keys: [publicEntry(key)] })), key.kid);
    expect(known).toMatchObject({
      x: key.x,
      roles: [APPROVER, AUDITOR],
      person: digest(personOf('own')),
      revoked: false,
    });
    expect(JSON.stringify(publicEntry(key))).not.toContain(toBase64url(key.seed));
  });

  it('has the id that RFC 8037 gives its example', () => {
    const d = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');
    const example = makeSigningKey(new Uint8Array(d), personOf('own'), [APPROVER]);
    expect(example.x).toBe('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo');
    expect(example.kid).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
  });

  it.each<readonly [string, object]>([
    ['of another public half', { x: xOf('eve') }],
    ['of another id', { kid: 'key-own' }],
    ['of no secret', { d: undefined }],
    ['of a short secret', { d: 'AA' }],
    ['of no roles', { countersign_roles: [] }],
    ['of a nameless person', { countersign_person: 'me' }],
    ['of more than that', { note: 'x' }],
  ])('is refused: %s', (_what, change) => {
    const record = { ...(JSON.parse(signingKeyToText(key)) as object), ...change };
    expect(() => signingKeyFromBytes(JSON.stringify(record))).toThrow(Refusal);
  });
});
