/**
 * What is signed to be let into an inbox. Invariant: it opens the inbox of one origin to whoever answers that inbox's nonce, and decides
 * nothing: no door of a plan or a launch takes it.
 */
import { Fields, type Dict } from '../fields';
import { timesFrom, timesToRecord, type ReceiptTimes } from './receipt-times';

export interface SignInClaims extends ReceiptTimes {
  readonly kind: 'signin';
  /** Where the inbox is, as a browser says it. */
  readonly origin: string;
}

const LONGEST_ORIGIN = 300;
const ORIGIN =
  /^(?:https:\/\/(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])|http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]))(?::[1-9][0-9]{0,4})?$/;

/** `https://host`, with its port if it has one; `http` on this machine only. */
export function isInboxOrigin(text: string): boolean {
  return text.length <= LONGEST_ORIGIN && ORIGIN.test(text);
}

export function signInClaimsFromRecord(value: unknown): SignInClaims {
  const at = new Fields(value, 'claims', 'receipt_malformed');
  const claims = {
    kind: 'signin' as const,
    origin: at.text('origin', 'the origin of an inbox, https or of this machine', isInboxOrigin),
    ...timesFrom(at),
  };
  at.end();
  return claims;
}

export function signInClaimsToRecord(claims: SignInClaims): Dict {
  return { origin: claims.origin, ...timesToRecord(claims) };
}
