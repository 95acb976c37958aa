/**
 * Properties of a launch that is a model call, counted at a provider that charges for every request:
 * - whatever the provider does (answers, 429, 500, cut, silent), one launch is one request, with a real client library as it is
 *   made by default, with retries demanded, and with retries asked for at the call;
 * - a library that keeps retries of its own, or whose requests nobody watched, is refused, before a request where it says so;
 * - a status by which the provider says that it did nothing is a refusal; every other failure is unknown; what came is submitted;
 * - a redirect is not followed, and a context that cannot be had makes no request.
 */
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LaunchOutcome } from '../../../src';
import { modelLauncher, type ForcedClientOptions } from '../../../src/adapters/launchers';
import { startPaidProvider, type PaidProvider, type ProviderMode } from '../../systems/paid-provider';
import { JOB, KeptDoor, shut, visit } from './support';

let provider: PaidProvider;
beforeEach(async () => {
  provider = await startPaidProvider();
});
afterEach(() => provider.close());

const openai = (more: { fetch?: typeof fetch; maxRetries?: number }): OpenAI =>
  new OpenAI({ apiKey: 'none', baseURL: `${provider.url}/v1`, ...more });
const ask = async (client: OpenAI, model: string, options: object): Promise<unknown> => {
  const answer = await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'x' }] }, options);
  return answer.choices[0]?.message.content;
};

/** Ways in which an author may make the client; the last three leave retries on. */
const MAKERS: Record<string, { make: (forced: ForcedClientOptions) => OpenAI; options: object; refused?: true }> = {
  'as it should be': { make: (forced) => openai(forced), options: {} },
  'with retries at the call': { make: (forced) => openai(forced), options: { maxRetries: 5 } },
  'without its own retries of 0': { make: ({ fetch }) => openai({ fetch }), options: {}, refused: true },
  'with retries demanded': { make: ({ fetch }) => openai({ fetch, maxRetries: 4 }), options: {}, refused: true },
};
const MODES: [string, ProviderMode, LaunchOutcome | 'unknown'][] = [
  ['answers', 'answers', { outcome: 'started' }],
  ['refuses with 429', { status: 429 }, { outcome: 'refused', code: 'http_429' }],
  ['refuses with 401', { status: 401 }, { outcome: 'refused', code: 'http_401' }],
  ['conflicts with 409', { status: 409 }, 'unknown'],
  ['fails with 500', { status: 500 }, 'unknown'],
  ['is busy with 503', { status: 503 }, 'unknown'],
  ['cuts the answer off', 'cuts', 'unknown'],
];

async function outcomeOf(launch: Promise<LaunchOutcome>): Promise<LaunchOutcome | 'unknown'> {
  return launch.catch(() => 'unknown' as const);
}

describe.each(Object.entries(MAKERS))('a client made %s', (_name, { make, options, refused }) => {
  test.each(MODES)('when the provider %s', async (_mode, mode, expected) => {
    provider.mode = mode;
    const door = new KeptDoor();
    const launcher = modelLauncher({ client: make, call: (client) => ask(client, JOB.model, options) });
    const outcome = await outcomeOf(launcher.launch(JOB, visit(door)));
    if (refused) {
      expect(outcome).toEqual({ outcome: 'refused', code: 'client_retries_left_on' });
      expect(provider.requests()).toBe(0);
    } else {
      expect(outcome).toEqual(expected);
      expect(provider.requests()).toBe(1);
      expect(door.outputs).toEqual(mode === 'answers' ? ['no findings'] : []);
    }
  });
});

test('the library does try again where nobody stops it', async () => {
  provider.mode = { status: 500 };
  await expect(ask(openai({ maxRetries: 1 }), JOB.model, {})).rejects.toThrow();
  expect(provider.requests()).toBe(2);
});

test('a silent provider is given up with the launch', async () => {
  provider.mode = 'hangs';
  const at = visit(new KeptDoor());
  const launcher = modelLauncher({
    client: openai,
    call: (client, { signal }) => ask(client, JOB.model, { signal }),
  });
  const outcome = outcomeOf(launcher.launch(JOB, at));
  await provider.arrived(1);
  at.controller.abort();
  expect(await outcome).toBe('unknown');
  expect(provider.requests()).toBe(1);
});

test('a client with a transport of its own is believed only where it says that it never retries', async () => {
  const post = (): Promise<string> => fetch(provider.url, { method: 'POST' }).then((answer) => answer.text());
  const door = new KeptDoor();
  const unwatched = modelLauncher({ client: () => ({}), call: post });
  expect(await outcomeOf(unwatched.launch(JOB, visit(door)))).toBe('unknown');
  expect(door.outputs).toEqual([]);
  const said = modelLauncher({ client: () => ({}), call: post, retriesOf: () => 0 });
  expect(await outcomeOf(said.launch(JOB, visit(door)))).toEqual({ outcome: 'started' });
  const honest = modelLauncher({ client: () => ({}), call: post, retriesOf: () => 3 });
  const before = provider.requests();
  expect(await outcomeOf(honest.launch(JOB, visit(new KeptDoor())))).toMatchObject({ code: 'client_retries_left_on' });
  expect(provider.requests()).toBe(before);
});

test('a redirect is not followed', async () => {
  provider.mode = { status: 307 };
  const launcher = modelLauncher({ client: openai, call: (client) => ask(client, JOB.model, {}) });
  expect(await outcomeOf(launcher.launch(JOB, visit(new KeptDoor())))).toBe('unknown');
  expect(provider.requests()).toBe(1);
});

test('without its context nothing is asked for', async () => {
  const launcher = modelLauncher({ client: openai, call: (client) => ask(client, JOB.model, {}) });
  await expect(launcher.launch(JOB, visit(shut))).rejects.toMatchObject({ code: 'receipt_expired' });
  expect(provider.requests()).toBe(0);
});
