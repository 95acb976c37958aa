/**
 * The conversation that a model is asked to go on with. Invariant: it is made of the journal and the content store alone; the results
 * of a round stand in the order of its calls, whatever the order in which they came.
 */
import type { ModelMessage, ModelToolCall, ModelToolResult } from '../ports';
import { messageOf } from '../rules/invocations/ledger';
import { callIdOf, wireIdOf } from '../rules/invocations/names';
import { Refusal } from '../rules/refusal';
import type { SessionBodies } from '../rules/invocations/session-event';
import type { SessionRecord } from '../rules/invocations/session-record';
import type { SessionDefinition } from '../rules/sessions/definition-record';
import type { SessionEngine } from './session-engine';

interface Place {
  readonly turn: number;
  readonly round: number;
}
type End = Pick<SessionBodies['tool.completed'], 'status' | 'resultDigest' | 'errorCode'>;
type Ends = ReadonlyMap<string, End>;

const DENIED: End = { status: 'failed', resultDigest: null, errorCode: 'policy:denied' };

/** Up to the round that is to be asked for. */
export async function conversation(
  engine: SessionEngine,
  definition: SessionDefinition,
  log: readonly SessionRecord[],
  next: Place,
): Promise<readonly ModelMessage[]> {
  const { contents } = engine;
  const ends = endsIn(log);
  const messages: ModelMessage[] = [];
  if (definition.instructions !== null) {
    messages.push({ role: 'system', text: String(await contents.content(definition.instructions)) });
  }
  for (const { event } of log) {
    if (event.type === 'message.user' && event.turn <= next.turn) {
      messages.push({ role: 'user', text: String(await contents.content(event.message)) });
    } else if (event.type === 'message.assistant' && isBefore(event, next)) {
      messages.push(...(await answered(engine, definition, event, ends)));
    }
  }
  return messages;
}

function isBefore({ turn, round }: Place, next: Place): boolean {
  return turn < next.turn || (turn === next.turn && round < next.round);
}

function endsIn(log: readonly SessionRecord[]): Ends {
  const ends = new Map<string, End>();
  for (const { event } of log) {
    if (event.type === 'tool.completed') ends.set(event.callId, event);
    if (event.type === 'tool.policy_denied') ends.set(event.callId, DENIED);
  }
  return ends;
}

async function answered(
  engine: SessionEngine,
  definition: SessionDefinition,
  { turn, round, message, calls: asked }: SessionBodies['message.assistant'],
  ends: Ends,
): Promise<readonly ModelMessage[]> {
  const { contents } = engine;
  const { session, agentVersion } = definition;
  const calls: ModelToolCall[] = [];
  const results: ModelToolResult[] = [];
  for (const [index, { tool, argsDigest }] of asked.entries()) {
    const callId = callIdOf({ session, agentVersion, turn, round, index });
    const id = wireIdOf(callId);
    const args = await contents.content(argsDigest);
    const end = ends.get(callId);
    if (end === undefined) throw new Refusal('journal_invalid', 'has no outcome in the log of its session', callId);
    calls.push({ id, tool, args });
    results.push({ id, tool, ...(await outcome(engine, definition, tool, args, end)) });
  }
  const text = String(await contents.content(message));
  const answer: ModelMessage = { role: 'assistant', text, toolCalls: calls };
  return results.length === 0 ? [answer] : [answer, { role: 'tool', results }];
}

async function outcome(
  { contents, tools }: SessionEngine,
  definition: SessionDefinition,
  name: string,
  args: unknown,
  { status, resultDigest, errorCode }: End,
): Promise<Pick<ModelToolResult, 'ok' | 'value'>> {
  if (status === 'succeeded') {
    return { ok: true, value: resultDigest === null ? null : await contents.content(resultDigest) };
  }
  const code = errorCode ?? 'failed';
  const tool = definition.tools.find((one) => one.tool === name);
  const checked = code === 'call:invalid_arguments' && tool ? await tools.get(tool).checkInput(args) : null;
  const faults = checked?.ok === false ? `the arguments do not fit: ${checked.faults.join('; ')}` : null;
  return { ok: false, value: { code, message: faults ?? messageOf(code) } };
}
