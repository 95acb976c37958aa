/**
 * One send of one effect: slot, look up, send, look up, end. Invariant: nothing is dispatched unless this very execution
 * created the slot, holds the latest epoch, has just found the effect absent, and still has time before the slot's deadline.
 */
import type { DispatchOutcome } from '../ports';
import { Refusal } from '../rules/refusal';
import { judge, type Facts } from '../rules/sends/proof';
import { nextAttempt, safeCode, type HeadRef, type SendEnd, type Slot, type SlotRecord } from '../rules/sends/slot';
import type { Ends } from './ends';
import type { Engine } from './engine';
import type { Entry, Owed } from './entries';
import { slotEntry } from './journal';
import { isExternalId, lookUpOnce, type Target } from './look-up';
import { traitsOf } from './registry';
import { toldCall } from './telemetry';

/** The right under which this execution sends. */
export interface Turn {
  readonly runId: string;
  readonly epoch: number;
  readonly owner: string;
  readonly head: HeadRef;
  /** Whether an approval that is needed still counts, asked right before the request leaves. */
  readonly permitted: () => boolean;
}

/** The right to one send: a slot of ours, and when its time began. */
export interface Right {
  readonly attempt: number;
  readonly began: number;
}

export type SendResult =
  /** `end`: the slot's end, still to be written. The sink was seen to hold the effect, so nothing rests on it but the batch. */
  | { readonly sent: 'committed'; readonly end?: Promise<Owed> }
  | { readonly sent: 'refused' }
  /** Proven not sent; ask again after `retryAfterMs` when the sink said so. `late`: its time was over before the request could leave. */
  | { readonly sent: 'not_sent'; readonly retryAfterMs: number | null; readonly late: boolean }
  /** Whatever happened, only the next observation can tell. */
  | { readonly sent: 'unknown' }
  | { readonly sent: 'fenced' };

/** The slot to be created for a first send, and the right that it gives when it is ours. */
export function slotToTake(
  engine: Engine,
  turn: Turn,
  target: Target,
  slots: readonly Slot[],
): { readonly right: Right; readonly record: SlotRecord; readonly entry: Entry } {
  const { deadlineMs, settleMs } = target.definition.sink;
  const right = { attempt: nextAttempt(slots), began: engine.monotonic() };
  const { owner, epoch, head } = turn;
  const record = { state: 'begun', owner, epoch, head, openedAt: engine.now(), deadlineMs, settleMs } as const;
  return { right, record, entry: slotEntry(turn.runId, target.item.idempotencyKey, right.attempt, record) };
}

/** Null when another has the turn or the slot. The ends of earlier sends are written with it. */
async function takeRight(
  engine: Engine,
  turn: Turn,
  target: Target,
  slots: readonly Slot[],
  ends: Ends,
): Promise<Right | null> {
  const { journal } = engine;
  const { right, record } = slotToTake(engine, turn, target, slots);
  if (!(await journal.isLatestEpoch(turn.runId, turn.epoch))) return null;
  const taken = await ends.writeWith((owed) =>
    journal.takeSlot(turn.runId, target.item.idempotencyKey, right.attempt, record, owed),
  );
  return taken ? right : null;
}

/** `first`: the right that came with the checkpoint. */
export async function sendOne(
  engine: Engine,
  turn: Turn,
  target: Target,
  before: Pick<Facts, 'slots' | 'waitedMs' | 'attested'>,
  ends: Ends,
  first: Right | null = null,
): Promise<SendResult> {
  const { item, definition } = target;
  const right = first ?? (await takeRight(engine, turn, target, before.slots, ends));
  if (right === null) return { sent: 'fenced' };
  await engine.at?.('slot_taken');
  const left = (): number => definition.sink.deadlineMs - (engine.monotonic() - right.began);

  const endOf: EndOf = (outcome) => {
    const empty = { owner: turn.owner, code: null, externalId: null, resultDigest: null, retryAfterMs: null };
    return engine.journal.slotEnd(turn.runId, item.idempotencyKey, right.attempt, { ...empty, ...outcome });
  };

  const answer = await lookUpOnce(engine, target, left());
  const verdict = judge({
    ...before,
    traits: traitsOf(definition, target.demand?.sideEffect),
    operationDigest: item.operationDigest,
    committed: false,
    answer,
    ending: false,
    now: engine.now(),
  });
  if (verdict.state === 'absent') await engine.at?.('sending');
  // The clock kept running while this process did not (a pause, a slow look-up): neither a slot nor an approval that has expired may be used.
  const late = left() <= 0;
  if (verdict.state !== 'absent' || late || !turn.permitted()) {
    await writeEnd(engine, endOf({ outcome: 'not_sent' }));
    return verdict.state === 'committed' ? { sent: 'committed' } : { sent: 'not_sent', retryAfterMs: null, late };
  }

  const outcome = await toldDispatch(engine, target, left(), right.attempt);
  await engine.at?.('answered');
  const result = await settle(engine, turn, target, outcome, endOf);
  if (result.sent !== 'fenced') engine.meter?.record('sends', 1, { tool_id: item.toolId, outcome: result.sent });
  return result;
}

type EndOf = (outcome: Partial<SendEnd> & Pick<SendEnd, 'outcome'>) => Owed;

export async function writeEnd(engine: Engine, end: Owed): Promise<void> {
  await engine.journal.writeOwed([end]);
  await engine.at?.('ended');
}

async function settle(
  engine: Engine,
  turn: Turn,
  target: Target,
  outcome: DispatchOutcome | null,
  endOf: EndOf,
): Promise<SendResult> {
  const { item, definition } = target;
  switch (outcome?.outcome) {
    case 'refused': {
      await writeEnd(engine, endOf({ outcome: 'refused', code: safeCode(outcome.code) }));
      return { sent: 'refused' };
    }
    case 'not_sent': {
      const retryAfterMs = outcome.retryAfterMs ?? null;
      await writeEnd(engine, endOf({ outcome: 'not_sent', retryAfterMs }));
      return { sent: 'not_sent', retryAfterMs, late: false };
    }
    case 'accepted': {
      const found = await lookUpOnce(engine, target, definition.sink.deadlineMs);
      const seen = found?.state === 'committed' && found.operationDigest === item.operationDigest ? found : null;
      const end = keepResult(engine, turn, item.idempotencyKey, outcome.result).then((resultDigest) =>
        endOf({ outcome: 'acked', externalId: (seen ?? outcome).externalId, resultDigest }),
      );
      if (seen !== null) return { sent: 'committed', end };
      // Here the end is the only proof, or the only contradiction.
      await writeEnd(engine, await end);
      return { sent: definition.sink.lookup === 'authoritative' ? 'unknown' : 'committed' };
    }
    case undefined: {
      const found = await lookUpOnce(engine, target, definition.sink.deadlineMs);
      const ours = found?.state === 'committed' && found.operationDigest === item.operationDigest;
      return { sent: ours ? 'committed' : 'unknown' };
    }
  }
}

/** The effect is done, whatever its result looks like: one that JSON cannot carry unchanged is not kept. */
async function keepResult(engine: Engine, turn: Turn, key: string, result: unknown): Promise<string | null> {
  if (result === undefined) return null;
  try {
    const digest = await engine.contents.putResult(turn.runId, key, result);
    await engine.at?.('result_kept');
    return digest;
  } catch (fault) {
    if (fault instanceof Refusal && fault.code === 'invalid_plan') return null;
    throw fault;
  }
}

function toldDispatch(
  engine: Engine,
  target: Target,
  deadlineMs: number,
  attempt: number,
): Promise<DispatchOutcome | null> {
  const { toolId, actionId } = target.item;
  return toldCall(
    engine,
    'countersign.send',
    () => ({
      'countersign.tool_id': toolId,
      'countersign.action_id': actionId,
      'countersign.attempt': attempt,
    }),
    () => dispatch(engine, target, deadlineMs),
    (outcome, ms) => {
      engine.meter?.record('sendLatency', ms, { tool_id: toolId });
      if (outcome === null) engine.meter?.record('unanswered', 1, { tool_id: toolId });
      return { ok: outcome !== null, attributes: { 'countersign.outcome': outcome?.outcome ?? 'unknown' } };
    },
  );
}

/** Null is an unknown outcome: the sink threw, overran its deadline, or answered in no known form. */
async function dispatch(engine: Engine, target: Target, deadlineMs: number): Promise<DispatchOutcome | null> {
  const { sink } = target.definition;
  try {
    const outcome = await engine.withDeadline(deadlineMs, (signal) =>
      sink.dispatch(target.item, { signal, deadlineMs }),
    );
    return isOutcome(outcome) ? outcome : null;
  } catch {
    return null;
  }
}

function isOutcome(outcome: DispatchOutcome | null | undefined): outcome is DispatchOutcome {
  switch (outcome?.outcome) {
    case 'accepted':
      return isExternalId(outcome.externalId);
    case 'refused':
      return typeof outcome.code === 'string';
    case 'not_sent':
      return (
        outcome.retryAfterMs === undefined || (Number.isSafeInteger(outcome.retryAfterMs) && outcome.retryAfterMs >= 0)
      );
    default:
      return false;
  }
}

/** Milliseconds to wait before an effect that was not sent may be tried again, growing with its attempts. */
export function retryPauseMs(slots: readonly Slot[], askedMs: number | null): number {
  const growing = Math.min(1_000 * 2 ** Math.min(slots.length, 6), 60_000);
  return Math.max(askedMs ?? 0, askedMs === null ? growing : 1);
}
