/**
 * Bytes without the help of a platform. Invariant: recognised by what they are, never by `instanceof`, because bytes made
 * in another realm (a workflow sandbox has two) are bytes all the same.
 */
import { RecoveryError } from './errors';

export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]';
}

/** UTF-8 of a text. Nothing in any record needs more than ASCII, so that path is the fast one. */
export function encodeText(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) return encodeUtf8(text);
    bytes[index] = unit;
  }
  return bytes;
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
