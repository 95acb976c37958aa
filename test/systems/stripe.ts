/**
 * A stand-in for Stripe on 127.0.0.1: stripe-stateful-mock for charges and refunds, and PaymentIntents of our own after Stripe's
 * documentation, behind a front with programmed faults.
 *
 * Invariant: `held` counts what the stand-in holds as done under a key, apart from what it told anybody.
 */
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo } from 'node:net';
import { type HttpAnswer, type SinkRequest, type SinkServer, startSinkServer } from '../../src/testing/sink-server';
import { type Running } from './system';

type Json = Record<string, unknown>;

export interface StripeSystem extends Running {
  readonly url: string;
  readonly port: number;
  readonly front: SinkServer;
  /** Requests as they came: method, path with query, headers. */
  readonly requests: { readonly method: string; readonly path: string; readonly headers: Json }[];
  /** Objects with this key that are not declined. */
  held(key: string, resource?: string): Promise<number>;
  /** Forgets an idempotency key, as Stripe may after a day. */
  forget(key: string): void;
  /** Changes what a list answers. */
  distort: (list: { data: Json[]; has_more: boolean }) => void;
}

const fromHere = createRequire(__filename);
const { createExpressApp } = fromHere('stripe-stateful-mock') as { createExpressApp(): RequestListener };
// It would log what it is sent.
(createRequire(fromHere.resolve('stripe-stateful-mock'))('loglevel') as { disableAll(): void }).disableAll();

export const API_KEY = 'sk_test_planted-secret-4711';
const DECLINED: ReadonlySet<unknown> = new Set(['failed', 'requires_payment_method', 'canceled']);

export async function startStripe(): Promise<StripeSystem> {
  const mock = createServer(createExpressApp());
  await new Promise<void>((resolve) => mock.listen(0, '127.0.0.1', resolve));
  const behind = `http://127.0.0.1:${(mock.address() as AddressInfo).port}`;
  const generations = new Map<string, number>();
  const intents: Json[] = [];
  const answered = new Map<string, { readonly body: string; readonly answer: HttpAnswer }>();
  let made = 0;

  /** Stripe's own key after `forget`. */
  const keyOf = (key: string): string => `${key}#${generations.get(key) ?? 0}`;

  async function forward(request: SinkRequest): Promise<HttpAnswer> {
    const { authorization = '', 'content-type': type = '', 'idempotency-key': key } = request.headers;
    const response = await fetch(`${behind}${request.url.pathname}${request.url.search}`, {
      method: request.method,
      headers: { authorization, 'content-type': type, ...(key ? { 'idempotency-key': keyOf(String(key)) } : {}) },
      ...(request.method === 'POST' ? { body: request.body } : {}),
    });
    const replayed = response.headers.get('idempotent-replayed');
    return {
      status: response.status,
      headers: { 'content-type': 'application/json', ...(replayed ? { 'idempotent-replayed': replayed } : {}) },
      body: (await response.json()) as Json,
    };
  }

  function createIntent(request: SinkRequest): HttpAnswer {
    const key = keyOf(String(request.headers['idempotency-key']));
    const body = request.body.toString();
    const before = answered.get(key);
    if (before?.body === body) return { ...before.answer, headers: { 'idempotent-replayed': 'true' } };
    if (before) return { status: 400, body: { error: { type: 'idempotency_error' } } };
    const params = new URLSearchParams(body);
    const bad = params.get('payment_method')?.includes('Declined') === true;
    const status = params.get('confirm') !== 'true' || bad ? 'requires_payment_method' : 'succeeded';
    const metadata = Object.fromEntries(
      [...params].flatMap(([name, value]) => (name.startsWith('metadata[') ? [[name.slice(9, -1), value]] : [])),
    );
    const created = Math.floor(Date.now() / 1000);
    const intent = { id: `pi_${(made += 1)}`, object: 'payment_intent', created, status, metadata };
    intents.unshift(intent);
    const error = {
      type: 'card_error',
      code: 'card_declined',
      decline_code: 'generic_decline',
      payment_intent: intent,
    };
    const answer = bad ? { status: 402, body: { error } } : { status: 200, body: intent };
    answered.set(key, { body, answer });
    return answer;
  }

  function listIntents({ url }: SinkRequest): HttpAnswer {
    const from = intents.findIndex(({ id }) => id === url.searchParams.get('starting_after')) + 1;
    const limit = Number(url.searchParams.get('limit') ?? 10);
    const data = intents.slice(from, from + limit);
    return { status: 200, body: { object: 'list', data, has_more: from + limit < intents.length } };
  }

  const requests: StripeSystem['requests'] = [];
  const front = await startSinkServer(async (request) => {
    const { method, url, headers } = request;
    requests.push({ method, path: `${url.pathname}${url.search}`, headers });
    const resource = url.pathname.split('/')[2] ?? '';
    const isIntent = resource === 'payment_intents';
    if (method === 'GET') {
      return request.lookup(resource, ['list'], async () => {
        const answer = isIntent ? listIntents(request) : await forward(request);
        if (answer.status === 200) system.distort(answer.body as { data: Json[]; has_more: boolean });
        return answer;
      });
    }
    return request.write(resource, String(headers['idempotency-key']), async () => {
      const answer = isIntent ? createIntent(request) : await forward(request);
      const replayed = answer.headers?.['idempotent-replayed'] !== undefined;
      return { event: replayed ? 'replayed' : answer.status === 200 ? 'committed' : 'refused', answer };
    });
  });

  const system: StripeSystem = {
    url: front.url,
    port: front.port,
    front,
    requests,
    distort: () => undefined,
    forget: (key) => void generations.set(key, (generations.get(key) ?? 0) + 1),
    async held(key, resource = 'charges') {
      const headers = { authorization: `Bearer ${API_KEY}` };
      const list = await fetch(`${behind}/v1/${resource}`, { headers }).then((reply) => reply.json() as Promise<Json>);
      const data = resource === 'payment_intents' ? intents : (list['data'] as Json[]);
      const own = data.filter(({ metadata }) => (metadata as Json)['countersign_key'] === key);
      return own.filter(({ status }) => !DECLINED.has(status)).length;
    },
    async end() {
      await front.close();
      await new Promise<void>((resolve) => mock.close(() => resolve()).closeAllConnections());
    },
  };
  return system;
}
