/**
 * Properties of the models that come with Countersign:
 * - a model of the AI SDK is asked exactly once for an answer, also when it fails, and is handed the whole conversation in its own form;
 * - calls, text, usage and the reason to stop are read in both forms of its specification; arguments that are no JSON stay the text
 *   that they are; what has no content is no answer; a model of an older specification is refused when it is made;
 * - a scripted model answers by the conversation alone, and not beyond its script.
 */
import { expect, test } from 'vitest';
import type { ModelRequest } from '../../../src';
import { aiSdkModel, scriptedModel, type AiSdkLanguageModel } from '../../../src/adapters/models';

const CONTEXT = { signal: new AbortController().signal, deadlineMs: 1_000 };
const REQUEST: ModelRequest = {
  messages: [
    { role: 'system', text: 'be brief' },
    { role: 'user', text: 'pay' },
    { role: 'assistant', text: '', toolCalls: [{ id: 's:1:1:1:0', tool: 'pay', args: { amount: 1 } }] },
    { role: 'tool', results: [{ id: 's:1:1:1:0', tool: 'pay', ok: false, value: { code: 'no' } }] },
  ],
  tools: [{ name: 'pay', description: 'Pays.', inputSchema: { type: 'object' } }],
};

function fake(answer: () => unknown, specificationVersion = 'v2') {
  const asked: unknown[] = [];
  const model: AiSdkLanguageModel = {
    ...{ specificationVersion, provider: 'fake', modelId: 'fake-1' },
    doGenerate: (options: unknown) => {
      asked.push(options);
      return Promise.resolve().then(answer);
    },
  };
  return { model, asked };
}

test('one request, with the whole conversation', async () => {
  const { model, asked } = fake(() => ({
    content: [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'I pay.' },
      { type: 'tool-call', toolCallId: 'x', toolName: 'pay', input: '{"amount":2}' },
      { type: 'tool-call', toolCallId: 'y', toolName: 'pay', input: 'all' },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 },
  }));
  expect(await aiSdkModel({ model }).generate(REQUEST, CONTEXT)).toEqual({
    text: 'I pay.',
    toolCalls: [
      { tool: 'pay', args: { amount: 2 } },
      { tool: 'pay', args: 'all' },
    ],
    usage: { input: 7, output: 3 },
    stop: 'tool_calls',
  });
  expect(asked).toEqual([
    {
      prompt: [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: [{ type: 'text', text: 'pay' }] },
        {
          role: 'assistant',
          content: [{ type: 'tool-call', toolCallId: 's:1:1:1:0', toolName: 'pay', input: { amount: 1 } }],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 's:1:1:1:0',
              toolName: 'pay',
              output: { type: 'error-json', value: { code: 'no' } },
            },
          ],
        },
      ],
      tools: [{ type: 'function', name: 'pay', description: 'Pays.', inputSchema: { type: 'object' } }],
      abortSignal: CONTEXT.signal,
    },
  ]);
});

test('the third form, a failure, and what is no answer', async () => {
  const third = fake(
    () => ({
      content: [{ type: 'text', text: 'done' }],
      finishReason: { unified: 'stop', raw: 'end_turn' },
      usage: { inputTokens: { total: 5 }, outputTokens: { total: undefined } },
    }),
    'v3',
  );
  expect(await aiSdkModel({ model: third.model }).generate(REQUEST, CONTEXT)).toMatchObject({
    text: 'done',
    usage: { input: 5, output: 0 },
    stop: 'end',
  });
  const failing = fake(() => Promise.reject(new Error('overloaded')));
  await expect(aiSdkModel({ model: failing.model }).generate(REQUEST, CONTEXT)).rejects.toThrow('overloaded');
  expect(failing.asked).toHaveLength(1);
  const empty = fake(() => ({}));
  await expect(aiSdkModel({ model: empty.model }).generate(REQUEST, CONTEXT)).rejects.toThrow('no known form');
  expect(() => aiSdkModel({ model: fake(() => null, 'v1').model })).toThrow('older AI SDK');
});

test('a script', async () => {
  const model = scriptedModel({ script: [{ text: 'one' }, ({ messages }) => ({ text: String(messages.length) })] });
  const ask = (answers: number) =>
    model.generate({ ...REQUEST, messages: Array(answers).fill(REQUEST.messages[2]) }, CONTEXT);
  expect(await ask(0)).toMatchObject({ text: 'one', stop: 'end' });
  expect(await ask(1)).toMatchObject({ text: '1' });
  expect(await ask(1)).toMatchObject({ text: '1' });
  await expect(ask(2)).rejects.toThrow('ends after 2 answers');
});
