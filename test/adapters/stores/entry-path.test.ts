/**
 * Properties, over more than 100,000 generated paths that are mostly almost valid:
 * - the validator agrees with a character-by-character definition of a path
 * - an accepted path, joined to a root and normalised, is itself: it never leaves the root and never changes
 * - a refusal is always `store_invalid_path` and never repeats the refused text
 */
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entrySegments, folderSegments, MAX_PATH_LENGTH } from '../../../src/adapters/stores/entry-path';
import { StoreError } from '../../../src/ports';

const GOOD = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-';

function isPath(candidate: string): boolean {
  if (candidate.length > MAX_PATH_LENGTH || candidate === '.tmp' || candidate.startsWith('.tmp/')) return false;
  let segment = '';
  for (const unit of `${candidate}/`.split('')) {
    if (unit !== '/') {
      if (!GOOD.includes(unit)) return false;
      segment += unit;
    } else {
      if (segment === '' || segment === '.' || segment === '..' || segment.length > 200) return false;
      segment = '';
    }
  }
  return true;
}

const segment = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: fc.constantFrom(...GOOD), minLength: 1, maxLength: 12 }) },
  { weight: 3, arbitrary: fc.constantFrom('.', '..', '...', '.tmp', '.tmp2', '', '-', '_', 'a.', '.a', '..a', '~') },
  { weight: 1, arbitrary: fc.integer({ min: 195, max: 205 }).map((length) => 'x'.repeat(length)) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
  { weight: 2, arbitrary: fc.constantFrom('%2e%2e', '\\', 'a\0', 'a\n', 'a\r', 'ａ', 'é', 'C:', 'a b', '\ud800', 'İ') },
);
const candidate = fc.oneof(
  { weight: 8, arbitrary: fc.array(segment, { minLength: 1, maxLength: 6 }).map((all) => all.join('/')) },
  { weight: 1, arbitrary: fc.array(segment, { maxLength: 4 }).map((all) => `/${all.join('/')}`) },
  { weight: 1, arbitrary: fc.array(segment, { maxLength: 4 }).map((all) => `${all.join('/')}/`) },
  { weight: 1, arbitrary: fc.integer({ min: 396, max: 402 }).map((pairs) => `${'a/'.repeat(pairs)}a`) },
);

function outcome(act: () => readonly string[]): readonly string[] | StoreError {
  try {
    return act();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
}

test('the validator accepts exactly the defined paths', () => {
  let accepted = 0;
  let refused = 0;
  fc.assert(
    fc.property(candidate, (text) => {
      const found = outcome(() => entrySegments(text));
      expect(found instanceof StoreError).toBe(!isPath(text));
      if (found instanceof StoreError) {
        refused += 1;
        expect(found.code).toBe('store_invalid_path');
        if (text.length > 40) expect(found.message).not.toContain(text);
      } else {
        accepted += 1;
        expect(found.join('/')).toBe(text);
        expect(path.posix.normalize(path.posix.join('/root', text))).toBe(`/root/${text}`);
        expect(outcome(() => folderSegments(`${text}/`))).toEqual(found);
      }
    }),
    { numRuns: 110_000 },
  );
  expect(accepted).toBeGreaterThan(10_000);
  expect(refused).toBeGreaterThan(10_000);
});

test('what is not a string is refused like any other path', () => {
  for (const value of [undefined, null, 1, {}, ['a'], Symbol.iterator]) {
    expect(outcome(() => entrySegments(value as unknown as string))).toBeInstanceOf(StoreError);
  }
});
