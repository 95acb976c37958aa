/**
 * The one decision about a sign-in. Invariant: it is admitted only as the answer to a nonce that this inbox gave out and nobody has
 * answered, in time, signed by a reviewer's key of now; what it opens is said by the inbox, never by the receipt.
 */
import { Refusal, type RefusalCode } from '../refusal';
import { refuseUntimely } from './admit';
import { findKey, type Jwks } from './jwks';
import { decodeReceipt, isSignedBy, signInClaimsOf } from './jws';

/** Longest life of a sign-in, in milliseconds: it is answered at once or not at all. */
export const SIGN_IN_MS = 300_000;

/** What an inbox knows of the visitor who answers. */
export interface SignInContext {
  /** Unix milliseconds. */
  readonly now: number;
  readonly keys: Jwks;
  readonly origin: string;
  /** The nonces that were given to this visitor and have not been answered. */
  readonly nonces: ReadonlySet<string>;
}

export interface SignedIn {
  readonly kid: string;
  /** Digest of the person. */
  readonly person: string;
  readonly roles: readonly string[];
  /** The nonce, which is used up. */
  readonly nonce: string;
}

/** Throws a `Refusal`. The signature, which costs most, comes last. */
export function admittedSignIn(token: unknown, context: SignInContext): SignedIn {
  const decoded = decodeReceipt(token);
  const claims = signInClaimsOf(decoded);
  const key = findKey(context.keys, decoded.kid);
  if (key === null) refuse('receipt_unknown_key', 'is of a key that is not among the reviewers’ keys', 'kid');
  if (key.revoked) refuse('receipt_revoked', 'is of a key that was revoked; sign with another key', 'kid');
  if (claims.origin !== context.origin) refuse('receipt_wrong_origin', 'is for another inbox', 'origin');
  refuseUntimely(claims, { now: context.now, maxLifetimeMs: SIGN_IN_MS });
  if (!context.nonces.has(claims.jti)) {
    refuse('receipt_replayed', 'answers no question that is open here; ask for a new one', 'jti');
  }
  if (!isSignedBy(decoded, key.x)) refuse('receipt_unsigned', 'has no valid signature of its key', 'receipt');
  return { kid: key.kid, person: key.person, roles: key.roles, nonce: claims.jti };
}

function refuse(code: RefusalCode, reason: string, field: string): never {
  throw new Refusal(code, reason, field);
}
