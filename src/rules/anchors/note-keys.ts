/**
 * Keys of signed notes, in the text forms of `golang.org/x/mod/sumdb/note`. Invariant: a key's id is computed from its name and
 * its bytes, never believed; a text whose id does not fit is refused with `null`.
 */
import { ed25519 } from '@noble/curves/ed25519';
import { sha256 } from '@noble/hashes/sha2';
import { fromBase64, toBase64 } from './base64';

/** The first byte of a key's encoding: what its signatures say. */
export const KEY_KINDS = { log: 0x01, witness: 0x04 } as const;
export type KeyKind = keyof typeof KEY_KINDS;

export interface VerifierKey {
  readonly kind: KeyKind;
  readonly name: string;
  readonly id: number;
  readonly publicKey: Uint8Array;
}

export interface SignerKey extends VerifierKey {
  readonly seed: Uint8Array;
}

const ED25519_BYTES = 32;
const PRIVATE = 'PRIVATE+KEY+';
const LONGEST_NAME = 255;

/** Neither white space nor a plus sign, nor anything that does not print. */
export function isKeyName(text: string): boolean {
  return text.length > 0 && text.length <= LONGEST_NAME && /^[\x21-\x2a\x2c-\x7e]+$/.test(text);
}

export function signerFromSeed(kind: KeyKind, name: string, seed: Uint8Array): SignerKey {
  if (!isKeyName(name)) throw new RangeError('a key has a name of printing ASCII without space and plus sign');
  if (seed.length !== ED25519_BYTES) throw new RangeError('the seed of a key has 32 bytes');
  const publicKey = ed25519.getPublicKey(seed);
  return { kind, name, id: keyId(kind, name, publicKey), publicKey, seed };
}

export function verifierToText({ kind, name, id, publicKey }: VerifierKey): string {
  return `${name}+${idText(id)}+${encoded(kind, publicKey)}`;
}

export function signerToText({ kind, name, id, seed }: SignerKey): string {
  return `${PRIVATE}${name}+${idText(id)}+${encoded(kind, seed)}`;
}

export function verifierFromText(text: string): VerifierKey | null {
  const parts = partsOf(text);
  if (parts === null) return null;
  const { kind, name, id, bytes } = parts;
  return id === keyId(kind, name, bytes) ? { kind, name, id, publicKey: bytes } : null;
}

export function signerFromText(text: string): SignerKey | null {
  const parts = text.startsWith(PRIVATE) ? partsOf(text.slice(PRIVATE.length)) : null;
  if (parts === null) return null;
  const signer = signerFromSeed(parts.kind, parts.name, parts.bytes);
  return signer.id === parts.id ? signer : null;
}

function keyId(kind: KeyKind, name: string, publicKey: Uint8Array): number {
  const named = new TextEncoder().encode(`${name}\n`);
  const digest = sha256(Uint8Array.of(...named, KEY_KINDS[kind], ...publicKey));
  return new DataView(digest.buffer, digest.byteOffset).getUint32(0);
}

function idText(id: number): string {
  return id.toString(16).padStart(8, '0');
}

function encoded(kind: KeyKind, bytes: Uint8Array): string {
  return toBase64(Uint8Array.of(KEY_KINDS[kind], ...bytes));
}

function partsOf(text: string): { kind: KeyKind; name: string; id: number; bytes: Uint8Array } | null {
  // The base64 may hold plus signs, the name may not.
  const [, name = '', id = '', rest = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? [];
  const bytes = fromBase64(rest);
  if (!isKeyName(name) || bytes === null || bytes.length !== 1 + ED25519_BYTES) return null;
  const kind = (Object.keys(KEY_KINDS) as KeyKind[]).find((one) => KEY_KINDS[one] === bytes[0]);
  return kind === undefined ? null : { kind, name, id: parseInt(id, 16), bytes: bytes.slice(1) };
}
