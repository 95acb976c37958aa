/**
 * Canonical JSON is one text for one record.
 *
 * Held here:
 * - reading the text and writing it again gives the same text, whatever the order of keys was;
 * - two values have one text only if they are the same value;
 * - the text is ASCII, keys stand in code point order, integers are exact at any size;
 * - what no record holds is refused, and neither depth nor size ends in another error.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, parseJson, type JsonValue } from '../../../src/rules/recovery';
import { refusalOf } from './support';

/** Any value that a record could hold, with any keys: lone surrogates and `__proto__` too. */
const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', 'a\ud800', '\udc00', '\u007f'));
const anyValue: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.bigInt(),
    anyText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(anyText, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value;

describe('canonicalJson', () => {
  it('comes back the same after a trip through the reader', () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(parseJson(text, 'x'))).toBe(text);
      }),
    );
  });

  it('is ASCII without DEL and control characters', () => {
    fc.assert(fc.property(anyValue, (value) => /^[\x20-\x7e]*$/.test(canonicalJson(value))));
  });

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(anyText, fc.bigInt()), { selector: ([key]) => key }), (entries) => {
        expect(canonicalJson(Object.fromEntries([...entries].reverse()))).toBe(
          canonicalJson(Object.fromEntries(entries)),
        );
      }),
    );
  });

  it('differs where the values differ', () => {
    fc.assert(
      fc.property(anyValue, anyValue, (left, right) => {
        const same = canonicalJson(left) === canonicalJson(right);
        expect(canonicalJson([left]) === canonicalJson([right])).toBe(same);
        if (same) expect(left).toEqual(right);
      }),
    );
  });

  it.each([
    ['BMP above the surrogates before astral', { '\u{10000}': 1n, '\uffff': 2n }, '{"\\uffff":2,"\\ud800\\udc00":1}'],
    ['a lone surrogate by its own value', { '\ue000': 1n, '\ud800': 2n }, '{"\\ud800":2,"\\ue000":1}'],
    ['a pair after its own first half', { '\ud83d\ude00': 1n, '\ud83d': 2n }, '{"\\ud83d":2,"\\ud83d\\ude00":1}'],
    ['a prefix first', { ab: 1n, a: 2n, '': 3n }, '{"":3,"a":2,"ab":1}'],
    ['numbers as text', { '10': 1n, '9': 2n }, '{"10":1,"9":2}'],
  ])('sorts keys by code point: %s', (_, value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it.each([
    ['short escapes', '\b\t\n\f\r"\\', '"\\b\\t\\n\\f\\r\\"\\\\"'],
    ['no escape for the slash', '/', '"/"'],
    ['DEL, C1, BOM and separators', '\u007f\u0080\ufeff\u2028', '"\\u007f\\u0080\\ufeff\\u2028"'],
    ['an integer beyond 2^53', 9007199254740993n, '9007199254740993'],
    ['a safe integer given as a number', 42, '42'],
  ])('writes %s', (_, value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  const deep = (depth: number): unknown => {
    let value: unknown = 1n;
    for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
    return value;
  };
  const circular: unknown[] = [];
  circular.push(circular);
  it.each([
    ['a fraction', 1.5],
    ['an integer beyond the safe ones', 2 ** 53],
    ['not a number', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['undefined', undefined],
    ['an absent field', { a: undefined }],
    ['a hole in an array', [1n, , 2n]],
    ['a function', () => 1],
    ['a symbol', Symbol('a')],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['bytes', new Uint8Array(1)],
    ['an instance of a class', new (class Plan {})()],
    ['an integer of 4301 digits', 10n ** 4300n],
    ['a negative integer of 4301 digits', -(10n ** 4300n)],
    ['a million levels', deep(1_000_000)],
    ['itself inside itself', circular],
  ])('refuses %s', (_, value) => {
    expect(refusalOf(() => canonicalJson(value))).toBe('payload: invalid_payload');
  });

  it('writes 4300 digits and 990 levels', () => {
    expect(canonicalJson(10n ** 4300n - 1n)).toHaveLength(4300);
    expect(canonicalJson(deep(990))).toContain('1');
  });

  it('takes objects without a prototype', () => {
    expect(canonicalJson(Object.assign(Object.create(null), { b: null, a: true }))).toBe('{"a":true,"b":null}');
  });
});
