/**
 * Properties of `defineEffect`:
 * - what the schema makes of the arguments is what will be sent; what does not fit is told by fields of the schema and kinds
 *   of fault, and nothing of what was given, neither value nor key, is in it, whatever the schema and whatever is given;
 * - a schema that throws or waits is no way around that;
 * - without an output schema nothing is given back.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineEffect } from '../src';
import { countingSink } from '../src/testing';

const sink = countingSink({ url: 'http://127.0.0.1:1', mode: 'lookup' });
const check = (
  input: z.ZodType,
  value: unknown,
): ReturnType<NonNullable<ReturnType<typeof defineEffect>['checkInput']>> =>
  defineEffect({ tool: 'tool:example.org/probe@1.0.0', sink, input }).checkInput!(value);

test('what the schema makes of it counts', async () => {
  const input = z.object({ name: z.string().trim(), count: z.number().default(1) });
  expect(await check(input, { name: ' a ', other: true })).toEqual({ ok: true, value: { name: 'a', count: 1 } });
});

const PLANTED = 'planted';
test.each<[string, z.ZodType, unknown, string[]]>([
  ['a field', z.object({ age: z.number() }), { age: PLANTED }, ['age: invalid_type']],
  ['the whole', z.object({}), PLANTED, ['value: invalid_type']],
  ['a strange field', z.strictObject({}), { [PLANTED]: 1 }, ['value: unrecognized_keys']],
  ['a key of a record', z.record(z.string(), z.number()), { [PLANTED]: PLANTED }, ['*: invalid_type']],
  ['a key that is refused', z.record(z.enum(['a']), z.number()), { a: 1, [PLANTED]: 2 }, ['value: unrecognized_keys']],
  [
    'under a record',
    z.object({ by: z.record(z.string(), z.object({ n: z.number() })) }),
    { by: { [PLANTED]: { n: '' } } },
    ['by.*.*: invalid_type'],
  ],
  [
    'an element',
    z.object({ of: z.array(z.object({ n: z.number() })).optional() }),
    { of: [{ n: 1 }, { n: PLANTED }] },
    ['of.1.n: invalid_type'],
  ],
  ['a choice', z.enum(['a', 'b']), PLANTED, ['value: invalid_value']],
  ['a rule', z.string().refine(() => false, { message: PLANTED, path: [PLANTED] }), PLANTED, ['*: custom']],
  ['a union', z.union([z.number(), z.object({ a: z.literal(1) })]), { a: PLANTED }, ['value: invalid_union']],
  ['through a pipe', z.object({ n: z.string() }).pipe(z.transform((x) => x)), { n: 1 }, ['n: invalid_type']],
  [
    'one that throws',
    z.string().transform(() => {
      throw new Error(PLANTED);
    }),
    PLANTED,
    ['the schema itself failed on it'],
  ],
  ['one that waits', z.string().refine(async () => Promise.resolve(false)), PLANTED, ['value: custom']],
])('%s', async (_name, schema, value, faults) => {
  expect(await check(schema, value)).toEqual({ ok: false, faults });
});

test('nothing of what was given is told', async () => {
  const schema = z.strictObject({
    name: z.string().max(3),
    by: z.record(z.string(), z.union([z.number(), z.object({ deep: z.boolean() })])),
    list: z.array(z.tuple([z.literal('x'), z.int().min(5)])),
  });
  const planted = fc.string({ minLength: 4, unit: fc.constantFrom('Q', 'Z', '7') });
  const value = fc.letrec((tie) => ({
    any: fc.oneof(planted, fc.integer(), fc.array(tie('any'), { maxLength: 3 }), tie('object')),
    object: fc.dictionary(fc.oneof(planted, fc.constantFrom('name', 'by', 'list', 'deep')), tie('any'), { maxKeys: 4 }),
  }));
  await fc.assert(
    fc.asyncProperty(value.object!, async (given) => {
      const answer = await check(schema, given);
      if (!answer.ok) expect(answer.faults.join()).not.toMatch(/[QZ7]{4}/);
    }),
  );
});

test('without an output schema there is nothing to give back', () => {
  const base = { tool: 'tool:example.org/probe@1.0.0', sink, input: z.unknown() };
  expect(defineEffect(base)).not.toHaveProperty('checkOutput');
  expect(defineEffect({ ...base, output: z.object({ a: z.string() }), exposed: ['a'] })).toMatchObject({
    exposed: ['a'],
  });
});
