/**
 * One round of a session: the conversation as the journal has it, one request to the model, one record of its answer. Invariant: an
 * answer is recorded, put-if-absent, before anybody hears of it; where a record stands, the model is not asked.
 */
import type { ModelAnswer, ModelTool } from '../ports';
import { MODEL_STOPS } from '../ports';
import { effectiveClass } from '../rules/invocations/class-table';
import { isAskedTool } from '../rules/invocations/names';
import { Refusal } from '../rules/refusal';
import { MOST_CALLS, type RoundRecord } from '../rules/sessions/round-record';
import { modelFault } from './model-fault';
import type { RoundRequest, RoundResult } from './session-contract';
import { conversation } from './session-conversation';
import type { SessionEngine } from './session-engine';

/** The name that stands for one that is no plain word. No tool has it. */
const UNNAMED = 'UNNAMED';

export async function sessionRound(
  engine: SessionEngine,
  { session_id: session, turn, round }: RoundRequest,
  stopping: AbortSignal,
): Promise<Omit<RoundResult, 'journal_id'>> {
  const files = engine.shelf.files(session);
  const known = await files.round(turn, round);
  if (known !== null) return resultOf(known, true);
  const log = await engine.shelf.log(session);
  const view = await engine.shelf.view(session);
  const definition = await files.definition();
  const begun = log.map(({ event }) => event).find((event) => event.type === 'message.user' && event.turn === turn);
  if (begun?.type !== 'message.user')
    throw new Refusal('journal_invalid', 'holds no message for this turn', `turn ${turn}`);
  const model = engine.models.get(definition.model);
  const tools = definition.tools.map((bound) => {
    const tool = engine.tools.get(bound);
    // One that would be less careful than the tool is refused before anybody has asked for it.
    effectiveClass(tool.sideEffect, bound.sideEffect);
    return tool;
  });
  const messages = await conversation(engine, definition, log, view, { turn, round });
  const told: readonly ModelTool[] = tools.map(({ tool: name, description, inputSchema }) => ({
    ...{ name, description, inputSchema },
  }));
  await engine.at?.('model_asked');
  const answer = await engine
    .withDeadline(model.deadlineMs, (signal) =>
      model.generate(
        { messages, tools: told },
        { signal: AbortSignal.any([signal, stopping]), deadlineMs: model.deadlineMs },
      ),
    )
    .catch((fault: unknown) => {
      throw modelFault(model.name, fault);
    });
  await engine.at?.('model_answered');
  const { message } = begun;
  const record = await kept(engine, { session, turn, round, message, model: model.name }, checked(answer, model.name));
  const settled = await files.settleRound(record);
  await engine.at?.('round_recorded');
  return resultOf(settled.record, !settled.first);
}

type Place = Pick<RoundRecord, 'session' | 'turn' | 'round' | 'message' | 'model'>;

/** The contents of an answer go to the content store; what is left is its record. */
async function kept({ contents }: SessionEngine, place: Place, answer: ModelAnswer): Promise<RoundRecord> {
  const { text, toolCalls, usage, stop } = answer;
  const calls = toolCalls.map(async ({ tool, args }) => ({
    tool: isAskedTool(tool) ? tool : UNNAMED,
    argsDigest: await contents.putContent(args),
  }));
  return { ...place, text: await contents.putContent(text), calls: await Promise.all(calls), usage, stop };
}

/** An answer that is of no known form is none. */
function checked(answer: ModelAnswer, model: string): ModelAnswer {
  const { text, toolCalls, usage, stop } = (answer ?? {}) as Partial<ModelAnswer>;
  const counted = (count: unknown): boolean => Number.isSafeInteger(count) && (count as number) >= 0;
  const sound =
    typeof text === 'string' &&
    Array.isArray(toolCalls) &&
    toolCalls.every(({ tool }) => typeof tool === 'string') &&
    counted(usage?.input) &&
    counted(usage?.output) &&
    MODEL_STOPS.some((known) => known === stop);
  if (!sound) throw new Error(`the model "${model}" answered in no known form`);
  if (toolCalls.length > MOST_CALLS)
    throw new Error(`the model "${model}" asked for more than ${MOST_CALLS} calls at once`);
  return answer;
}

function resultOf(record: RoundRecord, replayed: boolean): Omit<RoundResult, 'journal_id'> {
  const { message, text, calls, usage, stop } = record;
  return {
    ...{ message, text, usage, stop, replayed },
    calls: calls.map(({ tool, argsDigest }, index) => ({ index, tool, args_digest: argsDigest })),
  };
}
