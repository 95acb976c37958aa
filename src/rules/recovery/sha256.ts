/**
 * SHA-256 in the two spellings of the contract. Invariant: a text is hashed as its UTF-8 bytes.
 */
import { sha256 } from '@noble/hashes/sha2';
import { encodeText, isBytes, ownView } from './bytes';
import { refuse } from './errors';

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** 64 lowercase hex digits. */
export function sha256Hex(source: string | Uint8Array): string {
  const digest = sha256(bytesOf(source));
  let hex = '';
  for (let index = 0; index < digest.length; index += 1) hex += HEX[digest[index] as number];
  return hex;
}

/** `sha256:` and 64 lowercase hex digits. */
export function sha256Digest(source: string | Uint8Array): string {
  return `sha256:${sha256Hex(source)}`;
}

function bytesOf(source: string | Uint8Array): Uint8Array {
  if (typeof source === 'string') return encodeText(source);
  return isBytes(source) ? ownView(source) : refuse('payload', 'invalid_payload');
}
