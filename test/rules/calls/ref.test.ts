/**
 * Properties of Refs:
 * - every Ref in a value, however deep, is replaced by what it stands for, and nothing else is changed;
 * - what only looks like one stays what it is: another field beside it, no digest, a text;
 * - what a Ref stands for is not searched for Refs again.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { refDigest, refTo, resolveRefs } from '../../../src/rules/calls/ref';

const digest = `sha256:${'a'.repeat(64)}`;
const read = async (): Promise<unknown> => ({ found: refTo(digest) });

test('a value without a Ref stays as it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const refuse = (): never => {
        throw new Error('there is nothing to read');
      };
      // Through JSON, as it came: `-0` and `__proto__` do not survive that.
      const given: unknown = JSON.parse(JSON.stringify(value));
      expect(JSON.stringify(await resolveRefs(given, refuse))).toBe(JSON.stringify(given));
    }),
  );
});

test('a Ref anywhere is replaced, once', async () => {
  const given = { list: [1, refTo(digest), { deep: refTo(digest) }], plain: 'x' };
  const found = { found: refTo(digest) };
  expect(await resolveRefs(given, read)).toEqual({ list: [1, found, { deep: found }], plain: 'x' });
  expect(await resolveRefs(refTo(digest), read)).toEqual(found);
});

test.each([
  [{ countersign_ref: digest }, digest],
  [{ countersign_ref: digest, more: 1 }, null],
  [{ countersign_ref: 'sha256:short' }, null],
  [{ countersign_ref: null }, null],
  [{}, null],
  [[digest], null],
])('%j names %s', (value, named) => {
  expect(refDigest(value)).toBe(named);
});
