/**
 * Reads JSON exactly as strictly as the recovery contract: a scanner over the text, with its own stack. Invariant: it
 * loses nothing (integers are `bigint`, a repeated key is refused when its object closes) and no input can exhaust the
 * call stack or escape as another error than a `RecoveryError`.
 */
import { isBytes } from './bytes';
import { RecoveryError } from './errors';
import { decodeJsonBytes } from './json-decoding';
import { readNumber, readString, skipSpace, startOf, type Cursor } from './json-tokens';
import { type JsonValue } from './json-value';
import { MAX_JSON_DEPTH } from './limits';

type MutableObject = Record<string, JsonValue>;

/** An open array or object: the key that waits for its value, and whether a key came twice. */
interface Frame {
  readonly array: JsonValue[] | null;
  readonly object: MutableObject | null;
  key: string;
  repeated: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Throws `<fieldName>: invalid_json` or `json: duplicate_field`. A number with a fraction or exponent is a `number`. */
export function parseJson(source: string | Uint8Array, fieldName: string): JsonValue {
  const text = typeof source === 'string' ? source : isBytes(source) ? decodeJsonBytes(source) : null;
  const value = text === null ? undefined : parseText(text);
  if (value === undefined) throw new RecoveryError('invalid_json', fieldName);
  return value;
}

/** `undefined` for anything that is not JSON. */
function parseText(text: string): JsonValue | undefined {
  const cursor = startOf(text);
  const stack: Frame[] = [];
  for (;;) {
    skipSpace(cursor);
    const code = text.charCodeAt(cursor.index);
    let value: JsonValue | undefined;
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      cursor.index += 1;
      skipSpace(cursor);
      const empty = text.charCodeAt(cursor.index) === (code === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY);
      if (stack.length >= MAX_JSON_DEPTH) return undefined;
      if (!empty) {
        const frame = openFrame(code);
        if (frame.object !== null && !readKey(cursor, frame)) return undefined;
        stack.push(frame);
        continue;
      }
      cursor.index += 1;
      value = code === OPEN_OBJECT ? {} : [];
    } else if (code === QUOTE) {
      value = readString(cursor);
    } else {
      value = readScalar(cursor, code);
    }
    if (value === undefined) return undefined;

    // A whole value stands: hand it to what is open, and close what ends with it.
    for (;;) {
      const frame = stack[stack.length - 1];
      skipSpace(cursor);
      if (frame === undefined) return cursor.index === text.length ? value : undefined;
      const next = text.charCodeAt(cursor.index);
      cursor.index += 1;
      if (frame.array !== null) frame.array.push(value);
      else store(frame, value);
      if (next === COMMA) {
        if (frame.object !== null) {
          skipSpace(cursor);
          if (!readKey(cursor, frame)) return undefined;
        }
        break;
      }
      if (next !== (frame.array !== null ? CLOSE_ARRAY : CLOSE_OBJECT)) return undefined;
      if (frame.repeated) throw new RecoveryError('duplicate_field', 'json');
      stack.pop();
      value = frame.array ?? (frame.object as MutableObject);
    }
  }
}

function openFrame(code: number): Frame {
  return code === OPEN_ARRAY
    ? { array: [], object: null, key: '', repeated: false }
    : { array: null, object: {}, key: '', repeated: false };
}

/** Reads `"key" :`; false when that is not what stands there. */
function readKey(cursor: Cursor, frame: Frame): boolean {
  if (cursor.text.charCodeAt(cursor.index) !== QUOTE) return false;
  const key = readString(cursor);
  if (key === undefined) return false;
  frame.key = key;
  skipSpace(cursor);
  if (cursor.text.charCodeAt(cursor.index) !== COLON) return false;
  cursor.index += 1;
  return true;
}

function store(frame: Frame, value: JsonValue): void {
  const object = frame.object as MutableObject;
  if (Object.hasOwn(object, frame.key)) frame.repeated = true;
  // Plain assignment to this one name would set the prototype instead.
  if (frame.key === '__proto__') {
    Object.defineProperty(object, frame.key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[frame.key] = value;
  }
}

const WORDS: readonly (readonly [string, JsonValue])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
  // No record may hold one of these, but they are read, and then refused as the wrong type of their field.
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
];

function readScalar(cursor: Cursor, code: number): JsonValue | undefined {
  if (code >= 0x30 && code <= 0x39) return readNumber(cursor);
  for (const [word, value] of WORDS) {
    if (cursor.text.startsWith(word, cursor.index)) {
      cursor.index += word.length;
      return value;
    }
  }
  return code === 0x2d ? readNumber(cursor) : undefined;
}
