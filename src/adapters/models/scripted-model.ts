/**
 * A model that says what it was told to say, for tests and examples. Invariant: its answer follows from the conversation alone, so
 * any process, asked the same, answers the same.
 */
import type { Model, ModelAnswer, ModelRequest } from '../../ports';

/** One answer of a script. What is left out is empty; each character counts as a token. */
export interface ScriptedAnswer {
  readonly text?: string;
  readonly toolCalls?: ModelAnswer['toolCalls'];
  readonly usage?: ModelAnswer['usage'];
  readonly stop?: ModelAnswer['stop'];
}

export interface ScriptedModelOptions {
  /** @default 'scripted' */
  readonly name?: string;
  /** The n-th is the answer to a conversation with n answers in it; a function is asked with that conversation. */
  readonly script: readonly (ScriptedAnswer | ((request: ModelRequest) => ScriptedAnswer))[];
  /** Longest time of one answer, in milliseconds. @default 30000 */
  readonly deadlineMs?: number;
  /** Called with each request. @default nobody is told */
  readonly onRequest?: (request: ModelRequest) => void | Promise<void>;
}

/** Throws where the script has no answer for the conversation. */
export function scriptedModel({
  name = 'scripted',
  script,
  deadlineMs = 30_000,
  ...options
}: ScriptedModelOptions): Model {
  return {
    name,
    deadlineMs,
    async generate(request) {
      await options.onRequest?.(request);
      const position = request.messages.filter(({ role }) => role === 'assistant').length;
      const line = script[position];
      if (line === undefined) throw new Error(`the script of "${name}" ends after ${script.length} answers`);
      const { text = '', toolCalls = [], usage, stop } = typeof line === 'function' ? line(request) : line;
      return {
        text,
        toolCalls,
        usage: usage ?? { input: JSON.stringify(request.messages).length, output: text.length },
        stop: stop ?? (toolCalls.length > 0 ? 'tool_calls' : 'end'),
      };
    },
  };
}
