/** Three effects on the counting server, as an author's worker defines them. */
import { z } from 'zod';
import { defineEffect } from '../../../src';
import { countingSink, type CountingMode, type CountingSinkOptions } from '../../../src/testing';

const output = z.object({ row: z.number(), note: z.string().optional() });

export function effectsAt(url: string, more: Partial<CountingSinkOptions> = {}) {
  const sink = (mode: CountingMode) => countingSink({ url, mode, deadlineMs: 1_000, settleMs: 300, ...more });
  const amount = z.object({ amount: z.number().int(), note: z.string().optional() });
  return {
    charge: defineEffect({
      tool: 'tool:example.org/charge@1.0.0',
      sink: sink('lookup'),
      input: amount,
      output,
      exposed: ['row'],
    }),
    reserve: defineEffect({
      tool: 'tool:example.org/reserve@1.0.0',
      sink: sink('enforcing'),
      input: z.strictObject({ item: z.string(), count: z.number().default(1) }),
      output,
    }),
    notify: defineEffect({ tool: 'tool:example.org/notify@1.0.0', sink: sink('blind'), input: z.unknown() }),
  };
}

export type TestEffects = ReturnType<typeof effectsAt>;
