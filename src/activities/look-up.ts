/**
 * Asking sinks what they hold. Invariant: a look-up changes nothing and never guesses: an answer that is missing, late,
 * malformed or thrown is `unknown`.
 */
import type { EffectDefinition, EffectSink, SinkAnswer, SinkItem } from '../ports';
import { isDigest } from '../rules/recovery';
import type { DemandRecord } from '../rules/sessions/demand-record';
import type { Engine } from './engine';
import { toldCall } from './telemetry';

/** One effect with everything that a sink may ask about it. */
export interface Target {
  readonly ordinal: number;
  readonly item: SinkItem;
  readonly definition: EffectDefinition;
  /** What its session demands, beside its effect and this worker. */
  readonly demand?: DemandRecord;
}

const TRIES = 3;
const PAUSE_MS = 100;

/** One answer for each target, in order; null for sinks without a look-up. One batch a sink, sinks side by side. */
export async function lookUp(engine: Engine, targets: readonly Target[]): Promise<readonly (SinkAnswer | null)[]> {
  const answers: (SinkAnswer | null)[] = targets.map(() => null);
  const batches = new Map<EffectSink, number[]>();
  for (const [index, target] of targets.entries()) {
    const { sink } = target.definition;
    if (sink.lookup === 'none') continue;
    const batch = batches.get(sink);
    if (batch === undefined) batches.set(sink, [index]);
    else batch.push(index);
  }
  await Promise.all(
    [...batches].map(async ([sink, indexes]) => {
      const items = indexes.map((index) => (targets[index] as Target).item);
      const found = await askPatiently(engine, sink, items);
      for (const [position, index] of indexes.entries()) answers[index] = found[position] ?? { state: 'unknown' };
    }),
  );
  return answers;
}

/** One look-up of one item within what is left of a send's deadline. */
export async function lookUpOnce(engine: Engine, target: Target, withinMs: number): Promise<SinkAnswer | null> {
  const { sink } = target.definition;
  if (sink.lookup === 'none') return null;
  return (await ask(engine, sink, [target.item], Math.min(withinMs, sink.deadlineMs)))[0] ?? { state: 'unknown' };
}

async function askPatiently(
  engine: Engine,
  sink: EffectSink,
  items: readonly SinkItem[],
): Promise<readonly SinkAnswer[]> {
  for (let tries = 1; ; tries += 1) {
    const answers = await ask(engine, sink, items, sink.deadlineMs);
    if (tries === TRIES || answers.every((answer) => answer.state !== 'unknown')) return answers;
    await engine.sleep(PAUSE_MS * tries);
  }
}

async function ask(
  engine: Engine,
  sink: EffectSink,
  items: readonly SinkItem[],
  deadlineMs: number,
): Promise<readonly SinkAnswer[]> {
  if (deadlineMs <= 0) return items.map(() => ({ state: 'unknown' }));
  const tool = items[0]?.toolId ?? '';
  return toldCall(
    engine,
    'countersign.look_up',
    () => ({ 'countersign.tool_id': tool, 'countersign.effects': items.length }),
    () => answersOf(engine, sink, items, deadlineMs),
    (answers, ms) => {
      const unknown = answers.filter(({ state }) => state === 'unknown').length;
      const ok = unknown === 0;
      engine.meter?.record('lookUpLatency', ms, { tool_id: tool, outcome: ok ? 'answered' : 'unknown' });
      return { ok, attributes: { 'countersign.unknown': unknown } };
    },
  );
}

async function answersOf(
  engine: Engine,
  sink: EffectSink,
  items: readonly SinkItem[],
  deadlineMs: number,
): Promise<readonly SinkAnswer[]> {
  try {
    const answers = await engine.withDeadline(deadlineMs, (signal) => sink.observe(items, { signal, deadlineMs }));
    return items.map((_item, index) => checked(answers[index]));
  } catch {
    return items.map(() => ({ state: 'unknown' }));
  }
}

const STATES: ReadonlySet<unknown> = new Set(['absent', 'committed', 'in_flight', 'unknown']);

/** An adapter is somebody else's code: an answer of the wrong form says nothing. */
function checked(answer: SinkAnswer | undefined): SinkAnswer {
  if (typeof answer !== 'object' || answer === null || !STATES.has(answer.state)) return { state: 'unknown' };
  if (answer.state === 'in_flight') {
    const { retryAfterMs } = answer;
    return Number.isSafeInteger(retryAfterMs) && Number(retryAfterMs) >= 0 ? answer : { state: 'in_flight' };
  }
  if (answer.state !== 'committed') return { state: answer.state };
  const sound = isDigest(answer.operationDigest) && isExternalId(answer.externalId);
  return sound ? answer : { state: 'unknown' };
}

/** Longest name of its own that a sink may give to what it wrote: it stands in the journal for good. */
const LONGEST_EXTERNAL_ID = 4_096;

export function isExternalId(value: unknown): boolean {
  return value === null || (typeof value === 'string' && value.length <= LONGEST_EXTERNAL_ID);
}
