/**
 * The one text of a record. Invariant: two values have the same text exactly when they are the same record, whatever the
 * order of their keys; the text is ASCII, so its bytes and its characters are the same.
 */
import { refuse } from './errors';
import { MAX_INTEGER_DIGITS, MAX_JSON_DEPTH } from './limits';

const NEEDS_ESCAPE = /[^\x20-\x7e]|["\\]/;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};
const TOO_MANY_DIGITS = 10n ** BigInt(MAX_INTEGER_DIGITS);

/**
 * Canonical JSON of `null`, booleans, strings, `bigint`, safe integers, arrays and plain objects of these. Anything else,
 * a fraction or `undefined` too, is refused: no record holds one, and formats differ in how they print it.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0);
}

function write(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return writeString(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'bigint':
      if (value >= TOO_MANY_DIGITS || value <= -TOO_MANY_DIGITS) break;
      return value.toString();
    case 'number':
      if (!Number.isSafeInteger(value)) break;
      return value.toString();
    case 'object':
      if (value === null) return 'null';
      if (depth >= MAX_JSON_DEPTH) break;
      if (Array.isArray(value)) return writeArray(value, depth + 1);
      if (isPlain(value)) return writeObject(value as Readonly<Record<string, unknown>>, depth + 1);
  }
  return refuse('payload', 'invalid_payload');
}

function writeArray(items: readonly unknown[], depth: number): string {
  let text = '[';
  for (let index = 0; index < items.length; index += 1) {
    if (index > 0) text += ',';
    text += write(items[index], depth);
  }
  return `${text}]`;
}

function writeObject(object: Readonly<Record<string, unknown>>, depth: number): string {
  let text = '{';
  for (const key of Object.keys(object).sort(compareCodePoints)) {
    if (text.length > 1) text += ',';
    text += `${writeString(key)}:${write(object[key], depth)}`;
  }
  return `${text}}`;
}

function writeString(text: string): string {
  return NEEDS_ESCAPE.test(text) ? `"${text.replace(/[^\x20-\x7e]|["\\]/g, escapeUnit)}"` : `"${text}"`;
}

/** Without the `u` flag the pattern matches code units, so an astral character becomes its surrogate pair. */
function escapeUnit(unit: string): string {
  return SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Order of code points. JavaScript's own order is of UTF-16 units, which puts astral keys before U+E000. */
function compareCodePoints(left: string, right: string): number {
  for (let index = 0; index < left.length && index < right.length; index += 1) {
    const leftPoint = left.codePointAt(index) as number;
    const rightPoint = right.codePointAt(index) as number;
    if (leftPoint !== rightPoint) return leftPoint - rightPoint;
    if (leftPoint > 0xffff) index += 1;
  }
  return left.length - right.length;
}

/** An object literal of any realm: its prototype is nothing, or something without a prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
