/** Standard base64 with padding. Invariant: every byte string has exactly one text; any other text of it is refused with `null`. */
import { fromBase64url, toBase64url } from '../receipts/base64url';

const URL_SAFE: Readonly<Record<string, string>> = { '+': '-', '/': '_' };
const STANDARD: Readonly<Record<string, string>> = { '-': '+', _: '/' };

export function toBase64(bytes: Uint8Array): string {
  const text = toBase64url(bytes).replace(/[-_]/g, (letter) => STANDARD[letter] as string);
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}

export function fromBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  const bare = text.replace(/=+$/, '').replace(/[+/]/g, (letter) => URL_SAFE[letter] as string);
  return fromBase64url(bare);
}
