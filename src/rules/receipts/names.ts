/**
 * The names in receipts: persons, roles, key ids, nonces. Invariant: a person stands in no receipt, journal or history, only
 * the digest of one; who it is, the reviewers' key set says.
 */
import { isGovernedId, sha256Digest } from '../recovery';

const KEY_ID = /^[A-Za-z0-9._~:/+=@-]{1,128}$/;
const NONCE = /^nonce_[0-9a-f]{32}$/;

/** `role:namespace/local` or `role:namespace/local@1.2.3`: the grammar of governed ids, of a kind of its own. */
export function isRole(value: unknown): value is string {
  return isNamed('role:', value);
}

/** `person:namespace/local`; people have no versions. */
export function isPerson(value: unknown): value is string {
  return isNamed('person:', value) && !value.includes('@');
}

export function personDigest(person: string): string {
  return sha256Digest(person);
}

export function isKeyId(value: unknown): value is string {
  return typeof value === 'string' && KEY_ID.test(value);
}

export function isNonce(value: unknown): value is string {
  return typeof value === 'string' && NONCE.test(value);
}

function isNamed(prefix: string, value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(prefix) && isGovernedId(`tool:${value.slice(prefix.length)}`);
}
