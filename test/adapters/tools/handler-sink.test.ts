/**
 * Properties of a handler as a sink:
 * - what it throws before its deadline settles the call by its type alone: a `ToolError` with its code, anything else as failed, without
 *   a word of the message; `ToolOutcomeUnknown`, and a transport that broke under a write, are unknown;
 * - after the deadline, whatever it throws is unknown;
 * - arguments that do not fit the schema never reach it; what the schema makes of them does, with call id and key;
 * - an undeclared class is a write that is not repeated; only an idempotent write claims that its key is enforced;
 * - a look-up's answer is taken as it is; without a look-up, or with arguments that do not fit, nothing is known;
 * - the descriptor's hash changes with name, version, class and schema, and with nothing else.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  ToolError,
  ToolOutcomeUnknown,
  defineTool,
  descriptorHash,
  type ToolHandler,
} from '../../../src/adapters/tools';
import { handlerSink, toolEffect } from '../../../src/adapters/tools/handler-sink';
import type { SinkItem } from '../../../src/ports';

const inputSchema = z.object({ amount: z.int().positive(), note: z.string().default('none') });
const item = (operation: unknown): SinkItem => ({
  ...{ toolId: 'tool:tools.countersign.local/charge@1.0.0', actionId: 'act', idempotencyKey: 'idem_1' },
  ...{ operationDigest: 'sha256:00', operation, callId: 's:v1:1:1:0' },
});
const live = (): { signal: AbortSignal; deadlineMs: number } => ({
  signal: new AbortController().signal,
  deadlineMs: 1_000,
});
const throwing = (fault: unknown, more: Partial<ToolHandler> = {}): ToolHandler =>
  defineTool({ tool: 'charge', version: '1.0.0', inputSchema, run: () => Promise.reject(fault), ...more });

const THROWN: readonly (readonly [string, unknown, Partial<ToolHandler>, string])[] = [
  ['a ToolError', new ToolError('card_declined', 'of a person'), {}, 'card_declined'],
  [
    'a ToolError of another copy of the package',
    Object.assign(new Error('x'), { name: 'ToolError', code: 'no' }),
    {},
    'no',
  ],
  ['a ToolError without a code', Object.assign(new Error('x'), { name: 'ToolError' }), {}, 'handler_failed'],
  ['an Error', new Error('a secret'), {}, 'handler_failed'],
  ['no Error at all', 'a secret', {}, 'handler_failed'],
  ['nothing', undefined, {}, 'handler_failed'],
  ['a broken transport under a read', { code: 'ECONNRESET' }, { sideEffect: 'read_only' }, 'handler_failed'],
  [
    'a broken transport under an idempotent write',
    { code: 'EPIPE' },
    { sideEffect: 'idempotent_write' },
    'handler_failed',
  ],
];

const UNKNOWN: readonly (readonly [string, unknown])[] = [
  ['ToolOutcomeUnknown', new ToolOutcomeUnknown('who knows')],
  ['a reset connection', Object.assign(new Error('x'), { code: 'ECONNRESET' })],
  ['fetch, caused by one', new TypeError('fetch failed', { cause: { code: 'UND_ERR_SOCKET' } })],
  ['a time-out of its client', Object.assign(new Error('x'), { name: 'TimeoutError' })],
];

describe('what a handler throws', () => {
  test.each(THROWN)('%s fails the call', async (_name, fault, more, code) => {
    const outcome = await handlerSink(throwing(fault, more)).dispatch(item({ amount: 1 }), live());
    expect(outcome).toEqual({ outcome: 'refused', code });
  });

  test.each(UNKNOWN)('%s leaves a write unknown', async (_name, fault) => {
    for (const sideEffect of [undefined, 'non_idempotent_write', 'irreversible_action'] as const) {
      const sink = handlerSink(throwing(fault, sideEffect === undefined ? {} : { sideEffect }));
      await expect(sink.dispatch(item({ amount: 1 }), live())).rejects.toBe(fault);
    }
  });

  test('whatever it throws after its deadline is unknown', async () => {
    const fault = new ToolError('too_late');
    const signal = AbortSignal.abort();
    await expect(handlerSink(throwing(fault)).dispatch(item({ amount: 1 }), { signal, deadlineMs: 0 })).rejects.toBe(
      fault,
    );
  });
});

test.each([[{}], [{ amount: -1 }], [{ amount: 'x' }], [null], [undefined], ['x']])(
  '%o never reaches it',
  async (args) => {
    const sink = handlerSink(
      throwing(new Error('it was reached'), { lookup: () => Promise.reject(new Error('so was it')) }),
    );
    expect(await sink.dispatch(item(args), live())).toEqual({ outcome: 'refused', code: 'invalid_arguments' });
    expect(await sink.observe([item(args)], live())).toEqual([{ state: 'unknown' }]);
  },
);

test('it is given what the schema makes of its arguments, its call and its key', async () => {
  const seen: unknown[] = [];
  const run: ToolHandler['run'] = async (args, { callId, idempotencyKey }) =>
    void seen.push(args, callId, idempotencyKey);
  const { sink, toolId } = toolEffect({ tool: 'charge', version: '1.0.0', inputSchema, run });
  expect(await sink.dispatch(item({ amount: 1 }), live())).toEqual({
    outcome: 'accepted',
    externalId: null,
    result: null,
  });
  expect(seen).toEqual([{ amount: 1, note: 'none' }, 's:v1:1:1:0', 'idem_1']);
  expect(toolId).toBe('tool:tools.countersign.local/charge@1.0.0');
});

test('classes and look-ups are declared no better than they are', async () => {
  const declared = (more: Partial<ToolHandler>): unknown => {
    const { sideEffect, enforcesKey, lookup } = handlerSink(throwing(null, more));
    return { sideEffect, enforcesKey, lookup };
  };
  const lookup = () => Promise.resolve({ state: 'committed', result: 7 } as const);
  expect(declared({})).toEqual({ sideEffect: 'non_idempotent_write', enforcesKey: 'no', lookup: 'none' });
  expect(declared({ sideEffect: 'idempotent_write' })).toMatchObject({ enforcesKey: 'always' });
  expect(declared({ sideEffect: 'irreversible_action', lookup })).toMatchObject({
    enforcesKey: 'no',
    lookup: 'authoritative',
  });
  expect(declared({ lookup, lookupStrength: 'hint' })).toMatchObject({ lookup: 'hint' });
  expect(await handlerSink(throwing(null, { lookup })).observe([item({ amount: 1 })], live())).toEqual([
    { state: 'committed', operationDigest: 'sha256:00', externalId: null, result: 7 },
  ]);
});

test('a descriptor is its name, version, class and schema', () => {
  const same = { tool: 'charge', version: '1.0.0', inputSchema: z.object({ a: z.string(), b: z.number() }) };
  const others = [
    { ...same, tool: 'refund' },
    { ...same, version: '1.0.1' },
    { ...same, sideEffect: 'read_only' as const },
    { ...same, inputSchema: z.object({ a: z.string(), b: z.number().optional() }) },
    { tool: same.tool, inputSchema: same.inputSchema },
  ];
  const hashes = [same, ...others].map((one) => descriptorHash(one));
  expect(new Set(hashes).size).toBe(6);
  expect(descriptorHash({ ...same, sideEffect: 'non_idempotent_write' })).toBe(hashes[0]);
});
