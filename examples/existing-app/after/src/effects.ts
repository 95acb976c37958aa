import { defineEffect } from 'countersign';
import { httpSink } from 'countersign/sinks';
import { z } from 'zod';

export const effects = {
  charge: defineEffect({
    tool: 'tool:example.org/charge@1.0.0',
    sink: httpSink({ name: 'shop', url: `${process.env.SHOP_URL}/charges` }),
    input: z.object({ item: z.string(), cents: z.number() }),
  }),
};
