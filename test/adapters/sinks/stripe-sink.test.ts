/**
 * The Stripe sink against a stateful stand-in for Stripe.
 *
 * - One object a key inside the horizon, whatever the number and timing of sends; a send is one request, also after a reset.
 * - Every status has its one meaning; a declined payment is refused and never found as done.
 * - A look-up believes no filter: only key and digest in the metadata count; what could not be read far enough is unknown, not absent.
 * - After Stripe has forgotten a key, what stands there is still found.
 * - No error tells content, keys or answers; nothing leaves but what the call needs.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stripeSink, type StripeSinkOptions } from '../../../src/adapters/sinks';
import type { SinkItem } from '../../../src/ports';
import type { Fault } from '../../../src/testing';
import { sinkConformance } from '../../../src/testing';
import { conforms } from '../../support/conformance';
import { API_KEY, startStripe, type StripeSystem } from '../../systems/stripe';
import { codeOf, makeItem, SECRET, sendAndTell, within } from './support';

let stripe: StripeSystem;
beforeAll(async () => {
  stripe = await startStripe();
});
afterAll(() => stripe.end());
beforeEach(() => {
  stripe.distort = () => undefined;
  stripe.front.faults.clear();
});

const options = (over: Partial<StripeSinkOptions> = {}): StripeSinkOptions => ({
  name: 'payments',
  apiKey: () => API_KEY,
  server: { protocol: 'http', host: '127.0.0.1', port: stripe.port },
  ...over,
});
const charge = (params: Record<string, unknown> = {}): SinkItem =>
  makeItem({
    resource: 'charges',
    params: { amount: 500, currency: 'usd', source: 'tok_visa', description: SECRET, ...params },
  });
const look = async (item: SinkItem, over: Partial<StripeSinkOptions> = {}): Promise<unknown> => {
  try {
    return (await stripeSink(options(over)).observe([item], within()))[0]?.state;
  } catch (fault) {
    return codeOf(fault);
  }
};
const send = (item: SinkItem): ReturnType<typeof sendAndTell> => sendAndTell(stripeSink(options()), item);
const ACCEPTED = { outcome: 'accepted', externalId: expect.any(String) as string };

describe('charges', () => {
  test('sent, repeated, found: one charge, one id, one digest', async () => {
    const item = charge({ metadata: { order: '7' } });
    expect(await look(item)).toBe('absent');
    const first = await send(item);
    expect(first).toMatchObject({ ...ACCEPTED, result: { metadata: { order: '7' } } });
    expect(await send(item)).toEqual(first);
    expect(await stripeSink(options()).observe([item, charge(), item], within())).toMatchObject([
      { state: 'committed', operationDigest: item.operationDigest, externalId: (first as typeof ACCEPTED).externalId },
      { state: 'absent' },
      { state: 'committed' },
    ]);
    expect(await stripe.held(item.idempotencyKey)).toBe(1);
  });

  test('eight at once: one charge', async () => {
    const item = charge();
    const told = await Promise.all(Array.from({ length: 8 }, () => send(item)));
    expect(new Set(told.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(await stripe.held(item.idempotencyKey)).toBe(1);
  });

  test.each([
    ['tok_chargeDeclined', 'generic_decline'],
    ['tok_chargeDeclinedInsufficientFunds', 'insufficient_funds'],
    ['tok_chargeDeclinedExpiredCard', 'expired_card'],
  ])('%s is refused, again and again, and never found as done', async (source, code) => {
    const item = charge({ source });
    expect(await send(item)).toEqual({ outcome: 'refused', code });
    expect(await send(item)).toEqual({ outcome: 'refused', code });
    expect(await look(item)).toBe('absent');
    expect(await stripe.held(item.idempotencyKey)).toBe(0);
  });

  test('other parameters under the key are a question, never a refusal', async () => {
    const item = charge();
    await send(item);
    const other = { resource: 'charges', params: { amount: 501, currency: 'usd', source: 'tok_visa' } };
    expect(await send({ ...item, operation: other })).toBe('key_reused');
    expect(await stripe.held(item.idempotencyKey)).toBe(1);
  });

  test('a customer keeps the list short; a refund goes by its charge', async () => {
    const paid = (await send(charge())) as { externalId: string };
    const refund = makeItem({ resource: 'refunds', params: { charge: paid.externalId, amount: 100 } });
    expect(await look(refund)).toBe('absent');
    expect(await send(refund)).toMatchObject(ACCEPTED);
    expect(await look(refund)).toBe('committed');
    expect(stripe.requests.at(-1)?.path).toContain(`charge=${paid.externalId}`);
    const tooMuch = makeItem({ resource: 'refunds', params: { charge: paid.externalId, amount: 1000 } });
    expect(await send(tooMuch)).toEqual({ outcome: 'refused', code: 'stripe_refused' });
  });

  test('when Stripe has forgotten the key, the charge is still found', async () => {
    const item = charge();
    await send(item);
    stripe.forget(item.idempotencyKey);
    expect(await look(item)).toBe('committed');
    // What forgetting leads to without the look-up: two, and then nobody says which one counts.
    await send(item);
    expect(await stripe.held(item.idempotencyKey)).toBe(2);
    expect(await look(item)).toBe('several_matches');
  });
});

describe('PaymentIntents', () => {
  const intent = (params: Record<string, unknown>): SinkItem =>
    makeItem({ resource: 'payment_intents', params: { amount: 500, currency: 'usd', ...params } });

  // On the wire both are the same.
  test.each([true, 'true'])('confirmed at once (%j); only prepared; declined', async (confirm) => {
    const paid = intent({ confirm, payment_method: 'pm_card_visa' });
    const prepared = intent({});
    const declined = intent({ confirm, payment_method: 'pm_card_visa_chargeDeclined' });
    expect(await send(paid)).toMatchObject(ACCEPTED);
    expect(await send(prepared)).toMatchObject(ACCEPTED);
    expect(await send(declined)).toEqual({ outcome: 'refused', code: 'generic_decline' });
    const answers = await stripeSink(options()).observe([paid, prepared, declined], within());
    expect(answers.map(({ state }) => state)).toEqual(['committed', 'committed', 'absent']);
  });
});

describe('what a list shows', () => {
  const rewrite = (change: (metadata: Record<string, unknown>) => void): void => {
    stripe.distort = ({ data }) => data.forEach((one) => change(one['metadata'] as Record<string, unknown>));
  };

  test('another digest under the key is another operation', async () => {
    const item = charge();
    await send(item);
    expect(await stripeSink(options()).observe([{ ...item, operationDigest: 'b'.repeat(64) }], within())).toMatchObject(
      [{ state: 'committed', operationDigest: item.operationDigest }],
    );
  });

  test.each<[string, () => void, unknown]>([
    ['no keys', () => rewrite((metadata) => delete metadata['countersign_key']), 'absent'],
    ['no list', () => (stripe.distort = (list) => Object.assign(list, { data: SECRET })), 'answer_invalid'],
    ['no objects', () => (stripe.distort = ({ data }) => data.splice(0, 1, {})), 'answer_invalid'],
    ['no word of more', () => (stripe.distort = (list) => Object.assign(list, { has_more: null })), 'answer_invalid'],
    [
      'more, but nothing',
      () => (stripe.distort = (list) => Object.assign(list, { has_more: true, data: [] })),
      'answer_invalid',
    ],
    [
      'itself again',
      () => (stripe.distort = (list) => Object.assign(list, { has_more: true, data: list.data.slice(-1) })),
      'answer_invalid',
    ],
    [
      'an error',
      () => stripe.front.faults.programme([{ fault: 'status', on: 'lookup', status: 500 }]),
      'unexpected_status',
    ],
    ['nothing', () => stripe.front.faults.programme([{ fault: 'drop_request', on: 'lookup' }]), 'connection_lost'],
  ])('%s', async (_what, distort, told) => {
    const item = charge();
    await send(item);
    distort();
    expect(await look(item)).toBe(told);
  });

  test('a list that is not read to its end, or not far enough back, says absent of nothing', async () => {
    const item = charge();
    let page = 0;
    stripe.distort = (list) => {
      page += 1;
      Object.assign(list, { has_more: true, data: [{ ...list.data[0], id: `ch_other_${page}`, metadata: {} }] });
    };
    // The mock knows no such id to go on after, so each page is asked for from the start.
    stripe.front.faults.clear();
    expect(await look(item, { maxPages: 1 })).toBe('unknown');
  });

  test('what is found on a page counts, also when the pages run out', async () => {
    const item = charge();
    await send(item);
    stripe.distort = (list) => Object.assign(list, { has_more: true });
    expect(await look(item, { maxPages: 1 })).toBe('committed');
  });
});

describe('what an answer means', () => {
  type Row = [Partial<Fault> & Pick<Fault, 'fault'>, unknown, number];
  test.each<Row>([
    [{ fault: 'drop_request' }, 'connection_lost', 0],
    [{ fault: 'reset' }, 'connection_lost', 0],
    [{ fault: 'drop_reply' }, 'connection_lost', 1],
    [{ fault: 'late_commit', delayMs: 20 }, 'connection_lost', 1],
    [{ fault: 'delay_after', delayMs: 5 }, ACCEPTED, 1],
    [{ fault: 'status', status: 401 }, { outcome: 'not_sent', retryAfterMs: 60_000 }, 0],
    [{ fault: 'status', status: 403 }, { outcome: 'not_sent', retryAfterMs: 60_000 }, 0],
    [{ fault: 'status', status: 402 }, { outcome: 'refused', code: 'stripe_refused' }, 0],
    [{ fault: 'status', status: 400 }, 'unexpected_status', 0],
    [{ fault: 'status', status: 404 }, 'unexpected_status', 0],
    [{ fault: 'status', status: 409 }, 'in_flight', 0],
    [{ fault: 'status', status: 424 }, 'unexpected_status', 0],
    [{ fault: 'status', status: 429 }, { outcome: 'not_sent', retryAfterMs: 1000 }, 0],
    [{ fault: 'status', status: 429, retryAfterMs: 3000 }, { outcome: 'not_sent', retryAfterMs: 3000 }, 0],
    [{ fault: 'status', status: 302 }, 'unexpected_status', 0],
    [{ fault: 'status', status: 500 }, 'unexpected_status', 0],
    [{ fault: 'status_after_commit', status: 500 }, 'unexpected_status', 1],
    [{ fault: 'status_after_commit', status: 503 }, 'unexpected_status', 1],
    [{ fault: 'status', status: 200 }, 'answer_invalid', 0],
  ])('%j', async (fault, told, held) => {
    const item = charge();
    const before = stripe.requests.length;
    stripe.front.faults.programme([{ key: item.idempotencyKey, ...fault }]);
    const answer = await send(item);
    if (typeof told === 'string') expect(answer).toBe(told);
    else expect(answer).toMatchObject(told as object);
    if (fault.fault === 'late_commit') await stripe.front.arrivals.wait('committed', item.idempotencyKey, 1, 5_000);
    expect(stripe.requests.length - before, 'requests of one send').toBe(1);
    expect(await stripe.held(item.idempotencyKey)).toBe(held);
  });

  test('the deadline ends a call, and what came of it is found', async () => {
    const item = charge();
    stripe.front.faults.programme([{ fault: 'hold_after', key: item.idempotencyKey }]);
    const deadline = new AbortController();
    const sent = sendAndTell(stripeSink(options()), item, deadline.signal);
    await stripe.front.arrivals.wait('held', item.idempotencyKey, 1, 5_000);
    deadline.abort();
    expect(await sent).toBe('deadline_passed');
    stripe.front.faults.release('*', 'drop');
    expect(await look(item)).toBe('committed');
  });

  test('nothing listens: not sent', async () => {
    const gone = await startStripe();
    await gone.end();
    const sink = stripeSink(options({ server: { protocol: 'http', host: '127.0.0.1', port: gone.port } }));
    expect(await sendAndTell(sink, charge())).toEqual({ outcome: 'not_sent', retryAfterMs: 1000 });
  });
});

describe('what leaves', () => {
  test.each<[string, unknown]>([
    ['no operation', 'charge'],
    ['a resource of another kind', { resource: 'accounts', params: {} }],
    ['a path', { resource: '../v1/charges', params: {} }],
    ['a field of the call', { resource: 'charges', params: {}, account: 'acct_1' }],
    ['our metadata', { resource: 'charges', params: { metadata: { countersign_key: 'x' } } }],
    ['metadata that is a text', { resource: 'charges', params: { metadata: 'x' } }],
  ])('%s is refused before a request', async (_what, operation) => {
    const before = stripe.requests.length;
    expect(await send(makeItem(operation))).toEqual({ outcome: 'refused', code: 'invalid_operation' });
    expect(stripe.requests.length).toBe(before);
  });

  test('one version, the key of the effect, the account, and nothing of this machine', async () => {
    const item = charge();
    await sendAndTell(stripeSink(options({ account: 'acct_1' })), item);
    const { headers = {} } = stripe.requests.at(-1) ?? {};
    expect(headers).toMatchObject({
      'stripe-version': '2026-10-28.endive',
      'stripe-account': 'acct_1',
      'idempotency-key': item.idempotencyKey,
    });
    expect(Object.keys(headers).filter((name) => name.startsWith('x-'))).toEqual([]);
  });

  test('a key that cannot be had, or is refused', async () => {
    const apiKey = (): Promise<string> => Promise.reject(new Error(SECRET));
    expect(await sendAndTell(stripeSink(options({ apiKey })), charge())).toMatchObject({ outcome: 'not_sent' });
    expect(await look(charge(), { apiKey })).toBe('not_reachable');
    await expect(stripeSink(options({ apiKey })).probe?.()).rejects.toThrow(/probe_failed/);
    await expect(stripeSink(options({ apiKey: () => 'rk_live_x' })).probe?.()).rejects.toThrow(/list=charges/);
    await expect(stripeSink(options()).probe?.()).resolves.toBeUndefined();
  });

  test('http leaves this machine under no name', () => {
    const server = { protocol: 'http', host: 'api.stripe.com', port: 80 } as const;
    expect(() => stripeSink(options({ server }))).toThrow(/only for a server on this machine/);
  });
});

describe('the kit', () => {
  conforms(
    sinkConformance(
      ({ url }) => {
        const { hostname: host, port } = new URL(url);
        const server = { protocol: 'http', host, port: Number(port) } as const;
        return stripeSink(options({ server, deadlineMs: 5_000, settleMs: 1_500 }));
      },
      () => ({
        target: { url: stripe.url },
        operation: (text) => charge({ description: text }).operation,
        refused: (text) => charge({ description: text, source: 'tok_chargeDeclined' }).operation,
        writes: ({ idempotencyKey }) => stripe.held(idempotencyKey),
        secrets: [API_KEY],
        duplicate: async (item) => {
          stripe.forget(item.idempotencyKey);
          await send(item);
        },
        forget: ({ idempotencyKey }) => Promise.resolve(stripe.forget(idempotencyKey)),
        patienceMs: 600,
        marginMs: 3_000,
      }),
    ),
  );
});
