/**
 * Charges, PaymentIntents and refunds at Stripe.
 *
 * Invariant: one request a send, under the effect's own key. Only answers whose meaning is fixed become an outcome; what Stripe declined is
 * refused and never found as done; a look-up believes no filter of the server, only the key and digest in an object's metadata, and
 * says nothing when it could not read far enough back.
 */
import { type DispatchOutcome, type EffectSink, type SinkAnswer, type SinkItem } from '../../ports';
import { optionalPeer } from '../optional-peer';
import { HttpExchange, type HttpReply, jsonObject, retryAfterMs } from './http-exchange';
import { SinkError, type SinkErrorContext } from './sink-error';
import { StripeExchange, type StripeLibrary, type StripeServer } from './stripe-exchange';
import {
  answerOf,
  KEY_FIELD,
  narrowingOf,
  parametersOf,
  parseObject,
  parseStripeOperation,
  RESOURCES,
  type StripeObject,
  type StripeOperation,
  type StripeResource,
} from './stripe-resources';

/** Which account, and what may be made; times are in milliseconds. */
export interface StripeSinkOptions {
  /** What errors call this sink. */
  readonly name: string;
  /** Asked for at each call and never kept. A restricted key that may write and list `resources` is enough. */
  readonly apiKey: () => string | Promise<string>;
  /** What operations may create. @default all three */
  readonly resources?: readonly StripeResource[];
  /** The connected account that everything is done for. */
  readonly account?: string;
  /** @default '2026-10-28.endive' */
  readonly apiVersion?: string;
  /** `http` only to this machine. @default Stripe's own */
  readonly server?: StripeServer;
  /** How far back a look-up reads. @default 7 days */
  readonly lookBackMs?: number;
  /** Most pages of 100 that a look-up reads; what is not found by then is unknown. @default 20 */
  readonly maxPages?: number;
  /** @default 30000 */
  readonly deadlineMs?: number;
  /** @default 60000 */
  readonly settleMs?: number;
  readonly maxInFlight?: number;
  readonly minIntervalMs?: number;
}

const HOUR_MS = 3_600_000;
/** Stripe may forget a key after 24 hours. */
const HORIZON_MS = 23 * HOUR_MS;
const STRIPE: StripeServer = { protocol: 'https', host: 'api.stripe.com', port: 443 };
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);
const WORD = /^[a-z][a-z0-9_]{0,63}$/;
/** After an answer that says neither how long nor why. */
const PAUSE_MS = 1_000;
/** What an operator must put right: a key that is revoked, or that may not do this. */
const REPAIR_MS = 60_000;
const PAGE = 100;

const errorOf = (reply: HttpReply): Readonly<Record<string, unknown>> =>
  (jsonObject(reply)?.['error'] ?? {}) as Readonly<Record<string, unknown>>;

const word = (...candidates: unknown[]): string =>
  candidates.find((one): one is string => typeof one === 'string' && WORD.test(one)) ?? 'stripe_refused';

/** One object of Stripe for each effect. Throws `peer_missing` without `stripe`. */
export function stripeSink(options: StripeSinkOptions): EffectSink {
  const { name: sink, server = STRIPE, deadlineMs = 30_000 } = options;
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const Stripe = optionalPeer('stripeSink', 'stripe', () => require('stripe') as StripeLibrary);
  if (server.protocol === 'http' && !LOOPBACK.has(server.host)) {
    throw new Error(`stripeSink ${sink}: http is only for a server on this machine; use https`);
  }
  const allowed = new Set(options.resources ?? (Object.keys(RESOURCES) as StripeResource[]));
  const http = new HttpExchange({ maxSockets: Math.max(8, options.maxInFlight ?? 0), maxAnswerBytes: 8 * 1024 * 1024 });
  const stripe = new StripeExchange(Stripe, http, server, {
    apiVersion: options.apiVersion ?? '2026-10-28.endive',
    ...(options.account === undefined ? {} : { stripeAccount: options.account }),
  });

  /** Its errors could quote the key. */
  const apiKey = async (): Promise<string | null> => {
    try {
      return await options.apiKey();
    } catch {
      return null;
    }
  };

  async function page(path: string, key: string, signal: AbortSignal, context: SinkErrorContext): Promise<Page> {
    const reply = await stripe.send(key, { method: 'GET', path, params: null }, signal, context);
    if (typeof reply === 'string') throw new SinkError('not_reachable', context);
    if (reply.status !== 200) throw new SinkError('unexpected_status', context, { detail: `status=${reply.status}` });
    const { data, has_more: more } = jsonObject(reply) ?? {};
    const objects = Array.isArray(data) ? data.map(parseObject) : [null];
    if (!objects.every((one) => one !== null) || typeof more !== 'boolean') {
      throw new SinkError('answer_invalid', context);
    }
    return { objects, more };
  }

  /** Every object that carries one of the keys, and whether the list was read far enough back. */
  async function scan(
    group: Group,
    key: string,
    signal: AbortSignal,
    context: SinkErrorContext,
  ): Promise<{ readonly found: readonly StripeObject[]; readonly whole: boolean }> {
    const oldest = Math.floor((Date.now() - (options.lookBackMs ?? 7 * 24 * HOUR_MS)) / 1000);
    const wanted = new Set(group.items.map(({ item }) => item.idempotencyKey));
    const found = new Map<string, StripeObject>();
    const query = new URLSearchParams({ limit: String(PAGE), 'created[gte]': String(oldest) });
    if (group.narrowing) query.set(...group.narrowing);
    const seen = new Set<string>();
    for (let pages = 0; pages < (options.maxPages ?? 20); pages += 1) {
      const { objects, more } = await page(`/v1/${group.resource}?${query.toString()}`, key, signal, context);
      for (const object of objects) {
        if (wanted.has(String(object.metadata[KEY_FIELD]))) found.set(object.id, object);
      }
      const last = objects.at(-1);
      if (!more || (last && objects.every(({ created }) => created < oldest))) {
        return { found: [...found.values()], whole: true };
      }
      // A list that goes in a circle, or on without a next page, cannot be read to its end.
      if (!last || seen.has(last.id)) throw new SinkError('answer_invalid', context);
      seen.add(last.id);
      query.set('starting_after', last.id);
    }
    return { found: [...found.values()], whole: false };
  }

  async function observe(items: readonly SinkItem[], signal: AbortSignal): Promise<SinkAnswer[]> {
    const answers: SinkAnswer[] = items.map(() => ({ state: 'absent' })); // of what is no operation, nothing was ever sent
    const context = { sink, key: items.map(({ idempotencyKey }) => idempotencyKey).join(' ') };
    const key = await apiKey();
    if (key === null) throw new SinkError('not_reachable', context);
    for (const group of groupsOf(items, allowed)) {
      const { found, whole } = await scan(group, key, signal, context);
      for (const { index, item, operation } of group.items) {
        const own = found.filter(({ metadata }) => metadata[KEY_FIELD] === item.idempotencyKey);
        const answer = answerOf(operation, own);
        if (answer === 'several') throw new SinkError('several_matches', { sink, key: item.idempotencyKey });
        answers[index] = answer.state === 'absent' && !whole ? { state: 'unknown' } : answer;
      }
    }
    return answers;
  }

  async function dispatch(item: SinkItem, signal: AbortSignal): Promise<DispatchOutcome> {
    const context = { sink, key: item.idempotencyKey };
    const operation = parseStripeOperation(item.operation, allowed);
    if (!operation) return { outcome: 'refused', code: 'invalid_operation' };
    const key = await apiKey();
    if (key === null) return { outcome: 'not_sent', retryAfterMs: REPAIR_MS };
    const { resource, params } = operation;
    const call = { method: 'POST', path: `/v1/${resource}`, params: parametersOf(operation, item) } as const;
    const reply = await stripe.send(key, { ...call, idempotencyKey: item.idempotencyKey }, signal, context);
    if (reply === 'not_encodable') return { outcome: 'refused', code: 'invalid_operation' };
    if (reply === 'not_connected') return { outcome: 'not_sent', retryAfterMs: PAUSE_MS };
    if (reply.status !== 200) return declined(reply, context);
    const object = parseObject(jsonObject(reply));
    if (!object || object.metadata[KEY_FIELD] !== item.idempotencyKey) throw new SinkError('answer_invalid', context);
    if (RESOURCES[resource].declined(object.status, params)) {
      return { outcome: 'refused', code: word(`status_${String(object.status)}`) };
    }
    return { outcome: 'accepted', externalId: object.id, result: object.whole };
  }

  return {
    kind: 'local_tool',
    sideEffect: 'non_idempotent_write',
    // Nobody promises that a list shows at once what was written, and a list is only read so far: it proves what it shows.
    lookup: 'hint',
    enforcesKey: 'within_horizon',
    horizonMs: HORIZON_MS,
    deadlineMs,
    settleMs: options.settleMs ?? 60_000,
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),
    ...(options.minIntervalMs === undefined ? {} : { minIntervalMs: options.minIntervalMs }),

    observe: (items, { signal }) => observe(items, signal),
    dispatch: (item, { signal }) => dispatch(item, signal),

    /** The key is good, and may list what it may create. */
    async probe() {
      const context = { sink, key: 'self-test' };
      const key = await apiKey();
      if (key === null) throw new SinkError('probe_failed', context, { detail: 'step=key' });
      for (const resource of allowed) {
        try {
          await page(`/v1/${resource}?limit=1`, key, AbortSignal.timeout(deadlineMs), context);
        } catch (fault) {
          const { code } = fault as SinkError;
          throw new SinkError('probe_failed', context, { detail: `list=${resource}, found=${code}` });
        }
      }
    },
  };
}

interface Page {
  readonly objects: readonly StripeObject[];
  readonly more: boolean;
}

/** Items that one list may show. */
interface Group {
  readonly resource: StripeResource;
  readonly narrowing: readonly [string, string] | null;
  readonly items: { readonly index: number; readonly item: SinkItem; readonly operation: StripeOperation }[];
}

function groupsOf(items: readonly SinkItem[], allowed: ReadonlySet<StripeResource>): Iterable<Group> {
  const groups = new Map<string, Group>();
  for (const [index, item] of items.entries()) {
    const operation = parseStripeOperation(item.operation, allowed);
    if (!operation) continue;
    const { resource } = operation;
    const narrowing = narrowingOf(operation);
    const name = JSON.stringify([resource, narrowing]);
    const group = groups.get(name) ?? { resource, narrowing, items: [] };
    group.items.push({ index, item, operation });
    groups.set(name, group);
  }
  return groups.values();
}

/** What an answer that is no success means; whatever has no fixed meaning is thrown. */
function declined(reply: HttpReply, context: SinkErrorContext): DispatchOutcome {
  const { type, code, decline_code: reason } = errorOf(reply);
  const wait = retryAfterMs(reply);
  switch (reply.status) {
    case 402:
      return { outcome: 'refused', code: word(reason, code) };
    case 400:
    case 404:
      if (type === 'idempotency_error') throw new SinkError('key_reused', context);
      if (code === 'rate_limit') return { outcome: 'not_sent', retryAfterMs: wait ?? PAUSE_MS };
      if (type !== 'invalid_request_error' && type !== 'card_error') break;
      return { outcome: 'refused', code: word(code) };
    case 401:
    case 403:
      return { outcome: 'not_sent', retryAfterMs: REPAIR_MS };
    case 409:
      throw new SinkError('in_flight', context, { retryAfterMs: wait });
    case 429:
      return { outcome: 'not_sent', retryAfterMs: wait ?? PAUSE_MS };
  }
  throw new SinkError('unexpected_status', context, { detail: `status=${reply.status}`, retryAfterMs: wait });
}
