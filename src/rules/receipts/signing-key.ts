/**
 * A person's own key, as a private JWK. Invariant: its id is the thumbprint of its public half (RFC 7638), so a key has one id
 * wherever it is made known; the secret is written into its own file and nowhere else.
 */
import { ed25519 } from '@noble/curves/ed25519';
import { sha256 } from '@noble/hashes/sha2';
import { canonicalJson } from '../recovery';
import { Fields, parseRecord, type Dict } from '../fields';
import { Refusal } from '../refusal';
import { fromBase64url, toBase64url } from './base64url';
import type { Signer } from './jws';
import { isKeyId, isPerson, isRole } from './names';

export interface SigningKey extends Signer {
  readonly x: string;
  readonly person: string;
  /** Sorted, each once; one or more. */
  readonly roles: readonly string[];
}

/** `seed` is 32 random bytes. */
export function makeSigningKey(seed: Uint8Array, person: string, roles: readonly string[]): SigningKey {
  if (seed.length !== 32) throw new Refusal('invalid_record', 'must be 32 bytes', 'd');
  const x = toBase64url(ed25519.getPublicKey(seed));
  const key = { kid: thumbprint(x), seed, x, person, roles: [...new Set(roles)].sort() };
  return signingKeyFromBytes(signingKeyToText(key));
}

/** The entry of the reviewers' JWKS that makes this key known. */
export function publicEntry({ kid, x, person, roles }: Omit<SigningKey, 'seed'>): Dict {
  return {
    kty: 'OKP',
    crv: 'Ed25519',
    x,
    kid,
    use: 'sig',
    alg: 'EdDSA',
    countersign_person: person,
    countersign_roles: roles,
  };
}

export function signingKeyToText(key: SigningKey): string {
  return canonicalJson({ ...publicEntry(key), d: toBase64url(key.seed) });
}

export function signingKeyFromBytes(bytes: Uint8Array | string): SigningKey {
  return parseRecord(bytes, 'signing_key', (value) => {
    const at = new Fields(value, 'signing_key');
    at.oneOf('kty', ['OKP']);
    at.oneOf('crv', ['Ed25519']);
    at.oneOf('use', ['sig']);
    at.oneOf('alg', ['EdDSA']);
    const secret = at.text('d', 'base64url of 32 bytes', is32Bytes);
    const read = {
      kid: at.text('kid', 'the thumbprint of the key', isKeyId),
      x: at.text('x', 'base64url of 32 bytes', is32Bytes),
      person: at.text('countersign_person', 'a person such as person:example.org/reviewer-1', isPerson),
      roles: rolesOf(at),
    };
    at.end();
    const seed = fromBase64url(secret) as Uint8Array;
    if (toBase64url(ed25519.getPublicKey(seed)) !== read.x) at.refuse('is not the public half of "d"', 'x');
    if (thumbprint(read.x) !== read.kid) at.refuse('is not the thumbprint of the key', 'kid');
    return { ...read, seed };
  });
}

function is32Bytes(text: string): boolean {
  return fromBase64url(text)?.length === 32;
}

function rolesOf(at: Fields): readonly string[] {
  const field = 'countersign_roles';
  const roles = at.list(field, 1).map((role) => (isRole(role) ? role : undefined));
  const known = roles.filter((role) => role !== undefined);
  if (known.length !== roles.length) at.refuse('must list roles such as role:example.org/approver', field);
  return [...new Set(known)].sort();
}

/** The id of a key: the thumbprint of its public half. */
export function thumbprint(x: string): string {
  const text = canonicalJson({ crv: 'Ed25519', kty: 'OKP', x });
  return toBase64url(sha256(Uint8Array.from(text, (character) => character.charCodeAt(0))));
}
