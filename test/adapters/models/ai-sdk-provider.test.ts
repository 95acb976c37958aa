/**
 * Properties of a model of the Vercel AI SDK, by one of its own providers, before an API on this machine that counts what it is asked:
 * - one answer is one request, and one request is all that leaves where the API answers 500, 429 with `retry-after`, 400, an answer that
 *   is none, or cuts the connection; each is thrown;
 * - a conversation with calls and their results goes through the provider's own form and back: names, arguments, usage, reason to stop;
 * - at its deadline the request is given up, and none follows.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Model, ModelRequest } from '../../../src';
import { aiSdkModel } from '../../../src/adapters/models';

type Reply = (response: ServerResponse, request: IncomingMessage) => void;

const asked: { readonly path: string; readonly body: Record<string, unknown> }[] = [];
let reply: Reply = () => undefined;
let server: Server;
let model: Model;

beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => void parts.push(part));
    request.on('end', () => {
      asked.push({
        path: request.url ?? '',
        body: JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>,
      });
      reply(response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const provider = createOpenAICompatible({ name: 'local', baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'a-key' });
  model = aiSdkModel({ model: provider('small'), maxOutputTokens: 50, temperature: 0 });
});
afterEach(() => void asked.splice(0));
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const REQUEST: ModelRequest = {
  messages: [
    { role: 'system', text: 'be brief' },
    { role: 'user', text: 'pay the landlord' },
    { role: 'assistant', text: 'I try.', toolCalls: [{ id: 'c-1', tool: 'pay', args: { amount: 1 } }] },
    { role: 'tool', results: [{ id: 'c-1', tool: 'pay', ok: false, value: { code: 'card_declined' } }] },
  ],
  tools: [
    { name: 'pay', description: 'Pays.', inputSchema: { type: 'object', properties: { amount: { type: 'number' } } } },
  ],
};
const ask = (signal: AbortSignal = AbortSignal.timeout(10_000)) =>
  model.generate(REQUEST, { signal, deadlineMs: 10_000 });
const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

test('one request, there and back', async () => {
  const call = (id: string, args: string) => ({ id, type: 'function', function: { name: 'pay', arguments: args } });
  reply = json(200, {
    ...{ id: 'x', object: 'chat.completion', created: 1, model: 'small' },
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content: 'Again.',
          tool_calls: [call('a', '{"amount":2}'), call('b', '{"amount":')],
        },
      },
    ],
    usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 },
  });
  expect(await ask()).toEqual({
    text: 'Again.',
    toolCalls: [
      { tool: 'pay', args: { amount: 2 } },
      { tool: 'pay', args: '{"amount":' },
    ],
    usage: { input: 11, output: 4 },
    stop: 'tool_calls',
  });
  expect(asked).toMatchObject([
    {
      path: '/v1/chat/completions',
      body: {
        ...{ model: 'small', max_tokens: 50, temperature: 0 },
        messages: [
          { role: 'system', content: 'be brief' },
          { role: 'user', content: 'pay the landlord' },
          {
            ...{ role: 'assistant', content: 'I try.' },
            tool_calls: [{ id: 'c-1', type: 'function', function: { name: 'pay', arguments: '{"amount":1}' } }],
          },
          { role: 'tool', tool_call_id: 'c-1', content: '{"code":"card_declined"}' },
        ],
        tools: [{ type: 'function', function: { name: 'pay', description: 'Pays.' } }],
      },
    },
  ]);
});

const FAULTS: Readonly<Record<string, Reply>> = {
  '500': json(500, { error: { message: 'no' } }),
  '503 with retry-after': json(503, { error: { message: 'no' } }, { 'retry-after': '0' }),
  '429 with retry-after': json(429, { error: { message: 'no' } }, { 'retry-after': '0' }),
  '400': json(400, { error: { message: 'no' } }),
  'an answer of another form': json(200, { hello: 'no' }),
  'no JSON': (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('<html>'),
  'a connection that is cut': (response) => void response.destroy(),
  'half an answer': (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"id":');
    setImmediate(() => response.destroy());
  },
};

test.each(Object.keys(FAULTS))('one request, and none after it: %s', async (name) => {
  reply = FAULTS[name] as Reply;
  await expect(ask()).rejects.toThrow();
  expect(asked).toHaveLength(1);
});

test('a deadline', async () => {
  let gone = (): void => undefined;
  const closed = new Promise<void>((resolve) => (gone = resolve));
  reply = (response) => void response.on('close', () => gone());
  const deadline = new AbortController();
  const answer = ask(deadline.signal);
  await expect.poll(() => asked).toHaveLength(1);
  deadline.abort();
  await expect(answer).rejects.toThrow();
  await closed;
  expect(asked).toHaveLength(1);
});
