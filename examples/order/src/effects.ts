/**
 * What this worker can do to the world, what each service promises, and what of its answers may enter a history.
 */
import { defineEffect } from 'countersign';
import { httpSink } from 'countersign/sinks';
import { z } from 'zod';

const shop = process.env.SHOP_URL ?? 'http://127.0.0.1:4100';
const limits = { deadlineMs: 5_000, settleMs: 2_000 };

const order = z.object({ item: z.string(), cents: z.number().int().positive(), card: z.string(), mail: z.email() });
export type Order = z.infer<typeof order>;

/** Payments: a second request under one key is answered as the first one was. */
const payments = (name: string): ReturnType<typeof httpSink> =>
  httpSink({
    name,
    url: `${shop}/${name}`,
    digestHeader: 'operation-digest',
    lookup: { url: `${shop}/${name}/{key}` },
    ...limits,
  });

/** The warehouse does again what it is asked again, but can be asked what it holds under a key. */
const warehouse = (name: string): ReturnType<typeof httpSink> =>
  httpSink({
    name,
    url: `${shop}/${name}`,
    repeats: 'carries_out',
    digestHeader: 'operation-digest',
    lookup: { url: `${shop}/${name}/{key}` },
    ...limits,
  });

export const effects = {
  charge: defineEffect({
    tool: 'tool:example.org/charge@1.0.0',
    sink: payments('charges'),
    input: order.pick({ cents: true, card: true }),
    output: z.object({ id: z.string() }),
    exposed: ['id'],
  }),
  refund: defineEffect({
    tool: 'tool:example.org/refund@1.0.0',
    sink: payments('refunds'),
    input: z.object({ charge: z.object({ id: z.string() }) }),
  }),
  reserve: defineEffect({
    tool: 'tool:example.org/reserve@1.0.0',
    sink: warehouse('reservations'),
    input: order.pick({ item: true }),
    output: z.object({ id: z.string(), shelf: z.string() }),
    exposed: ['shelf'],
  }),
  release: defineEffect({
    tool: 'tool:example.org/release@1.0.0',
    sink: warehouse('releases'),
    input: order.pick({ item: true }),
  }),
  notify: defineEffect({
    tool: 'tool:example.org/notify@1.0.0',
    // Mail cannot be asked: when nobody knows whether it went out, a person decides, and nothing is sent twice.
    sink: httpSink({ name: 'mails', url: `${shop}/mails`, repeats: 'carries_out', ...limits }),
    input: order.pick({ mail: true, item: true }),
  }),
};
