/**
 * Bytes without the help of a platform. Invariant: recognised by what they are, never by `instanceof`, because bytes made
 * in another realm (a workflow sandbox has two) are bytes all the same.
 */
import { RecoveryError } from './errors';

export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
}

/** The same memory, as bytes of this realm: libraries may tell their kind by `instanceof`. */
export function ownView(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const encoder = new TextEncoder();
/** Texts up to this length are encoded into one buffer that is used over and over. */
const SCRATCH_BYTES = 65_536;
const scratch = new Uint8Array(SCRATCH_BYTES);

/**
 * UTF-8 of a text, valid only until the next call. Nothing in any record needs more than ASCII, so that path is the fast
 * one. The encoder writes into bytes of this realm; the ones that it would make itself may belong to another.
 */
export function encodeText(text: string): Uint8Array {
  const target = text.length <= SCRATCH_BYTES ? scratch : new Uint8Array(text.length);
  const { read, written } = encoder.encodeInto(text, target);
  // Only an ASCII text has as many bytes as characters.
  return read === text.length && written === read ? target.subarray(0, written) : encodeUtf8(text);
}

/** A lone surrogate has no UTF-8: replacing it would give two texts one digest. */
function encodeUtf8(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of text) {
    const point = character.codePointAt(0) as number;
    if (point >= 0xd800 && point <= 0xdfff) throw new RecoveryError('invalid_payload', 'payload');
    if (point < 0x80) bytes.push(point);
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), 0x80 | (point & 0x3f));
    else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f));
    else {
      bytes.push(0xf0 | (point >> 18), 0x80 | ((point >> 12) & 0x3f));
      bytes.push(0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f));
    }
  }
  return Uint8Array.from(bytes);
}

/** Whether the bytes are exactly this ASCII text. */
export function equalsText(bytes: Uint8Array, text: string): boolean {
  if (bytes.length !== text.length) return false;
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[index] !== text.charCodeAt(index)) return false;
  }
  return true;
}
