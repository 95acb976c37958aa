/**
 * The reviewers' keys: a JWKS from trusted custody. Invariant: a key id stands for one key and a key for one person, or the
 * whole set is refused; what is no reviewer's Ed25519 key is passed over; nobody's name leaves this file, only its digest.
 */
import { ed25519 } from '@noble/curves/ed25519';
import { canonicalJson, isDigest, isJsonObject, parseJson, sha256Digest, type JsonValue } from '../recovery';
import { Fields, type Dict } from '../fields';
import { Refusal } from '../refusal';
import { fromBase64url } from './base64url';
import { isKeyId, isPerson, isRole, personDigest } from './names';

export const MAX_JWKS_BYTES = 262_144;

/** A public key as it stands in journals and histories. */
export interface ReviewerKey {
  readonly kid: string;
  /** Base64url of the 32 bytes. */
  readonly x: string;
  /** Digest of the person. */
  readonly person: string;
  /** Sorted, each once. */
  readonly roles: readonly string[];
}

/** A key as its set holds it now. */
export interface KnownKey extends ReviewerKey {
  readonly revoked: boolean;
}

export interface Jwks {
  /** In order of their ids. */
  readonly keys: readonly KnownKey[];
  /** Two sets with one digest say the same of every reviewer. */
  readonly digest: string;
}

export function findKey(jwks: Jwks, kid: string): KnownKey | null {
  return jwks.keys.find((key) => key.kid === kid) ?? null;
}

/** Reads a JWKS document. Throws `reviewers_unavailable`: a set that is partly understood would quietly lose a revocation. */
export function jwksFromBytes(bytes: Uint8Array | string): Jwks {
  if (bytes.length > MAX_JWKS_BYTES) throw invalid(`is larger than ${MAX_JWKS_BYTES} bytes`, 'jwks');
  let document: JsonValue;
  try {
    document = parseJson(bytes, 'jwks');
  } catch {
    throw invalid('is not well-formed JSON with unique member names', 'jwks');
  }
  if (!isJsonObject(document) || !Array.isArray(document['keys'])) throw invalid('must hold a list "keys"', 'jwks');
  return keySet(document['keys'].map((entry, index) => reviewerKey(entry as JsonValue, `keys[${index}]`)));
}

/** The wire form of keys that were read before, as a workflow is given them. */
export function keysToRecord(jwks: Jwks): readonly Dict[] {
  return jwks.keys.map((key) => ({ ...keyToRecord(key), revoked: key.revoked }));
}

export function keysFromRecord(value: unknown): Jwks {
  if (!Array.isArray(value)) throw new Refusal('invalid_record', 'must be a list', 'keys');
  return keySet(
    value.map((entry, index) => {
      const at = new Fields(entry, `keys[${index}]`);
      const key = { ...keyFields(at), revoked: at.flag('revoked') };
      at.end();
      return key;
    }),
  );
}

export function keyToRecord(key: ReviewerKey): Dict {
  return { kid: key.kid, x: key.x, person: key.person, roles: key.roles };
}

export function keyFromRecord(value: unknown, path: string): ReviewerKey {
  const at = new Fields(value, path);
  const key = keyFields(at);
  at.end();
  return key;
}

function keyFields(at: Fields): ReviewerKey {
  return {
    kid: at.text('kid', 'a key id', isKeyId),
    x: at.text('x', 'base64url of 32 bytes', (text) => fromBase64url(text)?.length === 32),
    person: at.text('person', 'the sha256 digest of a person', isDigest),
    roles: sorted(at.list('roles').map((role) => (isRole(role) ? role : at.refuse('must list roles', 'roles')))),
  };
}

function keySet(read: readonly (KnownKey | null)[]): Jwks {
  const keys = read.filter((key) => key !== null).sort((a, b) => (a.kid < b.kid ? -1 : 1));
  for (const name of ['kid', 'x'] as const) {
    // One key under two ids would let one holder be two people.
    if (new Set(keys.map((key) => key[name])).size !== keys.length) throw invalid(`names one ${name} twice`, 'keys');
  }
  return {
    keys,
    digest: sha256Digest(canonicalJson(keys.map((key) => ({ ...keyToRecord(key), revoked: key.revoked })))),
  };
}

const OURS = ['countersign_person', 'countersign_roles', 'countersign_revoked'];

/** `null` for a key of another kind, or of somebody who reviews nothing. */
function reviewerKey(entry: JsonValue, path: string): KnownKey | null {
  if (!isJsonObject(entry)) throw invalid('must be an object', path);
  const ours = Object.keys(entry).filter((name) => name.startsWith('countersign_'));
  const stranger = ours.find((name) => !OURS.includes(name));
  if (stranger !== undefined) throw invalid('has an unknown member that begins with "countersign_"', path);
  if (entry['kty'] !== 'OKP' || entry['crv'] !== 'Ed25519' || ours.length === 0) return null;
  const at = new Reader(entry, path);
  if ('d' in entry) at.refuse('is a private key; publish only what "keys export" prints', 'd');
  if ('use' in entry) at.member('use', '"sig"', (value) => value === 'sig');
  if ('alg' in entry) at.member('alg', '"EdDSA"', (value) => value === 'EdDSA');
  const x = at.member('x', 'a canonical Ed25519 public key in base64url', isPublicKey);
  if ('countersign_revoked' in entry) {
    at.member('countersign_revoked', 'true or false', (value): value is boolean => typeof value === 'boolean');
  }
  return {
    kid: at.member('kid', 'a key id of up to 128 plain characters', isKeyId),
    x,
    person: personDigest(at.member('countersign_person', 'a person such as person:example.org/reviewer-1', isPerson)),
    roles: sorted(at.member('countersign_roles', 'a list of roles such as role:example.org/approver', isRoles)),
    revoked: entry['countersign_revoked'] === true,
  };
}

class Reader {
  constructor(
    private readonly entry: Dict,
    private readonly path: string,
  ) {}

  refuse(reason: string, name: string): never {
    throw invalid(reason, `${this.path}.${name}`);
  }

  member<T extends JsonValue>(name: string, rule: string, holds: (value: unknown) => value is T): T {
    const value: unknown = Object.hasOwn(this.entry, name) ? this.entry[name] : undefined;
    return holds(value) ? value : this.refuse(`must be ${rule}`, name);
  }
}

function isRoles(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRole);
}

/** A point of the prime-order group in its only encoding: under any other, a signature could count for two messages or keys. */
function isPublicKey(value: unknown): value is string {
  if (typeof value !== 'string') return false;
  if (soundKeys.has(value)) return true;
  const bytes = fromBase64url(value);
  if (bytes === null || bytes.length !== 32 || !isSoundPoint(bytes)) return false;
  if (soundKeys.size >= MOST_REMEMBERED) soundKeys.clear();
  soundKeys.add(value);
  return true;
}

/** The check costs milliseconds a key, and a set is read again and again; what a point is never changes. */
const soundKeys = new Set<string>();
const MOST_REMEMBERED = 4_096;

function isSoundPoint(bytes: Uint8Array): boolean {
  try {
    const point = ed25519.Point.fromBytes(bytes, false);
    return !point.isSmallOrder() && point.isTorsionFree();
  } catch {
    return false;
  }
}

function sorted(roles: readonly string[]): readonly string[] {
  return [...new Set(roles)].sort();
}

function invalid(reason: string, field: string): Refusal {
  return new Refusal('reviewers_unavailable', `the reviewers’ key set is refused: ${field} ${reason}`);
}
