/**
 * Base64url without padding, as in a JWS. Invariant: every byte string has exactly one text; a text that only another decoder
 * would take (padding, spare bits, foreign characters) is refused with `null`.
 */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const VALUES = new Map([...ALPHABET].map((character, value) => [character.charCodeAt(0), value]));

export function toBase64url(bytes: Uint8Array): string {
  let text = '';
  for (let index = 0; index < bytes.length; index += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(index, index + 3);
    const four = [a >> 2, ((a & 3) << 4) | (b >> 4), ((b & 15) << 2) | (c >> 6), c & 63];
    const used = Math.min(3, bytes.length - index) + 1;
    for (const value of four.slice(0, used)) text += ALPHABET[value];
  }
  return text;
}

export function fromBase64url(text: string): Uint8Array | null {
  const spare = text.length % 4;
  if (spare === 1) return null;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let held = 0;
  let bits = 0;
  let end = 0;
  for (let index = 0; index < text.length; index += 1) {
    const value = VALUES.get(text.charCodeAt(index));
    if (value === undefined) return null;
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
