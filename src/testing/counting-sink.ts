/**
 * The three test sinks in front of the counting server: one enforces keys, one only looks them up, one can do neither.
 *
 * Invariant: what each declares of itself is what its side of the server does, no more and no less.
 */
import { HttpExchange, jsonObject, retryAfterMs } from '../adapters/sinks/http-exchange';
import { SinkError } from '../adapters/sinks/sink-error';
import {
  type EffectSink,
  type KeyEnforcement,
  type LookupStrength,
  type SideEffectClass,
  type SinkAnswer,
} from '../ports';
import { type CountingMode } from './counting-server';

/** Which server, in which mode; times are in milliseconds. */
export interface CountingSinkOptions {
  /** Where the counting server listens. */
  readonly url: string;
  readonly mode: CountingMode;
  /** @default 1000 */
  readonly deadlineMs?: number;
  /** @default 2500 */
  readonly settleMs?: number;
  readonly sideEffect?: SideEffectClass;
  readonly maxInFlight?: number;
  readonly minIntervalMs?: number;
  /** @default 64 */
  readonly maxSockets?: number;
}

const DECLARED: Record<CountingMode, { lookup: LookupStrength; enforcesKey: KeyEnforcement }> = {
  enforcing: { lookup: 'authoritative', enforcesKey: 'always' },
  lookup: { lookup: 'authoritative', enforcesKey: 'no' },
  blind: { lookup: 'none', enforcesKey: 'no' },
};

function toAnswer(wire: Record<string, unknown>): SinkAnswer {
  switch (wire['state']) {
    case 'absent':
      return { state: 'absent' };
    case 'in_flight': {
      const wait = wire['retry_after_ms'];
      return typeof wait === 'number' ? { state: 'in_flight', retryAfterMs: wait } : { state: 'in_flight' };
    }
    case 'committed':
      return {
        state: 'committed',
        operationDigest: String(wire['operation_digest']),
        externalId: String(wire['external_id']),
        result: { row: wire['row'] },
      };
    default:
      return { state: 'unknown' };
  }
}

/** A sink that writes to a counting server. */
export function countingSink(options: CountingSinkOptions): EffectSink {
  const { url, mode, deadlineMs = 1000, settleMs = 2500, maxSockets = 64 } = options;
  const http = new HttpExchange({ maxSockets });
  const writes = new URL(`${url}/${mode}/writes`);
  const lookups = new URL(`${url}/${mode}/lookups`);
  const headers = { 'content-type': 'application/json', 'x-worker-pid': String(process.pid) };
  const sink = `counting-${mode}`;

  return {
    kind: 'local_tool',
    sideEffect: options.sideEffect ?? 'non_idempotent_write',
    ...DECLARED[mode],
    deadlineMs,
    settleMs,
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),
    ...(options.minIntervalMs === undefined ? {} : { minIntervalMs: options.minIntervalMs }),

    async observe(items, { signal }) {
      if (mode === 'blind') return items.map(() => ({ state: 'unknown' }) as const);
      const context = { sink, key: items.map((item) => item.idempotencyKey).join(' ') };
      const body = JSON.stringify({ keys: items.map((item) => item.idempotencyKey) });
      const reply = await http.send({ method: 'POST', url: lookups, headers, body }, signal, context);
      if (reply === 'not_connected') throw new SinkError('not_reachable', context);
      if (reply.status !== 200) throw new SinkError('unexpected_status', context, { detail: `status=${reply.status}` });
      const answers = jsonObject(reply)?.['answers'];
      if (!Array.isArray(answers) || answers.length !== items.length) throw new SinkError('answer_invalid', context);
      return answers.map((answer) => toAnswer(answer as Record<string, unknown>));
    },

    async dispatch(item, { signal }) {
      const context = { sink, key: item.idempotencyKey };
      const body = JSON.stringify({
        key: item.idempotencyKey,
        operation_digest: item.operationDigest,
        payload: item.operation,
      });
      const reply = await http.send({ method: 'POST', url: writes, headers, body }, signal, context);
      if (reply === 'not_connected') return { outcome: 'not_sent' };
      const wait = retryAfterMs(reply);
      switch (reply.status) {
        case 200:
        case 201: {
          const answer = jsonObject(reply);
          if (typeof answer?.['external_id'] !== 'string') throw new SinkError('answer_invalid', context);
          return { outcome: 'accepted', externalId: answer['external_id'], result: { row: answer['row'] } };
        }
        case 400:
          return { outcome: 'refused', code: 'invalid_body' };
        case 409:
          throw new SinkError('in_flight', context, { retryAfterMs: wait });
        case 422:
          throw new SinkError('key_reused', context);
        case 429:
          return wait === undefined ? { outcome: 'not_sent' } : { outcome: 'not_sent', retryAfterMs: wait };
        default:
          throw new SinkError('unexpected_status', context, { detail: `status=${reply.status}` });
      }
    },
  };
}
