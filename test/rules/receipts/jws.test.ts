/**
 * Properties of a receipt's form and signature, each of them at the door:
 * - one header (EdDSA, a receipt's `typ`, a key id) is accepted; every other member, algorithm or type is refused, signed or not;
 * - one text: no padding, spare bits, foreign characters, further parts, repeated members, bytes that are no UTF-8, no more
 *   than 8 KiB; and no single changed character of a receipt leaves it admitted;
 * - a signature counts only in its canonical form, under the very key; keys of small order or odd encoding verify nothing;
 * - a receipt that other Ed25519 implementations make is accepted, and they accept ours.
 */
import { createPrivateKey, createPublicKey, sign as nodeSign, verify as nodeVerify } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519';
import { describe, expect, it } from 'vitest';
import { admitDecision } from '../../../src/rules/receipts/admit';
import { fromBase64url, toBase64url } from '../../../src/rules/receipts/base64url';
import { RECEIPT_KINDS, RECEIPT_TYPES, claimsToRecord, type Claims } from '../../../src/rules/receipts/claims';
import {
  MAX_TOKEN_CHARACTERS,
  claimsOf,
  decodeReceipt,
  isSignedBy,
  signReceipt,
} from '../../../src/rules/receipts/jws';
import { Refusal } from '../../../src/rules/refusal';
import { APPROVER, CONTEXT, action, approval, digest, request, resolution, seedOf, signer, xOf } from './support';

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const part = (value: unknown): string => toBase64url(bytes(typeof value === 'string' ? value : JSON.stringify(value)));
const HEADER = { alg: 'EdDSA', typ: RECEIPT_TYPES.approval, kid: 'key-ann' };
const CLAIMS = claimsToRecord(approval());

/** Signed by ann, whatever it says: only the form can be at fault. */
function signed(header: unknown, payload: unknown = CLAIMS): string {
  const text = `${part(header)}.${part(payload)}`;
  return `${text}.${toBase64url(ed25519.sign(bytes(text), seedOf('ann')))}`;
}
function door(token: unknown): string {
  const answer = admitDecision(token, CONTEXT);
  return answer.ok ? 'admitted' : answer.refusal.code;
}
const token = signReceipt(approval(), signer('ann'));
const [head, body, seal] = token.split('.') as [string, string, string];

it('stands in exactly this form', () => {
  expect(door(token)).toBe('admitted');
  expect(door(signed(HEADER))).toBe('admitted');
  expect(door(signed({ kid: 'key-ann', typ: HEADER.typ, alg: 'EdDSA' }))).toBe('admitted');
  expect(door(signed(`\n ${JSON.stringify(HEADER)} `))).toBe('admitted');
});

describe('a header is refused', () => {
  const malformed: readonly (readonly [string, unknown])[] = [
    ...[
      'none',
      'None',
      'HS256',
      'ES256',
      'ES256K',
      'RS256',
      'EdDSA ',
      'eddsa',
      'Ed25519',
      'Ed448',
      '',
      null,
      1,
      ['EdDSA'],
    ].map((alg) => [`alg ${JSON.stringify(alg)}`, { ...HEADER, alg }] as const),
    ...[
      'jku',
      'jwk',
      'x5u',
      'x5c',
      'x5t',
      'x5t#S256',
      'crit',
      'b64',
      'cty',
      'zip',
      'enc',
      'epk',
      'nonce',
      '__proto__',
    ].map((name) => [`a member ${name}`, `${JSON.stringify(HEADER).slice(0, -1)},"${name}":["b64"]}`] as const),
    ['without alg', { typ: HEADER.typ, kid: HEADER.kid }],
    ['without typ', { alg: 'EdDSA', kid: HEADER.kid }],
    ['without kid', { alg: 'EdDSA', typ: HEADER.typ }],
    ['kid of another type', { ...HEADER, kid: 7 }],
    ['kid with a line', { ...HEADER, kid: 'key-ann\n' }],
    ['kid beyond 128 characters', { ...HEADER, kid: 'k'.repeat(129) }],
    ['alg twice', `{"alg":"none",${JSON.stringify(HEADER).slice(1)}`],
    ['kid twice', `{"kid":"key-bob",${JSON.stringify(HEADER).slice(1)}`],
    ['a list', [HEADER]],
    ['text', '"EdDSA"'],
    ['null', null],
    ['a number that is none', 'NaN'],
    ['a byte order mark', `\ufeff${JSON.stringify(HEADER)}`],
    ['something behind it', `${JSON.stringify(HEADER)}{}`],
  ];
  it.each(malformed)('%s', (_what, header) => {
    expect(door(signed(header))).toBe('receipt_malformed');
  });

  it.each(['JWT', 'jwt', 'JOSE', 'Countersign-approval+jwt', 'application/countersign-approval+jwt', 'x'])(
    'typ %s',
    (typ) => {
      expect(door(signed({ ...HEADER, typ }))).toBe('receipt_wrong_type');
    },
  );

  it.each(RECEIPT_KINDS.filter((kind) => kind !== 'approval'))('typ of %s over the claims of an approval', (kind) => {
    const code = door(signed({ ...HEADER, typ: RECEIPT_TYPES[kind] }));
    expect(code).toBe(kind === 'launch' || kind === 'signin' ? 'receipt_wrong_type' : 'receipt_malformed');
  });
});

describe('a text is refused', () => {
  const spareBits = (text: string): string => {
    const at = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    return text.slice(0, -1) + at.charAt(at.indexOf(text.slice(-1)) ^ 1);
  };
  const rows: readonly (readonly [string, unknown])[] = [
    ['no text', undefined],
    ['bytes', bytes(token)],
    ['an object', { token }],
    ['empty', ''],
    ['two parts', `${head}.${body}`],
    ['an empty signature', `${head}.${body}.`],
    ['an empty payload', `${head}..${seal}`],
    ['four parts', `${token}.${seal}`],
    ['padding', `${head}=.${body}.${seal}`],
    ['padding behind the signature', `${token}==`],
    ['space', ` ${token}`],
    ['a line', `${token}\n`],
    ['plain base64', `${head}.${body}+/.${seal}`],
    ['JSON serialisation', JSON.stringify({ protected: head, payload: body, signature: seal })],
    ['spare bits in the signature', `${head}.${body}.${spareBits(seal)}`],
    ['a part of impossible length', `${head}${'A'.repeat(5 - (head.length % 4 || 4))}.${body}.${seal}`],
    ['a signature that is too short', `${head}.${body}.${seal.slice(1)}`],
    ['a signature that is too long', `${token}A`],
  ];
  it.each(rows)('%s', (_what, text) => {
    expect(door(text)).toBe('receipt_malformed');
  });

  it('bytes that are no UTF-8, in another encoding or too deep', () => {
    for (const payload of [Buffer.from([0x22, 0xff, 0x22]), Buffer.from(JSON.stringify(CLAIMS), 'utf16le')]) {
      const text = `${part(HEADER)}.${toBase64url(new Uint8Array(payload))}`;
      expect(door(`${text}.${toBase64url(ed25519.sign(bytes(text), seedOf('ann')))}`)).toBe('receipt_malformed');
    }
    const marked = claimsToRecord(
      resolution({ resolution: 'mark_committed', actionIds: [action(1)], externalId: '?' }),
    );
    const [before, after] = JSON.stringify(marked)
      .split('?')
      .map((text) => Buffer.from(text)) as [Buffer, Buffer];
    const broken = new Uint8Array(Buffer.concat([before, Buffer.from([0xff]), after]));
    const text = `${part({ ...HEADER, typ: RECEIPT_TYPES.resolution })}.${toBase64url(broken)}`;
    expect(door(`${text}.${toBase64url(ed25519.sign(bytes(text), seedOf('ann')))}`)).toBe('receipt_malformed');
    expect(door(signed(HEADER, '['.repeat(4_000)))).toBe('receipt_malformed');
  });

  it('more than 8 KiB, at once', () => {
    const spaced = (spaces: number): string => signed(`${JSON.stringify(HEADER)}${' '.repeat(spaces)}`);
    const fits = Math.floor((MAX_TOKEN_CHARACTERS - spaced(0).length) / 4) * 3;
    expect(spaced(fits).length).toBeGreaterThan(MAX_TOKEN_CHARACTERS - 4);
    expect(door(spaced(fits))).toBe('admitted');
    expect(door(spaced(fits + 3))).toBe('receipt_malformed');
    expect(door('A'.repeat(64 * 1024 * 1024))).toBe('receipt_malformed');
  });

  it('any single other character', () => {
    const admitted: number[] = [];
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === 'A' ? 'B' : 'A';
      if (door(token.slice(0, at) + other + token.slice(at + 1)) === 'admitted') admitted.push(at);
    }
    expect(admitted).toEqual([]);
  });
});

describe('claims are an exact set', () => {
  const faults: readonly (readonly [string, Record<string, unknown>])[] = [
    ...Object.keys(CLAIMS).map((name) => {
      const { [name]: _gone, ...rest } = CLAIMS as Record<string, unknown>;
      return [`without ${name}`, rest] as const;
    }),
    ...['sub', 'iss', 'aud', 'nbf', 'person', 'head_digest'].map(
      (name) => [`with ${name}`, { ...CLAIMS, [name]: 'x' }] as const,
    ),
    ['exp as text', { ...CLAIMS, exp: String(CLAIMS['exp']) }],
    ['exp with a fraction', { ...CLAIMS, exp: 1_800_000_000.5 }],
    ['exp in milliseconds', { ...CLAIMS, exp: 1_800_000_000_000 }],
    ['exp below nothing', { ...CLAIMS, exp: -1 }],
    ['lineage 0', { ...CLAIMS, lineage: 0 }],
    ['lineage as text', { ...CLAIMS, lineage: '1' }],
    ['another nonce', { ...CLAIMS, jti: 'nonce_1' }],
    ['an unknown decision', { ...CLAIMS, decision: 'Approve' }],
    ['a decision in a list', { ...CLAIMS, decision: ['approve'] }],
    ['a role that is none', { ...CLAIMS, role: 'approver' }],
    ['a person as role', { ...CLAIMS, role: APPROVER.replace('role', 'person') }],
  ];
  it.each(faults)('%s', (_what, claims) => {
    expect(door(signed(HEADER, claims))).toBe('receipt_malformed');
  });

  it('a claim twice', () => {
    expect(door(signed(HEADER, `{"decision":"reject",${JSON.stringify(CLAIMS).slice(1)}`))).toBe('receipt_malformed');
  });

  const resolve = (more: object): Claims => resolution(more);
  const resultDigest = digest('result');
  const committed = { resolution: 'mark_committed', actionIds: [action(1)] };
  const wrong: readonly (readonly [string, Claims])[] = [
    ['mark_absent of nothing', resolve({ resolution: 'mark_absent' })],
    ['mark_committed of nothing', resolve({ resolution: 'mark_committed' })],
    ['reobserve of an action', resolve({ actionIds: [action(1)] })],
    ['abort of an action', resolve({ resolution: 'abort', actionIds: [action(1)] })],
    ['an action twice', resolve({ resolution: 'mark_absent', actionIds: [action(1), action(1)] })],
    ['no action id', resolve({ resolution: 'mark_absent', actionIds: ['act_1'] })],
    ['too many', resolve({ resolution: 'mark_absent', actionIds: Array.from({ length: 129 }, (_, at) => action(at)) })],
    [
      'an external id of nothing written',
      resolve({ resolution: 'mark_absent', actionIds: [action(1)], externalId: 'x' }),
    ],
    [
      'one external id of two',
      resolve({ resolution: 'mark_committed', actionIds: [action(1), action(2)], externalId: 'x' }),
    ],
    ['an external id of lines', resolve({ resolution: 'mark_committed', actionIds: [action(1)], externalId: 'a\nb' })],
    [
      'an external id without text',
      resolve({ resolution: 'mark_committed', actionIds: [action(1)], externalId: '\ud800' }),
    ],
    ['an empty external id', resolve({ resolution: 'mark_committed', actionIds: [action(1)], externalId: '' })],
    ['a result of nothing written', resolve({ resolution: 'mark_absent', actionIds: [action(1)], resultDigest })],
    ['one result of two', resolve({ resolution: 'mark_committed', actionIds: [action(1), action(2)], resultDigest })],
    ['a result that is no digest', resolve({ ...committed, resultDigest: 'paid' })],
    ['evidence of nothing written', resolve({ evidenceDigest: resultDigest })],
    ['evidence that is no digest', resolve({ ...committed, evidenceDigest: 'a letter' })],
    ['a reason of what is done', resolve({ ...committed, reason: 'card_declined' })],
    ['a reason in free words', resolve({ resolution: 'abort', reason: 'Ann said no' })],
    ['a reason with a number', resolve({ resolution: 'abort', reason: 'patient_4711' })],
    ['a reason without end', resolve({ resolution: 'abort', reason: 'a'.repeat(49) })],
  ];
  it.each(wrong)('a resolution: %s', (_what, claims) => {
    expect(() => signReceipt(claims, signer('ann'))).toThrow(Refusal);
  });

  const right: readonly Claims[] = [
    approval(),
    request(),
    resolve({}),
    resolve({ resolution: 'new_lineage' }),
    resolve({ resolution: 'mark_absent', actionIds: Array.from({ length: 128 }, (_, at) => action(at)) }),
    resolve({ resolution: 'mark_committed', actionIds: [action(1)], externalId: 'Überweisung 7 🏥' }),
    resolve({ ...committed, resultDigest, evidenceDigest: digest('a letter') }),
    resolve({ resolution: 'mark_committed', actionIds: [action(1), action(2)], evidenceDigest: digest('a letter') }),
    resolve({ resolution: 'abort', reason: 'card_declined' }),
  ];
  it.each(right)('and what is signed is what is read, %#', (claims) => {
    const decoded = decodeReceipt(signReceipt(claims, signer('ann')));
    expect(claimsOf(decoded)).toEqual(claims);
    expect(isSignedBy(decoded, xOf('ann'))).toBe(true);
  });
});

describe('a signature', () => {
  const raw = fromBase64url(seal) as Uint8Array;
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const little = (number: bigint): Uint8Array =>
    Uint8Array.from({ length: 32 }, (_, at) => Number((number >> BigInt(8 * at)) & 255n));
  const number = (from: Uint8Array): bigint => [...from].reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const withSeal = (signature: Uint8Array): string => `${head}.${body}.${toBase64url(signature)}`;
  const join = (r: Uint8Array, s: Uint8Array): Uint8Array => Uint8Array.from([...r, ...s]);
  const S = number(raw.slice(32));

  it.each<readonly [string, Uint8Array]>([
    ['S and the order of the group', join(raw.slice(0, 32), little(S + order))],
    ['S negated', join(raw.slice(0, 32), little(order - S))],
    ['all zero', new Uint8Array(64)],
    ['all ones', new Uint8Array(64).fill(255)],
    ['R of the identity', join(little(1n), raw.slice(32))],
    ['R beyond the field', join(little(2n ** 255n - 19n + 1n), raw.slice(32))],
    ['R and S exchanged', join(raw.slice(32), raw.slice(0, 32))],
  ])('is none: %s', (_what, signature) => {
    expect(door(withSeal(signature))).toBe('receipt_unsigned');
  });

  it('of another key, of other claims or of another header is none', () => {
    expect(door(signReceipt(approval(), { kid: 'key-ann', seed: seedOf('bob') }))).toBe('receipt_unsigned');
    expect(door(`${head}.${part({ ...CLAIMS, decision: 'reject' })}.${seal}`)).toBe('receipt_unsigned');
    expect(door(`${part({ ...HEADER, kid: 'key-bob' })}.${body}.${seal}`)).toBe('receipt_unsigned');
  });

  /** Points of small order verify (R = A, S = 0) over any message in lax implementations. */
  const SMALL = [
    '0100000000000000000000000000000000000000000000000000000000000000',
    '0100000000000000000000000000000000000000000000000000000000000080',
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0000000000000000000000000000000000000000000000000000000000000080',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  ];
  it.each(SMALL)('under the point %s is none', (hex) => {
    const point = new Uint8Array(Buffer.from(hex, 'hex'));
    for (const r of [point, little(1n)]) {
      const forged = decodeReceipt(withSeal(join(r, little(0n))));
      expect(isSignedBy(forged, toBase64url(point))).toBe(false);
    }
  });

  it.each(['', 'AA', xOf('ann').slice(1), `${xOf('ann')}A`, `${xOf('ann')}=`, 'no key'])('under %j is none', (x) => {
    expect(isSignedBy(decodeReceipt(token), x)).toBe(false);
  });

  it('is the same that Node makes, and each verifies the other', () => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: xOf('ann'), d: toBase64url(seedOf('ann')) };
    const key = createPrivateKey({ key: jwk, format: 'jwk' });
    const made = nodeSign(null, bytes(`${head}.${body}`), key);
    expect(toBase64url(new Uint8Array(made))).toBe(seal);
    expect(nodeVerify(null, bytes(`${head}.${body}`), createPublicKey(key), raw)).toBe(true);
  });
});

describe('jose', () => {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: xOf('ann'), d: toBase64url(seedOf('ann')) };
  const all: readonly Claims[] = [approval(), approval({ decision: 'reject' }), resolution(), request()];

  it.each(all)('makes what we accept, and accepts what we make, %#', async (claims) => {
    const { SignJWT, importJWK, jwtVerify } = await import('jose');
    const typ = RECEIPT_TYPES[claims.kind];
    const theirs = await new SignJWT(claimsToRecord(claims) as Record<string, unknown>)
      .setProtectedHeader({ alg: 'EdDSA', typ, kid: 'key-ann' })
      .sign(await importJWK(jwk, 'EdDSA'));
    const context = { ...CONTEXT, requester: null };
    expect(admitDecision(theirs, context)).toMatchObject({ ok: true, decision: { claims } });

    const { d: _secret, ...open } = jwk;
    const verified = await jwtVerify(signReceipt(claims, signer('ann')), await importJWK(open, 'EdDSA'), {
      algorithms: ['EdDSA'],
      typ,
      currentDate: new Date(CONTEXT.now),
    });
    expect(verified.payload).toEqual(claimsToRecord(claims));
  });

  it('sets the times of a receipt by its own words', async () => {
    const { SignJWT, importJWK } = await import('jose');
    const { iat: _iat, exp: _exp, jti, ...rest } = CLAIMS;
    const theirs = await new SignJWT(rest as Record<string, unknown>)
      .setProtectedHeader(HEADER)
      .setJti(jti as string)
      .setIssuedAt(CONTEXT.now / 1000)
      .setExpirationTime(new Date(CONTEXT.now + 60_000))
      .sign(await importJWK(jwk, 'EdDSA'));
    expect(door(theirs)).toBe('admitted');
  });
});
