/**
 * Receipts that passed every check, in memory. Invariant: a decision is made only from a signature that its key verifies; the
 * key is kept as it was then, and what it is worth now is asked of the reviewers' keys of now.
 */
import { Refusal } from '../refusal';
import { actionDigest, type ApprovalClaims, type Claims, type RequestClaims, type ResolutionClaims } from './claims';
import { findKey, type Jwks, type KnownKey, type ReviewerKey } from './jwks';
import { claimsOf, decodeReceipt, isSignedBy, receiptDigest } from './jws';
import { nonceName } from './nonce-claim';

interface Admitted<C extends Claims> {
  /** Digest of the compact text: the receipt's name. */
  readonly digest: string;
  readonly token: string;
  /** The key that verified it, as it was then. */
  readonly key: ReviewerKey;
  readonly claims: C;
  /** Unix milliseconds; it is valid before this moment only. */
  readonly expiresAt: number;
  /** Name of its nonce claim, and what that claim is for. */
  readonly nonceName: string;
  readonly actionDigest: string;
}
export type RequestDecision = Admitted<RequestClaims>;
export type ApprovalReceipt = Admitted<ApprovalClaims>;
export type ResolutionReceipt = Admitted<ResolutionClaims>;
export type Decision = RequestDecision | ApprovalReceipt | ResolutionReceipt;

export function isApproval(decision: Decision): decision is ApprovalReceipt {
  return decision.claims.kind === 'approval';
}

export function isRequest(decision: Decision): decision is RequestDecision {
  return decision.claims.kind === 'request';
}

export function isResolution(decision: Decision): decision is ResolutionReceipt {
  return decision.claims.kind === 'resolution';
}

/** Decodes a receipt and checks its signature under a key that is already known to be the right one. */
export function decisionUnder(token: string, key: ReviewerKey): Decision {
  const decoded = decodeReceipt(token);
  if (decoded.kid !== key.kid) throw new Refusal('receipt_unknown_key', 'names another key than the one given', 'kid');
  if (!isSignedBy(decoded, key.x))
    throw new Refusal('receipt_unsigned', 'has no valid signature of its key', 'receipt');
  const claims = claimsOf(decoded);
  return {
    digest: receiptDigest(token),
    token,
    key: { kid: key.kid, x: key.x, person: key.person, roles: key.roles },
    claims,
    expiresAt: claims.exp * 1000,
    nonceName: nonceName(key.kid, claims.jti),
    actionDigest: actionDigest(claims),
  } as Decision;
}

/** The key of a decision as it is now, or null when it no longer counts: gone, replaced, revoked, or of another person. */
export function liveKey({ key: { kid, x, person } }: Decision, jwks: Jwks): KnownKey | null {
  const key = findKey(jwks, kid);
  return key === null || key.revoked || key.x !== x || key.person !== person ? null : key;
}
