/**
 * A model of the Vercel AI SDK: any `LanguageModel` object of its providers, asked by its own `doGenerate`. Invariant: one request
 * leaves for one answer, because the SDK's retries are made by the functions around a model, and none of them is used here.
 */
import type { Model, ModelAnswer, ModelMessage, ModelRequest, ModelStop, ModelTool } from '../../ports';

/**
 * What is used of a `LanguageModel`, of the second version of its specification and later. Types of the SDK are wider and fit; it is
 * no dependency of ours.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each version has types of its own
  doGenerate(options: any): PromiseLike<unknown>;
}

export interface AiSdkModelOptions {
  /** As in `openai('gpt-5')`, `anthropic('claude-sonnet-4-5')`. */
  readonly model: AiSdkLanguageModel;
  /** The name that sessions know it by. @default the id of the model */
  readonly name?: string;
  /** Longest time of one request, in milliseconds. @default 120000 */
  readonly deadlineMs?: number;
  /** Most tokens of one answer. @default the provider's */
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** Handed to the provider as it is. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** Throws for a model of the first version of the specification. */
export function aiSdkModel(options: AiSdkModelOptions): Model {
  const { model, name = model.modelId, deadlineMs = 120_000, ...settings } = options;
  if (!/^v[2-9]$/.test(model.specificationVersion)) {
    throw new Error(`${model.provider} ${model.modelId} is of an older AI SDK; use a provider of AI SDK 5 or later`);
  }
  return {
    name,
    deadlineMs,
    async generate(request, { signal }) {
      const { maxOutputTokens, temperature, providerOptions } = settings;
      const answer = await model.doGenerate({
        prompt: promptOf(request),
        ...(request.tools.length === 0 ? {} : { tools: request.tools.map(toolOf) }),
        ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        ...(temperature === undefined ? {} : { temperature }),
        ...(providerOptions === undefined ? {} : { providerOptions }),
        abortSignal: signal,
      });
      return answerOf(answer);
    },
  };
}

function toolOf({ name, description, inputSchema }: ModelTool): Record<string, unknown> {
  return { type: 'function', name, description, inputSchema };
}

function promptOf({ messages }: ModelRequest): readonly Record<string, unknown>[] {
  return messages.map((message) => ({ role: message.role, content: contentOf(message) }));
}

function contentOf(message: ModelMessage): unknown {
  switch (message.role) {
    case 'system':
      return message.text;
    case 'user':
      return [{ type: 'text', text: message.text }];
    case 'assistant':
      return [
        ...(message.text === '' ? [] : [{ type: 'text', text: message.text }]),
        ...message.toolCalls.map(({ id, tool, args }) => ({
          type: 'tool-call',
          toolCallId: id,
          toolName: tool,
          input: args,
        })),
      ];
    case 'tool':
      return message.results.map(({ id, tool, ok, value }) => ({
        type: 'tool-result',
        toolCallId: id,
        toolName: tool,
        output: { type: ok ? 'json' : 'error-json', value: value ?? null },
      }));
  }
}

/** The words of the specification; in its third version they are the `unified` ones. */
const STOPS: Readonly<Record<string, ModelStop>> = {
  stop: 'end',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'refused',
};

interface GeneratedPart {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly toolName?: unknown;
  readonly input?: unknown;
  readonly providerExecuted?: unknown;
}

function answerOf(generated: unknown): ModelAnswer {
  const { content, finishReason, usage } = (generated ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(content)) throw new Error('the model answered in no known form: it has no content');
  const parts = content as readonly GeneratedPart[];
  const { unified = finishReason } = (finishReason ?? {}) as { readonly unified?: unknown };
  const { inputTokens, outputTokens } = (usage ?? {}) as Readonly<Record<string, unknown>>;
  return {
    text: parts.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join(''),
    toolCalls: parts.flatMap((part) =>
      part.type === 'tool-call' && part.providerExecuted !== true
        ? [{ tool: String(part.toolName), args: argsOf(part.input) }]
        : [],
    ),
    usage: { input: tokens(inputTokens), output: tokens(outputTokens) },
    stop: STOPS[String(unified)] ?? 'other',
  };
}

/** Arguments come as JSON text. What is no JSON is kept as the text that it is: the tool's schema will refuse it. */
function argsOf(input: unknown): unknown {
  if (typeof input !== 'string') return input ?? {};
  if (input.trim() === '') return {};
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

/** A count, or an object with a `total`; a provider may leave it out. */
function tokens(count: unknown): number {
  const total = typeof count === 'object' && count !== null ? (count as { total?: unknown }).total : count;
  return typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 ? total : 0;
}
