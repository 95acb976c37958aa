/**
 * Properties that the compiler keeps for authors; a line marked as an error fails the type check when it is none:
 * - an `id` is required; arguments are those of the input schema, or a Ref to them, or Refs inside of them;
 * - `exposed` has the listed fields with their types, and may be null; a Ref says what it stands for;
 * - the results of a plan have the types of its effects, in their order;
 * - only what the output has can be exposed.
 */
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { defineEffect, type EffectSink } from '../src';
import { proxyEffects, runPlan, type Ref } from '../src/workflow';

declare const sink: EffectSink;
const defined = () => ({
  charge: defineEffect({
    tool: 'tool:example.org/charge@1.0.0',
    sink,
    input: z.object({ amount: z.number(), to: z.object({ iban: z.string() }), note: z.string().default('') }),
    output: z.object({ receipt: z.string(), secret: z.string() }),
    exposed: ['receipt'],
  }),
  notify: defineEffect({ tool: 'tool:example.org/notify@1.0.0', sink, input: z.string() }),
});
type Effects = ReturnType<typeof defined>;

// Never called: it only has to compile, or not to.
export async function author(
  to: Ref<{ iban: string }>,
  whole: Ref<{ amount: number; to: { iban: string } }>,
): Promise<void> {
  const { charge, notify } = proxyEffects<Effects>({ origin: 'order', taskQueue: 'payments' });
  const paid = await charge({ amount: 1, to: { iban: 'x' } }, { id: 'a' });
  expectTypeOf(paid.exposed).toEqualTypeOf<{ receipt: string } | null>();
  expectTypeOf(paid.ref).toEqualTypeOf<Ref<{ receipt: string; secret: string }> | null>();
  expectTypeOf(paid.replayed).toEqualTypeOf<boolean>();
  await charge({ amount: 1, to }, { id: 'b' });
  await charge(whole, { id: 'c' });

  const { results } = await runPlan({ id: 'p', effects: [notify.of('x', { id: 'd' }), charge.of(whole, { id: 'e' })] });
  expectTypeOf(results[1].exposed).toEqualTypeOf<{ receipt: string } | null>();
  expectTypeOf(results.length).toEqualTypeOf<2>();

  // @ts-expect-error -- no id
  await charge({ amount: 1, to: { iban: 'x' } });
  // @ts-expect-error -- no id in the options
  await charge({ amount: 1, to: { iban: 'x' } }, {});
  // @ts-expect-error -- no id
  notify.of('x');
  // @ts-expect-error -- another type
  await charge({ amount: '1', to: { iban: 'x' } }, { id: 'f' });
  // @ts-expect-error -- a field is missing
  await charge({ amount: 1 }, { id: 'g' });
  // @ts-expect-error -- a Ref to something else
  await charge({ amount: 1, to: whole }, { id: 'h' });
  // @ts-expect-error -- not exposed
  void paid.exposed?.secret;
  // @ts-expect-error -- no effect of that name
  void proxyEffects<Effects>().refund;
  // @ts-expect-error -- a plan needs an id
  await runPlan({ effects: [notify.of('x', { id: 'i' })] });
  // @ts-expect-error -- and at least one effect
  await runPlan({ id: 'p', effects: [] });
}

export function worker(): void {
  const base = { tool: 'tool:example.org/probe@1.0.0', sink, input: z.unknown(), output: z.object({ a: z.string() }) };
  defineEffect({ ...base, exposed: ['a'] });
  // @ts-expect-error -- the output has no such field
  defineEffect({ ...base, exposed: ['b'] });
}

test('the compiler has checked it', () => expectTypeOf([author, worker, defined]).toBeArray());
