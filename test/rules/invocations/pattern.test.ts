/**
 * Patterns of policies.
 *
 * Held here:
 * - on any pattern that is read, and any text, the answer is that of JavaScript's `RegExp` with the flag `u`;
 * - whatever `RegExp` reads differently, or does not read, is refused, by its field; so is what would cost too much;
 * - patterns on which a backtracking engine would not end in a lifetime end.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePattern } from '../../../src/rules/invocations/pattern';
import { Refusal } from '../../../src/rules/refusal';

const atom = fc.constantFrom(
  ...[
    'a',
    'b',
    'c',
    '.',
    '\\d',
    '\\w',
    '\\s',
    '\\D',
    '\\W',
    '\\S',
    '[ab]',
    '[^a]',
    '[a-c1]',
    '[\\d_]',
    '[]',
    '[^]',
    '[a-]',
  ],
  ...[
    '\\.',
    '\\*',
    '\\n',
    '[\\]]',
    '[\\-a]',
    '[-a]',
    '[[]',
    'é',
    '😀',
    '[😀-😂]',
    '-',
    ',',
    ':',
    '[.]',
    '[^\\w]',
    '\\/',
    '/',
  ],
);
const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 4 },
    atom,
    fc
      .tuple(atom, fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,2}', '{0}', '*?', '+?', '??', '{1,2}?'))
      .map((two) => two.join('')),
    tie('pattern').map((inner) => `(${inner})`),
    tie('pattern').map((inner) => `(?:${inner})*`),
    tie('pattern').map((inner) => `(${inner})+`),
    fc.constantFrom('^', '$', '(^|a)', '(a|$)'),
  ),
  pattern: fc.oneof(
    { maxDepth: 4 },
    fc.array(tie('part'), { maxLength: 4 }).map((parts) => parts.join('')),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `${one}|${other}`),
  ),
}));
const text = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', '1', '_', ' ', '\n', '-', '.', 'é', '😀', '😁', '\u2028', '*', ']'),
  maxLength: 8,
});

it('answers as RegExp does', () => {
  let found = 0;
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 5 }), (source, texts) => {
      const oracle = new RegExp(source, 'u');
      const own = compilePattern(source, 'value');
      for (const one of texts) {
        expect(own.test(one), JSON.stringify([source, one])).toBe(oracle.test(one));
        if (own.test(one)) found += 1;
      }
    }),
    { numRuns: 5_000, seed: 6 },
  );
  expect(found).toBeGreaterThan(500);
});

it('reads any text as RegExp does, or refuses it', () => {
  const wild = fc.string({ unit: fc.constantFrom(...'ab1^$\\.*+?()[]{}|/-,:=!<dwsnkpux0'), maxLength: 8 });
  let read = 0;
  fc.assert(
    fc.property(wild, text, (source, one) => {
      let own;
      try {
        own = compilePattern(source, 'value');
      } catch (fault) {
        if (fault instanceof Refusal && fault.code === 'invalid_policy' && fault.field === 'value') return;
        throw fault;
      }
      read += 1;
      expect(own.test(one), JSON.stringify([source, one])).toBe(new RegExp(source, 'u').test(one));
    }),
    { numRuns: 15_000, seed: 7 },
  );
  expect(read).toBeGreaterThan(500);
});

describe('what is refused', () => {
  it.each([
    '(a',
    'a)',
    '[a',
    '*',
    'a**',
    'a{',
    'a{2',
    'a{,2}',
    'a{2,1}',
    'a{501}',
    '}',
    ']',
    '\\',
    '(?=a)',
    '(?<=a)',
    '(?<name>a)',
    '(a)\\1',
    '\\b',
    '\\p{L}',
    '\\u0061',
    '\\x61',
    '\\q',
    '[b-a]',
    '[\\d-a]',
    '[a-\\d]',
    '^*',
    `${'('.repeat(60)}a${')'.repeat(60)}`,
    'a'.repeat(501),
    '(a{500}){500}',
    '((((){500}){500}){500}){500}',
  ])('%s', (source) => {
    expect(() => compilePattern(source, 'policies.one.conditions.value')).toThrow(
      'invalid_policy: policies.one.conditions.value',
    );
  });
});

it('never costs more than its size times the text', () => {
  const evil = ['^(a+)+$', '^(a|a)*$', '(a*)*b', '^([a-z]+)*$', '^(a|aa)+$', '(.*)*x', '^(a{0,20}){0,20}$'];
  for (const source of evil) expect(compilePattern(source, 'value').test(`${'a'.repeat(5_000)}!`)).toBe(false);
});
