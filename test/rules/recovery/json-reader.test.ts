/**
 * The JSON reader is exactly as strict as the contract.
 *
 * Held here:
 * - it accepts whatever JSON.parse accepts, with the same values, except a repeated key;
 * - a repeated key is refused when its object closes: before a later syntax error, after an earlier one;
 * - integers are exact, everything with a fraction or exponent is not an integer;
 * - the encoding is guessed from the first bytes and nothing is ever replaced;
 * - a million brackets are a refusal, not a stack overflow.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, type JsonValue } from '../../../src/rules/recovery';
import { refusalOf } from './support';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const read = (source: string | Uint8Array): JsonValue => parseJson(source, 'record');

describe('what is read', () => {
  it('is what JSON.parse reads, in any spacing, as text and as bytes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('', ' ', '\n\t', '  '), (value, space) => {
        const text = `${space}${JSON.stringify(value, null, space)}${space}`;
        const expected: unknown = JSON.parse(text);
        expect(asNumbers(read(text))).toEqual(expected);
        expect(asNumbers(read(utf8(text)))).toEqual(JSON.parse(new TextDecoder().decode(utf8(text))));
      }),
    );
  });

  it.each([
    ['0', 0n],
    ['-0', 0n],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['1.0', 1],
    ['1e0', 1],
    ['-0.0', -0],
    ['1E+2', 100],
    ['1e400', Infinity],
    ['NaN', NaN],
    ['Infinity', Infinity],
    ['-Infinity', -Infinity],
    ['"\\u0041\\/\\b\\f\\n\\r\\t\\"\\\\"', 'A/\b\f\n\r\t"\\'],
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\uD800"', '\ud800'],
    ['"\\u0041 b\\tc !"', 'A b\tc !'],
    ['"\u007f"', '\u007f'],
    ['[]', []],
    ['{}', {}],
    [' [ ] ', []],
    ['[[],{}]', [[], {}]],
  ])('%s', (text, value) => {
    expect(read(text)).toEqual(value);
  });

  it('keeps `__proto__` as a field like any other', () => {
    const value = read('{"__proto__":{"a":1},"b":2}') as Readonly<Record<string, JsonValue>>;
    expect(Object.keys(value)).toEqual(['__proto__', 'b']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(value.a).toBeUndefined();
  });

  it('reads integers up to 4300 digits', () => {
    expect(read('9'.repeat(4300))).toBe(10n ** 4300n - 1n);
    expect(refusalOf(() => read('9'.repeat(4301)))).toBe('record: invalid_json');
  });
});

describe('what is no JSON', () => {
  it.each([
    '',
    ' ',
    '\ufeff{}',
    '{',
    '}',
    '[',
    ']',
    '[1',
    '[1,',
    '[1,]',
    '[,1]',
    '{,}',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{"a":1',
    "{'a':1}",
    '{a:1}',
    '{1:1}',
    '{"a" 1}',
    '{"a":1 "b":2}',
    '[1 2]',
    '[1}',
    '{"a":1]',
    '1 1',
    '{}x',
    '{}\u0000',
    '{}\u00a0',
    '{}\u000b',
    '//\n1',
    '/**/1',
    '+1',
    '01',
    '-',
    '-01',
    '1.',
    '.5',
    '1.e1',
    '1e',
    '1e+',
    '0x1',
    '1_0',
    '--1',
    '١',
    'tru',
    'True',
    'nul',
    'nan',
    'infinity',
    '-NaN',
    '+Infinity',
    '-Infinit',
    'undefined',
    '"',
    '"a',
    '"\\',
    '"\\"',
    '"\\x"',
    '"\\u12"',
    '"\\u123g"',
    '"\\u 123"',
    '"\\U0041"',
    '"a\nb"',
    '"a\tb"',
    '"\u0000"',
    '"\u001f"',
    '"\\n\u001f"',
    '"\\n\u0000"',
    '"\\n',
    '"\\n\\',
    '"\\u004',
  ])('%j', (text) => {
    expect(refusalOf(() => read(text))).toBe('record: invalid_json');
    expect(refusalOf(() => read(utf8(`${text}`)))).toMatch(text === '\ufeff{}' ? 'no refusal' : 'record: invalid_json');
  });

  it.each([undefined, null, 1, {}, [0x7b, 0x7d], new Uint16Array([0x7b7d]), new DataView(new ArrayBuffer(2))])(
    'something that is neither text nor bytes: %s',
    (source) => {
      expect(refusalOf(() => read(source as unknown as string))).toBe('record: invalid_json');
    },
  );
});

describe('a repeated key', () => {
  it.each([
    ['{"a":1,"a":1}', 'json: duplicate_field'],
    ['{"a":1,"\\u0061":2}', 'json: duplicate_field'],
    ['{"a":1,"A":2}', 'no refusal'],
    ['{"":1,"":2}', 'json: duplicate_field'],
    ['{"__proto__":1,"__proto__":2}', 'json: duplicate_field'],
    ['{"__proto__":1}', 'no refusal'],
    ['{"toString":1,"constructor":2,"hasOwnProperty":3}', 'no refusal'],
    ['[{"a":1,"a":1}]', 'json: duplicate_field'],
    ['{"x":{"a":1,"a":1}}', 'json: duplicate_field'],
    ['{"x":{"a":1,"a":1},', 'json: duplicate_field'],
    ['[{"a":1,"a":1}', 'json: duplicate_field'],
    ['{"a":1,"a":1}trailing', 'json: duplicate_field'],
    ['{"a":1,"a":1', 'record: invalid_json'],
    ['{"a":1,"a":1,}', 'record: invalid_json'],
    ['{"a":1,"a":tru}', 'record: invalid_json'],
    ['{"a":1,"a":{"b":01}}', 'record: invalid_json'],
    ['{"a":1,"a":{"b":1,"b":1},01}', 'json: duplicate_field'],
  ])('%s', (text, answer) => {
    expect(refusalOf(() => read(text))).toBe(answer);
  });
});

describe('depth', () => {
  const nested = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth);
  it.each([
    ['[', ']'],
    ['{"a":', '}'],
  ])('990 levels of %s are read, a million refused', (open, close) => {
    const inner = close === '}' ? '1' : '';
    expect(refusalOf(() => read(open.repeat(990) + inner + close.repeat(990)))).toBe('no refusal');
    expect(refusalOf(() => read(open.repeat(991) + inner + close.repeat(991)))).toBe('record: invalid_json');
    expect(refusalOf(() => read(open.repeat(1_000_000)))).toBe('record: invalid_json');
    expect(refusalOf(() => read(nested(open, close, 1_000_000)))).toBe('record: invalid_json');
  });
});

describe('encodings', () => {
  const text = '{"é€😀":1}';
  const units = (littleEndian: boolean, bom: boolean): Uint8Array => {
    const all = (bom ? '\ufeff' : '') + text;
    const view = new DataView(new ArrayBuffer(all.length * 2));
    for (let index = 0; index < all.length; index += 1) view.setUint16(index * 2, all.charCodeAt(index), littleEndian);
    return new Uint8Array(view.buffer);
  };
  const points = (littleEndian: boolean, bom: boolean): Uint8Array => {
    const all = [...((bom ? '\ufeff' : '') + text)];
    const view = new DataView(new ArrayBuffer(all.length * 4));
    all.forEach((character, index) => view.setUint32(index * 4, character.codePointAt(0) as number, littleEndian));
    return new Uint8Array(view.buffer);
  };
  it.each([
    ['UTF-8', utf8(text)],
    ['UTF-8 with BOM', utf8(`\ufeff${text}`)],
    ['UTF-16LE', units(true, false)],
    ['UTF-16LE with BOM', units(true, true)],
    ['UTF-16BE', units(false, false)],
    ['UTF-16BE with BOM', units(false, true)],
    ['UTF-32LE', points(true, false)],
    ['UTF-32LE with BOM', points(true, true)],
    ['UTF-32BE', points(false, false)],
    ['UTF-32BE with BOM', points(false, true)],
    [
      'a view into more memory',
      new Uint8Array([...utf8('xx'), ...utf8(text), 0x78]).subarray(2, 2 + utf8(text).length),
    ],
  ])('%s', (_, bytes) => {
    expect(read(bytes)).toEqual({ 'é€😀': 1n });
  });

  it('a single digit in UTF-16 is two bytes', () => {
    expect(read(new Uint8Array([0x31, 0x00]))).toBe(1n);
    expect(read(new Uint8Array([0x00, 0x31]))).toBe(1n);
  });

  it('surrogates written as UTF-8 are let through', () => {
    expect(read(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]))).toBe('\ud800');
    // Beside one, every width is still read, from its first character to its last.
    const edges = '\u007f\u0080\u07ff\u0800\uffff\u{10000}\u{10ffff}';
    expect(read(new Uint8Array([0x22, 0xed, 0xbf, 0xbf, ...utf8(edges), 0x22]))).toBe(`\udfff${edges}`);
  });

  it.each([
    ['a lone continuation', [0x22, 0x80, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['an overlong three bytes', [0x22, 0xe0, 0x80, 0xaf, 0x22]],
    ['beyond U+10FFFF', [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]],
    ['five bytes', [0x22, 0xf8, 0x88, 0x80, 0x80, 0x80, 0x22]],
    ['a lead that no character has', [0x22, 0xc1, 0x80, 0x22]],
    ['a lead beyond them all', [0x22, 0xf5, 0x80, 0x80, 0x80, 0x22]],
    ['a character in place of a continuation', [0x22, 0xc3, 0x28, 0x22]],
    ['an overlong four bytes', [0x22, 0xf0, 0x8f, 0xbf, 0xbf, 0x22]],
    ['a sequence cut off', [0x22, 0xe2, 0x82]],
    ['a surrogate beside an error', [0x22, 0xed, 0xa0, 0x80, 0xff, 0x22]],
    ['two BOMs', [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf, 0x31]],
    ['an odd number of UTF-16 bytes', [0xff, 0xfe, 0x31, 0x00, 0x31]],
    ['a UTF-32 value beyond U+10FFFF', [0xff, 0xfe, 0x00, 0x00, 0x31, 0x00, 0x00, 0x01]],
    ['UTF-32 cut off', [0x00, 0x00, 0xfe, 0xff, 0x00, 0x00, 0x00]],
    ['one NUL', [0x00]],
    ['nothing', []],
  ])('refuses %s', (_, bytes) => {
    expect(refusalOf(() => read(Uint8Array.from(bytes)))).toBe('record: invalid_json');
  });
});

function asNumbers(value: JsonValue): unknown {
  if (typeof value === 'bigint') return value === 0n ? 0 : Number(value);
  if (Array.isArray(value)) return value.map(asNumbers);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value as object).map(([key, item]) => [key, asNumbers(item as JsonValue)]),
    );
  }
  return value;
}
