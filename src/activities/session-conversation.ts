/**
 * The conversation that a model is asked to go on with. Invariant: it is made of the journal and the content store alone; the results
 * of a round stand in the order of its calls, whatever the order in which they came.
 */
import type { ModelMessage, ModelToolCall, ModelToolResult } from '../ports';
import { Refusal } from '../rules/refusal';
import type { SessionBodies } from '../rules/invocations/session-event';
import type { SessionRecord } from '../rules/invocations/session-record';
import type { SessionView } from '../rules/invocations/session-view';
import { resultsInOrder, type ToolResult } from '../rules/invocations/tool-results';
import type { SessionDefinition } from '../rules/sessions/definition-record';
import type { SessionEngine } from './session-engine';

interface Place {
  readonly turn: number;
  readonly round: number;
}

/** Up to the round that is to be asked for. */
export async function conversation(
  engine: SessionEngine,
  definition: SessionDefinition,
  log: readonly SessionRecord[],
  view: SessionView,
  next: Place,
): Promise<readonly ModelMessage[]> {
  const { contents } = engine;
  const messages: ModelMessage[] = [];
  if (definition.instructions !== null) {
    messages.push({ role: 'system', text: String(await contents.content(definition.instructions)) });
  }
  for (const { event } of log) {
    if (event.type === 'message.user' && event.turn <= next.turn) {
      messages.push({ role: 'user', text: String(await contents.content(event.message)) });
    } else if (event.type === 'message.assistant' && isBefore(event, next)) {
      messages.push(...(await answered(engine, definition, event, view)));
    }
  }
  return messages;
}

function isBefore({ turn, round }: Place, next: Place): boolean {
  return turn < next.turn || (turn === next.turn && round < next.round);
}

async function answered(
  engine: SessionEngine,
  definition: SessionDefinition,
  answer: SessionBodies['message.assistant'],
  view: SessionView,
): Promise<readonly ModelMessage[]> {
  const { contents } = engine;
  const ends = resultsInOrder(view, answer);
  if (ends === null)
    throw new Refusal('journal_invalid', 'holds no outcome of a call of this answer', 'message.assistant');
  const calls: ModelToolCall[] = [];
  const results: ModelToolResult[] = [];
  for (const [index, end] of ends.entries()) {
    const { tool, argsDigest } = answer.calls[index] as SessionBodies['message.assistant']['calls'][number];
    const { wireId: id } = end;
    const args = await contents.content(argsDigest);
    calls.push({ id, tool, args });
    results.push({ id, tool, ...(await outcome(engine, definition, tool, args, end)) });
  }
  const text = String(await contents.content(answer.message));
  const said: ModelMessage = { role: 'assistant', text, toolCalls: calls };
  return results.length === 0 ? [said] : [said, { role: 'tool', results }];
}

async function outcome(
  { contents, tools }: SessionEngine,
  definition: SessionDefinition,
  name: string,
  args: unknown,
  { status, resultDigest, errorCode, errorMessage }: ToolResult,
): Promise<Pick<ModelToolResult, 'ok' | 'value'>> {
  if (status === 'succeeded') {
    return { ok: true, value: resultDigest === null ? null : await contents.content(resultDigest) };
  }
  const code = errorCode ?? 'failed';
  const tool = definition.tools.find((one) => one.tool === name);
  const checked = code === 'call:invalid_arguments' && tool ? await tools.get(tool).checkInput(args) : null;
  const faults = checked?.ok === false ? `the arguments do not fit: ${checked.faults.join('; ')}` : null;
  return { ok: false, value: { code, message: faults ?? errorMessage } };
}
