/**
 * The sends of one round. Invariant: an ordered plan stops at the first outcome that is not committed; an independent one
 * starts nothing more after it, and keeps within what each sink allows at once.
 */
import type { EffectSink } from '../ports';
import type { PlanOrder } from '../rules/plans/plan';
import type { Engine } from './engine';
import { Ends } from './ends';
import type { Owed } from './entries';
import type { Known } from './observe';
import { sendOne, writeEnd, type Right, type SendResult, type Turn } from './send';

export type BatchEnd =
  /** `owed`: ends that go with the next checkpoint. */
  | { readonly ended: 'all_sent'; readonly owed: readonly Owed[] }
  | { readonly ended: 'stopped' }
  | { readonly ended: 'fenced' }
  | { readonly ended: 'unknown'; readonly known: Known }
  | {
      readonly ended: 'not_sent';
      readonly known: Known;
      readonly retryAfterMs: number | null;
      readonly late: boolean;
    }
  /** The slot's end says what the sink said. */
  | { readonly ended: 'refused' };

/** Which end of several wins: what forbids most comes first. */
const GRAVITY: Record<BatchEnd['ended'], number> = {
  fenced: 0,
  refused: 1,
  unknown: 2,
  not_sent: 3,
  stopped: 4,
  all_sent: 5,
};

/** `first`: the right to send the first of `due`, when it is ours already. */
export async function sendBatch(
  engine: Engine,
  turn: Turn,
  order: PlanOrder,
  due: readonly Known[],
  mustStop: () => Promise<boolean>,
  first: Right | null,
): Promise<BatchEnd> {
  const pacer = new Pacer(engine);
  const ends = new Ends(engine);
  let worst: BatchEnd = { ended: 'all_sent', owed: [] };
  let failed = false;
  const lane = async (queue: Known[]): Promise<void> => {
    for (let known = queue.shift(); known !== undefined; known = queue.shift()) {
      const right = known === due[0] ? first : null;
      // A slot that is ours already is used: to leave it would be an unknown outcome.
      if (right === null && (failed || worst.ended !== 'all_sent')) return;
      await pacer.wait(known.target.definition.sink);
      if (right === null && (await mustStop())) return void (worst = heavier(worst, { ended: 'stopped' }));
      const result = await sendOne(engine, turn, known.target, known, ends, right);
      if (result.sent === 'committed' && result.end !== undefined) ends.add(result.end);
      // Only now: another lane may have come to a worse end meanwhile.
      worst = heavier(worst, endOf(known, result));
    }
  };
  // Whatever fails in one lane, a send of another is not left behind.
  const running = lanes(order, due).map((queue) =>
    lane(queue).catch((fault: unknown) => {
      failed = true;
      throw fault;
    }),
  );
  const left = await Promise.allSettled(running);
  const { owed, failure: unmade } = await ends.rest();
  const failure = left.find((one) => one.status === 'rejected') ?? unmade;
  if (failure === undefined && worst.ended === 'all_sent') return { ended: 'all_sent', owed };
  for (const end of owed) await writeEnd(engine, end);
  if (failure !== undefined) throw failure.reason;
  return worst;
}

/** Queues that run side by side: one for an ordered plan; `maxInFlight` sharing one queue for each sink otherwise. */
function lanes(order: PlanOrder, due: readonly Known[]): readonly Known[][] {
  if (order === 'ordered') return [[...due]];
  const queues = new Map<EffectSink, Known[]>();
  for (const known of due) {
    const { sink } = known.target.definition;
    const queue = queues.get(sink);
    if (queue === undefined) queues.set(sink, [known]);
    else queue.push(known);
  }
  return [...queues].flatMap(([sink, queue]) =>
    Array.from({ length: Math.max(1, sink.maxInFlight ?? 1) }, () => queue),
  );
}

function heavier(one: BatchEnd, other: BatchEnd): BatchEnd {
  return GRAVITY[other.ended] < GRAVITY[one.ended] ? other : one;
}

function endOf(known: Known, result: SendResult): BatchEnd {
  switch (result.sent) {
    case 'committed':
      return { ended: 'all_sent', owed: [] };
    case 'refused':
      return { ended: 'refused' };
    case 'not_sent':
      return { ended: 'not_sent', known, retryAfterMs: result.retryAfterMs, late: result.late };
    case 'unknown':
      return { ended: 'unknown', known };
    case 'fenced':
      return { ended: 'fenced' };
  }
}

/** Keeps the least time between two sends to one sink. */
class Pacer {
  private readonly next = new Map<EffectSink, number>();

  constructor(private readonly engine: Engine) {}

  async wait(sink: EffectSink): Promise<void> {
    const interval = sink.minIntervalMs ?? 0;
    if (interval <= 0) return;
    const now = this.engine.monotonic();
    const slot = Math.max(now, this.next.get(sink) ?? now);
    this.next.set(sink, slot + interval);
    if (slot > now) await this.engine.sleep(slot - now);
  }
}
