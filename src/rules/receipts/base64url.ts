/**
 * Base64url without padding, as in a JWS. Invariant: every byte string has exactly one text; a text that only another decoder
 * would take (padding, spare bits, foreign characters) is refused with `null`.
 */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const NONE = 64;
/** The value of each ASCII character. */
const VALUES = Uint8Array.from({ length: 128 }, (_, code) => valueOf(code));

function valueOf(code: number): number {
  const value = ALPHABET.indexOf(String.fromCharCode(code));
  return value < 0 ? NONE : value;
}

export function toBase64url(bytes: Uint8Array): string {
  let text = '';
  let held = 0;
  let bits = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    held = (held << 8) | (bytes[index] as number);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += ALPHABET.charAt(held >> bits);
      held &= (1 << bits) - 1;
    }
  }
  return bits === 0 ? text : text + ALPHABET.charAt(held << (6 - bits));
}

export function fromBase64url(text: string): Uint8Array | null {
  if (text.length % 4 === 1) return null;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let held = 0;
  let bits = 0;
  let end = 0;
  for (let index = 0; index < text.length; index += 1) {
    const value = VALUES[text.charCodeAt(index)] ?? NONE;
    if (value === NONE) return null;
    held = (held << 6) | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[end] = held >> bits;
    held &= (1 << bits) - 1;
    end += 1;
  }
  return held === 0 ? bytes : null;
}
