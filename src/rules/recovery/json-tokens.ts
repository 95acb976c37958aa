/**
 * The smallest pieces of JSON: space, strings, numbers. Invariant: each reader stands at its token, moves the cursor past
 * it, and answers `undefined` for anything that is not exactly such a token.
 */
import { MAX_INTEGER_DIGITS } from './limits';

export interface Cursor {
  readonly text: string;
  /** The text holds neither a backslash nor a control character, so every string simply ends at the next quote. */
  readonly plain: boolean;
  index: number;
}

const NOT_PLAIN = /[\\\x00-\x1f]/;

export function startOf(text: string): Cursor {
  return { text, plain: !NOT_PLAIN.test(text), index: 0 };
}

export function skipSpace(cursor: Cursor): void {
  for (;;) {
    const code = cursor.text.charCodeAt(cursor.index);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    cursor.index += 1;
  }
}

/** Without escapes, which is the rule, a string is a slice of the text. */
export function readString(cursor: Cursor): string | undefined {
  const { text } = cursor;
  const start = cursor.index + 1;
  if (cursor.plain) {
    const end = text.indexOf('"', start);
    if (end < 0) return undefined;
    cursor.index = end + 1;
    return text.slice(start, end);
  }
  for (let index = start; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0x22) {
      cursor.index = index + 1;
      return text.slice(start, index);
    }
    if (code === 0x5c) return readEscapedString(cursor, start, index);
    if (code < 0x20) return undefined;
  }
  return undefined;
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
const FOUR_HEX = /^[0-9a-fA-F]{4}$/;

function readEscapedString(cursor: Cursor, start: number, firstEscape: number): string | undefined {
  const { text } = cursor;
  const parts = [text.slice(start, firstEscape)];
  for (let index = firstEscape; index < text.length;) {
    const code = text.charCodeAt(index);
    if (code === 0x22) {
      cursor.index = index + 1;
      return parts.join('');
    }
    if (code < 0x20) return undefined;
    if (code !== 0x5c) {
      const from = index;
      while (index < text.length && !isSpecial(text.charCodeAt(index))) index += 1;
      parts.push(text.slice(from, index));
      continue;
    }
    const escape = text.charAt(index + 1);
    if (escape === 'u') {
      const hex = text.slice(index + 2, index + 6);
      if (!FOUR_HEX.test(hex)) return undefined;
      parts.push(String.fromCharCode(Number.parseInt(hex, 16)));
      index += 6;
    } else {
      const meant = Object.hasOwn(SIMPLE_ESCAPES, escape) ? SIMPLE_ESCAPES[escape] : undefined;
      if (meant === undefined) return undefined;
      parts.push(meant);
      index += 2;
    }
  }
  return undefined;
}

function isSpecial(code: number): boolean {
  return code === 0x22 || code === 0x5c || code < 0x20;
}

/** Beyond this many digits a `number` would not be exact. */
const EXACT_DIGITS = 15;

/** An integer is a `bigint`; anything with a fraction or an exponent a `number`. */
export function readNumber(cursor: Cursor): bigint | number | undefined {
  const { text } = cursor;
  const start = cursor.index;
  const negative = text.charCodeAt(start) === 0x2d;
  const first = negative ? start + 1 : start;
  const end = skipDigits(text, first);
  if (end === first) return undefined;
  if (text.charCodeAt(first) === 0x30 && end > first + 1) return undefined;
  let floatEnd = end;
  if (text.charCodeAt(floatEnd) === 0x2e) {
    const fractionEnd = skipDigits(text, floatEnd + 1);
    if (fractionEnd === floatEnd + 1) return undefined;
    floatEnd = fractionEnd;
  }
  const mark = text.charCodeAt(floatEnd);
  if (mark === 0x65 || mark === 0x45) {
    const sign = text.charCodeAt(floatEnd + 1);
    const digits = sign === 0x2b || sign === 0x2d ? floatEnd + 2 : floatEnd + 1;
    const exponentEnd = skipDigits(text, digits);
    if (exponentEnd === digits) return undefined;
    floatEnd = exponentEnd;
  }
  cursor.index = floatEnd;
  if (floatEnd > end) return Number(text.slice(start, floatEnd));
  if (end - first > MAX_INTEGER_DIGITS) return undefined;
  return BigInt(end - first <= EXACT_DIGITS ? Number(text.slice(start, end)) : text.slice(start, end));
}

function skipDigits(text: string, index: number): number {
  let end = index;
  for (;;) {
    const code = text.charCodeAt(end);
    if (!(code >= 0x30 && code <= 0x39)) return end;
    end += 1;
  }
}
