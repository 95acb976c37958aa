/**
 * The kit itself, against sinks that are broken in one way each.
 *
 * - A sound sink keeps every case; none is left out.
 * - For every promise of the kit there is a sink that breaks it, and it is caught by the name of the fault and of the promise.
 * - What is caught is caught under every fault that the table names for it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DispatchOutcome, EffectSink, SinkAnswer, SinkItem } from '../../../src/ports';
import { BROKEN, type Broken, BrokenPromise, sinkConformance, type SinkFault } from '../../../src/testing';
import { conforms } from '../../support/conformance';
import { type Shelf, shelfSink, startShelf, TOKEN } from './shelf';

let shelf: Shelf;
let careless: Shelf;
beforeAll(async () => {
  shelf = await startShelf();
  careless = await startShelf(true);
});
afterAll(async () => {
  await shelf.close();
  await careless.close();
});

describe('a sound sink', () => {
  conforms(
    sinkConformance(
      ({ url }) => shelfSink(url),
      () => shelf.fixture,
    ),
  );
});

type Mutate = (url: string) => EffectSink;
type Dispatch = EffectSink['dispatch'];
type Observe = EffectSink['observe'];

/** A mutant that says otherwise: `say` is given the sound sink's call. */
const sending =
  (say: (send: () => Promise<DispatchOutcome>, ...given: Parameters<Dispatch>) => Promise<DispatchOutcome>): Mutate =>
  (url) => {
    const good = shelfSink(url);
    return { ...good, dispatch: (...given) => say(() => good.dispatch(...given), ...given) };
  };
const looking =
  (say: (look: () => ReturnType<Observe>, ...given: Parameters<Observe>) => ReturnType<Observe>): Mutate =>
  (url) => {
    const good = shelfSink(url);
    return { ...good, observe: (...given) => say(() => good.observe(...given), ...given) };
  };
const declaring =
  (over: Partial<EffectSink>): Mutate =>
  (url) => ({ ...shelfSink(url), ...over });

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;
const each = (items: readonly SinkItem[], answer: SinkAnswer): readonly SinkAnswer[] => items.map(() => answer);
const never = new AbortController().signal;

interface Mutant {
  readonly is: string;
  readonly under: readonly SinkFault[];
  readonly make: Mutate;
  /** The service behind it makes a row for whatever arrives. */
  readonly careless?: boolean;
}

const MUTANTS: Record<Broken, readonly Mutant[]> = {
  declaration_invalid: [
    { is: 'has no deadline', under: ['none'], make: declaring({ deadlineMs: 0 }) },
    {
      is: 'enforces within no horizon',
      under: ['none'],
      make: (url) => {
        const { horizonMs: _horizonMs, ...good } = shelfSink(url);
        return good;
      },
    },
  ],
  probe_failed: [
    {
      is: 'refuses a sound server',
      under: ['none'],
      make: declaring({ probe: () => Promise.reject(new Error('no')) }),
    },
  ],
  false_absent: [
    {
      is: 'takes what was filtered out for absent',
      under: ['ignored_filter'],
      make: (url) => shelfSink(url, { takesFirst: true }),
    },
    { is: 'reads through caches', under: ['stale_read'], make: (url) => shelfSink(url, { cached: true }) },
    {
      is: 'remembers what it did not find',
      under: ['none', 'late_commit'],
      make: (url) => {
        const good = shelfSink(url);
        const missed = new Set<string>();
        return {
          ...good,
          observe: async (items, context) => {
            const answers = await good.observe(items, context);
            return answers.map((answer, index) => {
              const key = items[index]?.idempotencyKey ?? '';
              if (answer.state === 'absent') missed.add(key);
              return missed.has(key) ? { state: 'absent' } : answer;
            });
          },
        };
      },
    },
  ],
  false_committed: [
    {
      is: 'believes what it sent',
      under: ['lost_request', 'reset'],
      make: (url) => {
        const good = shelfSink(url);
        return {
          ...good,
          dispatch: (item, context) => {
            sentOnce.add(item.idempotencyKey);
            return good.dispatch(item, context);
          },
          observe: async (items, context) => {
            const answers = await good.observe(items, context);
            return answers.map((answer, index) => {
              const item = items[index] as SinkItem;
              return answer.state === 'absent' && sentOnce.has(item.idempotencyKey)
                ? { state: 'committed', operationDigest: item.operationDigest, externalId: null }
                : answer;
            });
          },
        };
      },
    },
  ],
  false_accepted: [
    {
      is: 'takes a key that is reused for an acceptance',
      under: ['wrong_digest'],
      make: sending((send) => send().catch(() => ({ outcome: 'accepted', externalId: null }))),
    },
  ],
  false_refused: [
    {
      is: 'takes every status that is no success for a refusal',
      under: ['status_409', 'status_412', 'status_5xx', 'redirect'],
      make: sending((send) =>
        send().catch((error: unknown) => {
          if (codeOf(error) !== 'unexpected_status') throw error;
          return { outcome: 'refused', code: 'failed' };
        }),
      ),
    },
    {
      is: 'takes 429 for a refusal',
      under: ['status_429'],
      make: sending(async (send) => {
        const told = await send();
        return told.outcome === 'not_sent' ? { outcome: 'refused', code: 'busy' } : told;
      }),
    },
    {
      is: 'takes a time-out for a refusal',
      under: ['late_commit', 'slow_drip', 'aborted'],
      make: sending((send) => send().catch(() => ({ outcome: 'refused', code: 'timeout' }))),
    },
    {
      is: 'refuses what it has seen before',
      under: ['repeat', 'two_senders', 'expired_key', 'late_original'],
      make: sending(async (send, { idempotencyKey }) => {
        if (seenBefore.has(idempotencyKey)) return { outcome: 'refused', code: 'seen' };
        seenBefore.add(idempotencyKey);
        return send();
      }),
    },
  ],
  false_not_sent: [
    {
      is: 'takes a time-out for not sent',
      under: ['late_commit'],
      make: sending((send, _item, { signal }) =>
        send().catch((error: unknown) => {
          if (!signal.aborted) throw error;
          return { outcome: 'not_sent' };
        }),
      ),
    },
    {
      is: 'takes every failure for not sent',
      under: ['lost_reply', 'cut_anywhere', 'status_5xx', 'slow_drip', 'aborted'],
      make: sending((send) => send().catch(() => ({ outcome: 'not_sent' }))),
    },
  ],
  never_committed: [
    {
      is: 'is never sure',
      under: ['none'],
      make: looking(async (look) =>
        (await look()).map((answer) => (answer.state === 'committed' ? { state: 'unknown' } : answer)),
      ),
    },
  ],
  never_absent: [
    {
      is: 'takes absent for running',
      under: ['none'],
      make: looking(async (look) =>
        (await look()).map((answer) => (answer.state === 'absent' ? { state: 'in_flight' } : answer)),
      ),
    },
  ],
  never_accepted: [
    {
      is: 'throws after its send',
      under: ['none', 'repeat'],
      make: sending((send) => send().then(() => Promise.reject(new Error('late')))),
    },
    {
      is: 'sends nothing any more after one failure',
      under: ['lost_request', 'reset'],
      make: (url) => {
        const good = shelfSink(url);
        let spoiled = false;
        return {
          ...good,
          dispatch: (item, context) =>
            spoiled
              ? Promise.resolve({ outcome: 'not_sent' })
              : good.dispatch(item, context).catch((error: unknown) => {
                  spoiled = true;
                  throw error;
                }),
        };
      },
    },
  ],
  not_written: [
    {
      is: 'does not wait for the answer',
      under: ['lost_request', 'status_400', 'status_429', 'redirect'],
      make: sending(async (send) => {
        await send().catch(() => null);
        return { outcome: 'accepted', externalId: null };
      }),
    },
  ],
  sent_again: [
    {
      is: 'retries when the connection is lost',
      under: ['lost_request', 'reset'],
      make: sending((send) => send().catch(send)),
    },
    {
      is: 'retries after every failure, at a careless server',
      under: ['lost_reply', 'cut_anywhere', 'status_5xx', 'status_409'],
      make: sending((send) => send().catch(send)),
      careless: true,
    },
    {
      is: 'retries after every failure',
      under: ['status_5xx'],
      make: sending((send) => send().catch(send)),
    },
    {
      is: 'retries after 429',
      under: ['status_429'],
      make: sending(async (send) => {
        const told = await send();
        return told.outcome === 'not_sent' ? send() : told;
      }),
    },
    { is: 'sends twice', under: ['none'], make: sending((send) => send().then(send)), careless: true },
  ],
  written_twice: [
    {
      is: 'claims what its server does not do',
      under: ['repeat', 'two_senders', 'late_original', 'wrong_digest'],
      make: shelfSink,
      careless: true,
    },
    {
      is: 'looks before it sends and calls that enforcing',
      under: ['two_senders', 'late_original'],
      make: (url) => {
        const good = shelfSink(url);
        return {
          ...good,
          dispatch: async (item, context) => {
            const [found] = await good.observe([item], context);
            return found?.state === 'committed'
              ? { outcome: 'accepted', externalId: found.externalId }
              : good.dispatch(item, context);
          },
        };
      },
      careless: true,
    },
    {
      is: 'enforces always, at a server that forgets',
      under: ['expired_key'],
      make: declaring({ enforcesKey: 'always' }),
    },
  ],
  other_name: [
    {
      is: 'makes names of its own',
      under: ['none', 'repeat'],
      make: sending(async (send) => {
        const told = await send();
        return told.outcome === 'accepted' ? { ...told, externalId: `sent-${(names += 1)}` } : told;
      }),
    },
  ],
  digest_ignored: [
    {
      is: 'compares no digest',
      under: ['wrong_digest'],
      make: looking(async (look, items) =>
        (await look()).map((answer, index) =>
          answer.state === 'committed' ? { ...answer, operationDigest: items[index]?.operationDigest ?? '' } : answer,
        ),
      ),
    },
  ],
  one_of_several: [
    { is: 'takes the first', under: ['duplicate_rows'], make: (url) => shelfSink(url, { takesFirst: true }) },
  ],
  refusal_thrown: [
    {
      is: 'throws a refusal',
      under: ['refusal'],
      make: sending(async (send) => {
        const told = await send();
        if (told.outcome === 'refused') throw new Error('refused');
        return told;
      }),
    },
  ],
  refusal_missing: [
    {
      is: 'swallows a refusal',
      under: ['refusal'],
      make: sending(async (send) => {
        const told = await send();
        return told.outcome === 'refused' ? { outcome: 'not_sent' } : told;
      }),
    },
  ],
  refusal_unstable: [
    {
      is: 'refuses by a sentence',
      under: ['refusal'],
      make: sending(async (send) => {
        const told = await send();
        return told.outcome === 'refused' ? { outcome: 'refused', code: 'The order is not one.' } : told;
      }),
    },
    {
      is: 'refuses by another word each time',
      under: ['refusal'],
      make: sending(async (send) => {
        const told = await send();
        return told.outcome === 'refused' ? { outcome: 'refused', code: `request-${(names += 1)}` } : told;
      }),
    },
  ],
  refusal_written: [
    {
      is: 'stores before it refuses',
      under: ['refusal'],
      make: (url) => {
        const good = shelfSink(url);
        return {
          ...good,
          dispatch: async (item, context) => {
            if (!Array.isArray(item.operation)) return good.dispatch(item, context);
            await good.dispatch({ ...item, operation: {} }, context);
            return { outcome: 'refused', code: 'stored' };
          },
        };
      },
    },
  ],
  deadline_ignored: [
    {
      is: 'waits for ever for its answer',
      under: ['late_commit', 'slow_drip'],
      make: (url) => {
        const good = shelfSink(url);
        return { ...good, dispatch: (item, context) => good.dispatch(item, { ...context, signal: never }) };
      },
    },
    {
      is: 'waits for ever for its look-up',
      under: ['lookup_timeout', 'slow_drip'],
      make: (url) => {
        const good = shelfSink(url);
        return { ...good, observe: (items, context) => good.observe(items, { ...context, signal: never }) };
      },
    },
  ],
  abort_ignored: [
    {
      is: 'keeps its deadline and nothing else',
      under: ['aborted'],
      make: (url) => {
        const good = shelfSink(url);
        return {
          ...good,
          dispatch: (item, { deadlineMs }) =>
            good.dispatch(item, { deadlineMs, signal: AbortSignal.timeout(Math.min(deadlineMs, 60_000)) }),
        };
      },
    },
  ],
  failure_as_absent: [
    {
      is: 'takes a failed look-up for absent',
      under: ['lookup_error', 'lookup_gateway', 'lookup_garbage', 'lookup_timeout', 'lookup_lost'],
      make: looking((look, items) => look().catch(() => each(items, { state: 'absent' }))),
    },
    {
      is: 'takes an answer without rows for none',
      under: ['lookup_garbage'],
      make: (url) => shelfSink(url, { lenient: true }),
    },
  ],
  failure_as_committed: [
    {
      is: 'hopes',
      under: ['lookup_error', 'lookup_gateway', 'lookup_garbage', 'lookup_timeout', 'lookup_lost'],
      make: looking((look, items) =>
        look().catch(() =>
          items.map(({ operationDigest }) => ({ state: 'committed' as const, operationDigest, externalId: null })),
        ),
      ),
    },
  ],
  retry_after_lost: [
    {
      is: 'waits by its own measure',
      under: ['status_429'],
      make: sending(async (send) => {
        const told = await send();
        return told.outcome === 'not_sent' ? { outcome: 'not_sent', retryAfterMs: 1 } : told;
      }),
    },
  ],
  redirect_followed: [
    {
      is: 'follows redirects',
      under: ['redirect'],
      make: (url) => {
        const good = shelfSink(url);
        return {
          ...good,
          dispatch: async ({ idempotencyKey: key, operationDigest: digest, operation }, { signal }) => {
            const body = JSON.stringify({ key, digest, operation });
            const reply = await fetch(`${url}/rows`, { method: 'POST', body, signal });
            const { id } = (await reply.json()) as { id: string };
            return { outcome: 'accepted', externalId: id };
          },
        };
      },
    },
  ],
  content_told: [
    {
      is: 'quotes the operation in an error',
      under: ['lost_request', 'lost_reply', 'status_5xx'],
      make: sending((send, { operation }) =>
        send().catch((cause: unknown) => {
          throw new Error(`could not send ${JSON.stringify(operation)}`, { cause });
        }),
      ),
    },
    {
      is: 'hangs its request on an error',
      under: ['lookup_error'],
      make: looking((look) =>
        look().catch((error: Error) => {
          throw Object.assign(error, { config: { headers: { authorization: `Bearer ${TOKEN}` } } });
        }),
      ),
    },
    {
      is: 'keeps it in the cause of an error',
      under: ['reset'],
      make: sending((send, { operation }) =>
        send().catch(() => {
          throw new Error('failed', { cause: new Error('parameters', { cause: operation }) });
        }),
      ),
    },
    {
      is: 'refuses by quoting',
      under: ['refusal'],
      make: sending(async (send, { operation }) => {
        const told = await send();
        return told.outcome === 'refused' ? { outcome: 'refused', code: String((operation as string[])[0]) } : told;
      }),
    },
    {
      is: 'writes a log',
      under: ['none'],
      make: sending((send, { operation }) => {
        process.stderr.write(`${JSON.stringify(operation)}\n`);
        return send();
      }),
    },
    {
      is: 'logs to the console',
      under: ['none'],
      make: sending((send, { operation }) => {
        console.debug('sending', { operation });
        return send();
      }),
    },
  ],
  observe_wrote: [
    {
      is: 'sends what it does not find',
      under: ['none'],
      make: (url) => {
        const good = shelfSink(url);
        return {
          ...good,
          observe: async (items, context) => {
            const answers = await good.observe(items, context);
            for (const [index, item] of items.entries()) {
              if (answers[index]?.state === 'absent') await good.dispatch(item, context);
            }
            return answers;
          },
        };
      },
    },
  ],
  observe_unstable: [
    {
      is: 'finds another one each time',
      under: ['none'],
      make: (url) => {
        const good = shelfSink(url);
        return {
          ...good,
          dispatch: async (item, context) =>
            ({ ...(await good.dispatch(item, context)), externalId: null }) as DispatchOutcome,
          observe: async (items, context) =>
            (await good.observe(items, context)).map((answer) =>
              answer.state === 'committed' ? { ...answer, externalId: `found-${(names += 1)}` } : answer,
            ),
        };
      },
    },
  ],
  answers_mixed: [
    {
      is: 'answers backwards',
      under: ['none'],
      make: looking(async (look) => [...(await look())].reverse()),
    },
    {
      is: 'leaves out what is absent',
      under: ['none'],
      make: looking(async (look) => (await look()).filter(({ state }) => state !== 'absent')),
    },
  ],
  answer_malformed: [
    {
      is: 'tells a digest that is none',
      under: ['none'],
      make: looking(async (look) =>
        (await look()).map((answer) => (answer.state === 'committed' ? { ...answer, operationDigest: 'abc' } : answer)),
      ),
    },
    {
      is: 'has outcomes of its own',
      under: ['none'],
      make: sending(async (send) => ({ ...(await send()), outcome: 'queued' }) as unknown as DispatchOutcome),
    },
  ],
};

let names = 0;
const sentOnce = new Set<string>();
const seenBefore = new Set<string>();

describe.each(Object.entries(MUTANTS) as [Broken, readonly Mutant[]][])('%s', (broken, mutants) => {
  const rows = mutants.flatMap((mutant) => mutant.under.map((fault) => ({ ...mutant, fault })));
  test.each(rows)('a sink that $is, under $fault', async ({ make, fault, careless: at }) => {
    const cases = sinkConformance(
      ({ url }) => make(url),
      () => (at ? careless : shelf).fixture,
    ).filter((one) => one.fault === fault);
    const found = await Promise.all(cases.map((one) => one.run().catch((error: unknown) => error)));
    const caught = found.filter((one): one is BrokenPromise => one instanceof BrokenPromise);
    expect(caught.map((one) => `${one.fault}: ${one.broken}`)).toContain(`${fault}: ${broken}`);
    expect(caught.every(({ message }) => message.startsWith(`${fault}: `))).toBe(true);
    expect(caught.find((one) => one.broken === broken)?.message).toContain(BROKEN[broken]);
  });
});
