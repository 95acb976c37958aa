/**
 * What is about to be signed, as a text that travels to where the key is. Invariant: it is read by the readers of the receipts themselves,
 * so what a person is shown of it is what the signature is about, and nothing that any door would call malformed is signed.
 */
import { canonicalJson } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { RECEIPT_KINDS, RECEIPT_TYPES, claimsToRecord, type SignedClaims } from './claims';
import { claimsOfKind } from './jws';

/** Most characters of a statement: no receipt is longer. */
export const MAX_STATEMENT_CHARACTERS = 8_192;

export function statementToText(claims: SignedClaims): string {
  return canonicalJson({ typ: RECEIPT_TYPES[claims.kind], claims: claimsToRecord(claims) });
}

/** Throws `receipt_malformed`, or `invalid_record` for what is no statement at all. */
export function statementFromText(text: Uint8Array | string): SignedClaims {
  return parseRecord(text, 'statement', (value) => {
    const at = new Fields(value, 'statement');
    const typ = at.oneOf('typ', Object.values(RECEIPT_TYPES));
    const claims = at.raw('claims');
    at.end();
    const kind =
      RECEIPT_KINDS.find((known) => RECEIPT_TYPES[known] === typ) ?? at.refuse('is no kind of receipt', 'typ');
    return claimsOfKind(kind, claims);
  });
}
