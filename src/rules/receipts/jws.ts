/**
 * Receipts as compact JWS. Invariant: one algorithm, one header, one text: whatever could be read in two ways is refused
 * before its signature is looked at, and a signature that RFC 8032 does not call canonical is none.
 */
import { ed25519 } from '@noble/curves/ed25519';
import { canonicalJson, parseJson, sha256Digest, type JsonValue } from '../recovery';
import { Fields } from '../fields';
import { Refusal } from '../refusal';
import { fromBase64url, toBase64url } from './base64url';
import {
  RECEIPT_KINDS,
  RECEIPT_TYPES,
  claimsFromRecord,
  claimsToRecord,
  type Claims,
  type ReceiptKind,
  type SignedClaims,
} from './claims';
import { launchClaimsFromRecord, type LaunchClaims } from './launch-claims';
import { signInClaimsFromRecord, type SignInClaims } from './sign-in-claims';
import { isKeyId } from './names';

/** Most characters of a receipt. */
export const MAX_TOKEN_CHARACTERS = 8_192;

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{86})$/;

/** A receipt that has its form; nothing in it is believed before `isSignedBy`. */
export interface DecodedReceipt {
  readonly token: string;
  readonly kind: ReceiptKind;
  readonly kid: string;
  readonly payload: JsonValue;
  readonly signature: Uint8Array;
}

/** `sha256:` and the digest of the compact text: the name of a receipt. */
export function receiptDigest(token: string): string {
  return sha256Digest(token);
}

/** Throws `receipt_malformed` or `receipt_wrong_type`. */
export function decodeReceipt(token: unknown): DecodedReceipt {
  if (typeof token !== 'string' || token.length > MAX_TOKEN_CHARACTERS) {
    throw malformed(`must be text of at most ${MAX_TOKEN_CHARACTERS} characters`);
  }
  const [, header, payload, signature] = COMPACT.exec(token) ?? [];
  if (header === undefined || payload === undefined || signature === undefined) {
    throw malformed('is not a compact JWS: three parts of base64url, the last an Ed25519 signature');
  }
  const at = new Fields(jsonOf(header, 'header'), 'header', 'receipt_malformed');
  at.text('alg', 'EdDSA, the only algorithm of receipts', (text) => text === 'EdDSA');
  const kid = at.text('kid', 'a key id', isKeyId);
  const typ = at.text('typ', 'the type of a receipt', (text) => text.length > 0);
  at.end();
  const kind = RECEIPT_KINDS.find((known) => RECEIPT_TYPES[known] === typ);
  if (kind === undefined) throw new Refusal('receipt_wrong_type', 'is not a type of receipt', 'header.typ');
  return { token, kind, kid, payload: jsonOf(payload, 'claims'), signature: bytesOf(signature, 'signature') };
}

/** Whether the key `x` (base64url of its 32 bytes) made this signature over exactly this text. */
export function isSignedBy({ token, signature }: DecodedReceipt, x: string): boolean {
  const key = fromBase64url(x);
  if (key === null || key.length !== 32) return false;
  try {
    return ed25519.verify(signature, signedBytes(token.slice(0, token.lastIndexOf('.'))), key, { zip215: false });
  } catch {
    return false;
  }
}

/** Throws `receipt_malformed`, or `receipt_wrong_type` for a kind that says nothing about a plan. */
export function claimsOf({ kind, payload }: DecodedReceipt): Claims {
  return claimsFromRecord(kind, payload);
}

/** Throws `receipt_malformed`, or `receipt_wrong_type` for anything but a launch. */
export function launchClaimsOf({ kind, payload }: DecodedReceipt): LaunchClaims {
  if (kind === 'launch') return launchClaimsFromRecord(payload);
  throw new Refusal('receipt_wrong_type', `${RECEIPT_TYPES[kind]} permits no launch`, 'header.typ');
}

/** Throws `receipt_malformed`, or `receipt_wrong_type` for anything but a sign-in. */
export function signInClaimsOf({ kind, payload }: DecodedReceipt): SignInClaims {
  if (kind === 'signin') return signInClaimsFromRecord(payload);
  throw new Refusal('receipt_wrong_type', `${RECEIPT_TYPES[kind]} signs nobody in`, 'header.typ');
}

/** The claims of any kind. Throws `receipt_malformed`. */
export function claimsOfKind(kind: ReceiptKind, value: unknown): SignedClaims {
  if (kind === 'launch') return launchClaimsFromRecord(value);
  return kind === 'signin' ? signInClaimsFromRecord(value) : claimsFromRecord(kind, value);
}

/** What signs: the 32 secret bytes of an Ed25519 key, and the id under which its public half is known. */
export interface Signer {
  readonly kid: string;
  readonly seed: Uint8Array;
}

export function signReceipt(claims: SignedClaims, { kid, seed }: Signer): string {
  const signed = signingInput(claims, kid);
  return withSignature(signed, ed25519.sign(signedBytes(signed), seed));
}

/** The text that a key signs, whoever holds it. Throws for what every door would refuse. */
export function signingInput(claims: SignedClaims, kid: string): string {
  const said = claimsToRecord(claims);
  claimsOfKind(claims.kind, said);
  const header = canonicalJson({ alg: 'EdDSA', kid, typ: RECEIPT_TYPES[claims.kind] });
  return [header, canonicalJson(said)].map((text) => toBase64url(signedBytes(text))).join('.');
}

/** The receipt of a text that was signed. Throws `receipt_malformed`. */
export function withSignature(signed: string, signature: Uint8Array): string {
  return decodeReceipt(`${signed}.${toBase64url(signature)}`).token;
}

/** The bytes of an ASCII text; canonical JSON and base64url are nothing else. */
export function signedBytes(text: string): Uint8Array {
  return Uint8Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
}

function jsonOf(part: string, field: string): JsonValue {
  const bytes = bytesOf(part, field);
  try {
    // By its text: a token's JSON is UTF-8 and nothing else, while a file's may be guessed.
    return parseJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), field);
  } catch {
    throw malformed('is not UTF-8 JSON with unique member names', field);
  }
}

function bytesOf(part: string, field: string): Uint8Array {
  return fromBase64url(part) ?? refuseText(field);
}

function refuseText(field: string): never {
  throw malformed('is not canonical base64url', field);
}

function malformed(reason: string, field = 'receipt'): Refusal {
  return new Refusal('receipt_malformed', reason, field);
}
