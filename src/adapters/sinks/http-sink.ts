/**
 * An HTTP service that takes an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07: a quoted structured-field String).
 *
 * Invariant: one request a send, to an allowed origin only, no redirect followed. Only answers whose meaning is fixed become an
 * outcome: the listed successes, refusals (400) and not-sent (429). Everything else is unknown, and thrown:
 *
 *   409 or 202   the operation is still running: `in_flight`
 *   422          the service holds another request under this key: `key_reused`. Keys are derived from the operation, so this
 *                means that it was rendered differently before, perhaps successfully: never a refusal
 *   5xx          the service may have stored the effect before it failed
 */
import {
  type DispatchOutcome,
  type EffectSink,
  type LookupStrength,
  type SideEffectClass,
  type SinkAnswer,
  type SinkItem,
} from '../../ports';
import { HttpExchange, type HttpReply, jsonObject, retryAfterMs } from './http-exchange';
import { isPublicAddress } from './public-address';
import { parseSinkAnswer } from './sink-answer';
import { SinkError, type SinkErrorCode, type SinkErrorContext } from './sink-error';
import { fillTemplate } from './template';

/** An answer as mappers see it. `json` is `null` when the body is no JSON object. */
export interface HttpSinkReply {
  readonly status: number;
  readonly headers: HttpReply['headers'];
  readonly json: Record<string, unknown> | null;
}

/** How the service is asked and what its answers mean; times are in milliseconds. */
export interface HttpSinkOptions {
  /** What errors call this sink. */
  readonly name: string;
  /** Where writes go, as in `https://pay.example.org/orders/{order.id}/charges`; `{a.b}` is that field of the operation. */
  readonly url: string;
  /** Origins that may be written to. @default that of `url` */
  readonly origins?: readonly string[];
  /** @default 'POST' */
  readonly method?: 'POST' | 'PUT' | 'PATCH';
  /** What is sent, as JSON. @default the operation */
  readonly body?: (operation: unknown) => unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further headers that are asked for at each call and never kept. */
  readonly credentials?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** @default 'idempotency-key' */
  readonly keyHeader?: string;
  /** The draft quotes the key; some services take it bare. @default 'quoted' */
  readonly keyFormat?: 'quoted' | 'bare';
  /** A header for the operation digest, where the service keeps it for look-ups. */
  readonly digestHeader?: string;
  /**
   * What the service does with a second request under one key: gives the first answer again, refuses it, or carries it out.
   * @default 'replays'
   */
  readonly repeats?: 'replays' | 'refuses' | 'carries_out';
  /** How long the service remembers a key. Absent: for ever. */
  readonly horizonMs?: number;
  /** @default [200, 201, 204] */
  readonly acceptedStatuses?: readonly number[];
  /** @default [400] */
  readonly refusedStatuses?: readonly number[];
  /** @default [429] */
  readonly notSentStatuses?: readonly number[];
  /** How the service says that a key belongs to another request. @default 422 */
  readonly mismatchStatus?: number;
  /** @default the JSON field `id`, else the `Location` header */
  readonly externalId?: (reply: HttpSinkReply) => string | null;
  /** @default the JSON body */
  readonly result?: (reply: HttpSinkReply) => unknown;
  readonly lookup?: {
    /** Read with GET, as in `https://pay.example.org/operations/{key}`. */
    readonly url: string;
    /** @default 'authoritative' */
    readonly strength?: Exclude<LookupStrength, 'none'>;
    /** Statuses that mean absent. A wrong path answers 404 too, so none does unless listed. @default [] */
    readonly absentStatuses?: readonly number[];
    /** Reads the answer; `null` when it is not what it should be. @default the fields of `parseSinkAnswer` */
    readonly answer?: (reply: HttpSinkReply, item: SinkItem) => SinkAnswer | null;
  };
  /** A harmless operation for the start-up self-test. Absent: the service is believed. Written once within its horizon. */
  readonly selfTest?: { readonly operation: unknown };
  readonly sideEffect?: SideEffectClass;
  /** @default 10000 */
  readonly deadlineMs?: number;
  /** @default 30000 */
  readonly settleMs?: number;
  readonly maxInFlight?: number;
  readonly minIntervalMs?: number;
  /** @default 1 MiB */
  readonly maxAnswerBytes?: number;
  /** Largest body that is sent; a larger operation is refused. @default 1 MiB */
  readonly maxBodyBytes?: number;
  /**
   * `public`: connections only to addresses on the internet, judged after a name is resolved and for the very address that is
   * connected to, so that no name can lead into your own network. @default 'any'
   */
  readonly addresses?: 'any' | 'public';
  /** Resolves host names. @default as the system does */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
}

const HORIZONLESS = { replays: 'always', refuses: 'always', carries_out: 'no' } as const;
const WITH_HORIZON = { replays: 'within_horizon', refuses: 'within_horizon', carries_out: 'no' } as const;

const LONE_SURROGATE = /\p{Surrogate}/u;

const originOf = (url: string): string => new URL(url.replace(/[{}]/g, '-')).origin;

/** The address for these values, or `null` when they do not fit or would lead anywhere else. */
export function fillUrl(template: string, values: unknown, origins: ReadonlySet<string>): URL | null {
  const filled = fillTemplate(template, values, (value) =>
    value === '' || LONE_SURROGATE.test(value) ? null : encodeURIComponent(value),
  );
  if (filled === null || !URL.canParse(filled)) return null;
  const url = new URL(filled);
  // `.` and `..` would be resolved away, so the parsed address must read exactly as it was filled.
  return origins.has(url.origin) && filled === `${url.origin}${url.pathname}${url.search}` ? url : null;
}

/** A structured-field String (RFC 9651), or `null` when the text cannot be one. */
export function structuredString(text: string): string | null {
  return /^[\x20-\x7e]+$/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : null;
}

const view = (reply: HttpReply): HttpSinkReply => ({
  status: reply.status,
  headers: reply.headers,
  json: jsonObject(reply),
});

function defaultExternalId({ json, headers }: HttpSinkReply): string | null {
  const id = json?.['id'];
  return typeof id === 'string' || typeof id === 'number' ? String(id) : (headers.location ?? null);
}

/** An HTTP service that takes JSON, with the key in a header. Needs nothing but Node. */
export function httpSink(options: HttpSinkOptions): EffectSink {
  const { name: sink, lookup, repeats = 'replays', mismatchStatus = 422 } = options;
  const http = new HttpExchange({
    maxSockets: Math.max(8, options.maxInFlight ?? 0),
    ...(options.maxAnswerBytes === undefined ? {} : { maxAnswerBytes: options.maxAnswerBytes }),
    ...(options.addresses === 'public' ? { allowsAddress: isPublicAddress } : {}),
    ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
  });
  const maxBodyBytes = options.maxBodyBytes ?? 1024 * 1024;
  const origins = new Set(options.origins ?? [originOf(options.url)]);
  const lookupOrigins = new Set([...origins, ...(lookup ? [originOf(lookup.url)] : [])]);
  const accepted = new Set(options.acceptedStatuses ?? [200, 201, 204]);
  const refused = new Set(options.refusedStatuses ?? [400]);
  const notSent = new Set(options.notSentStatuses ?? [429]);

  /** Runs what the operator wrote; its errors could quote an answer or a credential, so they are not passed on. */
  const guarded = async <T>(call: () => T | Promise<T>): Promise<T | 'failed'> => {
    try {
      return await call();
    } catch {
      return 'failed';
    }
  };

  const unknown = (reply: HttpReply, context: SinkErrorContext): SinkError => {
    const { status } = reply;
    const code: SinkErrorCode =
      status === mismatchStatus
        ? 'key_reused'
        : status === 409 || status === 202
          ? 'in_flight'
          : status >= 300 && status < 400
            ? 'redirect_not_followed'
            : 'unexpected_status';
    return new SinkError(code, context, { detail: `status=${status}`, retryAfterMs: retryAfterMs(reply) });
  };

  async function find(item: SinkItem, signal: AbortSignal, by: NonNullable<typeof lookup>): Promise<SinkAnswer> {
    const context = { sink, key: item.idempotencyKey };
    const url = fillUrl(by.url, { key: item.idempotencyKey, digest: item.operationDigest }, lookupOrigins);
    const credentials = await guarded(() => options.credentials?.() ?? {});
    if (!url || credentials === 'failed') throw new SinkError('not_reachable', context);
    const headers = { accept: 'application/json', 'cache-control': 'no-store', ...options.headers, ...credentials };
    const reply = await http.send({ method: 'GET', url, headers }, signal, context);
    if (reply === 'not_connected') throw new SinkError('not_reachable', context);
    if (by.absentStatuses?.includes(reply.status)) return { state: 'absent' };
    if (reply.status === 409 || reply.status === 202) return inFlight(reply);
    if (reply.status !== 200) throw unknown(reply, context);
    const answer = await guarded(() => (by.answer ? by.answer(view(reply), item) : parseSinkAnswer(view(reply).json)));
    if (answer === 'failed' || answer === null) throw new SinkError('answer_invalid', context);
    return answer;
  }

  async function send(item: SinkItem, signal: AbortSignal): Promise<DispatchOutcome> {
    const context = { sink, key: item.idempotencyKey };
    const url = fillUrl(options.url, item.operation, origins);
    const key = structuredString(item.idempotencyKey);
    const body = await guarded(() => JSON.stringify(options.body ? options.body(item.operation) : item.operation));
    if (!url || key === null || body === 'failed') return { outcome: 'refused', code: 'invalid_operation' };
    if (Buffer.byteLength(body ?? '') > maxBodyBytes) return { outcome: 'refused', code: 'operation_too_large' };
    const credentials = await guarded(() => options.credentials?.() ?? {});
    if (credentials === 'failed') return { outcome: 'not_sent' };
    const headers = {
      'content-type': 'application/json',
      ...options.headers,
      ...credentials,
      ...(options.digestHeader ? { [options.digestHeader]: item.operationDigest } : {}),
      [options.keyHeader ?? 'idempotency-key']: options.keyFormat === 'bare' ? item.idempotencyKey : key,
    };
    const reply = await http.send({ method: options.method ?? 'POST', url, headers, body }, signal, context);
    if (reply === 'not_connected') return { outcome: 'not_sent' };
    const wait = retryAfterMs(reply);
    if (reply.status === mismatchStatus) throw unknown(reply, context);
    if (refused.has(reply.status)) return { outcome: 'refused', code: `http_${reply.status}` };
    if (notSent.has(reply.status))
      return { outcome: 'not_sent', ...(wait === undefined ? {} : { retryAfterMs: wait }) };
    if (!accepted.has(reply.status)) throw unknown(reply, context);
    const read = await guarded(() => ({
      externalId: (options.externalId ?? defaultExternalId)(view(reply)),
      result: options.result ? options.result(view(reply)) : (view(reply).json ?? undefined),
    }));
    if (read === 'failed') throw new SinkError('answer_invalid', context);
    return {
      outcome: 'accepted',
      externalId: read.externalId,
      ...(read.result === undefined ? {} : { result: read.result }),
    };
  }

  /** Sends the same operation three times under one fixed key, and looks it up: one effect, one id, or the service is refused. */
  async function selfTest(operation: unknown): Promise<void> {
    const key = `self-test-${sink}`;
    const item = {
      toolId: 'self-test',
      actionId: 'self-test',
      idempotencyKey: key,
      operationDigest: '0'.repeat(64),
      operation,
    };
    const signal = AbortSignal.timeout(options.deadlineMs ?? 10_000);
    let first: string | null | undefined;
    for (const step of ['create', 'first repeat', 'second repeat']) {
      const failed = (found: string): SinkError =>
        new SinkError('probe_failed', { sink, key }, { detail: `step=${step}, found=${found}` });
      const sent = await send(item, signal).catch((error: SinkError) => error.code);
      const told = typeof sent === 'string' ? sent : sent.outcome;
      if (typeof sent === 'object' && sent.outcome === 'accepted') {
        if (first !== undefined && (repeats !== 'replays' || sent.externalId !== first)) throw failed('another effect');
        first = sent.externalId;
      } else if (repeats === 'replays') throw failed(told);
      if (!lookup) continue;
      const found = await find(item, signal, lookup).catch((error: SinkError) => ({ state: error.code }) as const);
      if (found.state !== 'committed') throw failed(found.state);
      if (found.operationDigest !== item.operationDigest) throw failed('another digest');
    }
  }

  return {
    kind: 'local_tool',
    sideEffect: options.sideEffect ?? 'non_idempotent_write',
    lookup: lookup ? (lookup.strength ?? 'authoritative') : 'none',
    enforcesKey: (options.horizonMs === undefined ? HORIZONLESS : WITH_HORIZON)[repeats],
    deadlineMs: options.deadlineMs ?? 10_000,
    settleMs: options.settleMs ?? 30_000,
    ...(options.horizonMs === undefined ? {} : { horizonMs: options.horizonMs }),
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),
    ...(options.minIntervalMs === undefined ? {} : { minIntervalMs: options.minIntervalMs }),

    observe: (items, { signal }) =>
      Promise.all(items.map((item) => (lookup ? find(item, signal, lookup) : ({ state: 'unknown' } as const)))),

    dispatch: (item, { signal }) => send(item, signal),

    ...(options.selfTest && repeats !== 'carries_out' ? { probe: () => selfTest(options.selfTest?.operation) } : {}),
  };
}

function inFlight(reply: HttpReply): SinkAnswer {
  const wait = retryAfterMs(reply);
  return wait === undefined ? { state: 'in_flight' } : { state: 'in_flight', retryAfterMs: wait };
}
