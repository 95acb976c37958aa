/**
 * Charges in governed plans on a real Temporal server.
 *
 * - A worker that is killed between the charge and the answer: another one finds the charge, and there is one.
 * - Stripe answers 500 after it has charged: the same, without a second charge.
 * - A declined payment ends the plan by Stripe's own word for it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stripeSink } from '../../../src/adapters/sinks';
import { failureOf, useRig } from '../../support/rig';
import { API_KEY, startStripe, type StripeSystem } from '../../systems/stripe';
import { killedInSend, startWith, workWith } from './killed-worker';

const rig = useRig();
let stripe: StripeSystem;
beforeAll(async () => {
  stripe = await startStripe();
});
afterAll(() => stripe.end());

const charge = (source: string): unknown => ({ resource: 'charges', params: { amount: 500, currency: 'usd', source } });
const server = (): { protocol: 'http'; host: string; port: number } => ({
  ...{ protocol: 'http', host: '127.0.0.1', port: stripe.port },
});
const sink = (): ReturnType<typeof stripeSink> =>
  stripeSink({ name: 'payments', apiKey: () => API_KEY, server: server(), deadlineMs: 2_000, settleMs: 500 });
/** Keys that were charged, with how often. */
const charged = async (): Promise<number[]> => {
  const keys = stripe.front.counts().keys.filter(({ collection, received }) => collection === 'charges' && received);
  return Promise.all(keys.map(({ key }) => stripe.held(key)));
};

test('killed after the charge: found, and one charge', async () => {
  stripe.front.faults.programme([{ fault: 'hold_after' }]);
  const orders = { sink: 'stripe', options: { key: API_KEY, server: server(), deadlineMs: 2_000 } } as const;
  const held = stripe.front.arrivals.wait('held', '*', 1, 60_000).then((arrival) => expect(arrival).not.toBeNull());
  const handle = await killedInSend(rig, orders, charge('tok_visa'), held, sink());
  stripe.front.faults.release('*', 'drop');
  expect((await handle.result()).status).toBe('completed');
  expect(await charged()).toEqual([1]);
  expect(stripe.front.counts().received, 'requests that charge').toBe(1);
});

test('a 500 after the charge; a declined payment', async () => {
  stripe.front.arrivals.reset();
  stripe.front.faults.programme([{ fault: 'status_after_commit', status: 500 }]);
  await workWith(rig, sink());
  expect((await (await startWith(rig, charge('tok_visa'))).result()).status).toBe('completed');
  expect(await charged()).toEqual([1]);
  const failure = await failureOf((await startWith(rig, charge('tok_chargeDeclinedInsufficientFunds'))).result());
  expect(JSON.stringify(failure)).toContain('insufficient_funds');
  expect(await charged()).toEqual([1, 0]);
});
