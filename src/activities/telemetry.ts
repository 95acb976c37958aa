/**
 * What the engine tells of itself while it works. Invariant: nothing here changes what is done, waits for anything, or is given
 * content; without a meter and a tracer it costs nothing.
 */
import type { SpanAttributes } from '../ports';
import type { LabelsOf } from '../rules/measurements';
import type { RecoveryCheckpoint } from '../rules/recovery';
import { SINK_WAIT } from '../rules/sends/proof';
import type { DriveRequest, DriveStatus } from './contract';
import type { Engine } from './engine';
import type { Known } from './observe';

type Told = Pick<Engine, 'meter' | 'spans' | 'monotonic'>;

/** One call to a sink, as a span, and with its time. `call` must not throw. */
export async function toldCall<T>(
  engine: Told,
  name: 'countersign.send' | 'countersign.look_up',
  attributes: () => SpanAttributes,
  call: () => Promise<T>,
  ended: (value: T, ms: number) => { readonly ok: boolean; readonly attributes: SpanAttributes },
): Promise<T> {
  const { spans } = engine;
  if (spans === undefined && engine.meter === undefined) return call();
  const started = engine.monotonic();
  const end = (value: T): ReturnType<typeof ended> => ended(value, engine.monotonic() - started);
  if (spans !== undefined) return spans.within(name, attributes(), call, end);
  const value = await call();
  end(value);
  return value;
}

/** Of the effects that a new checkpoint records as committed, those that somebody else had done. */
export function tellFound(engine: Told, owner: string, before: RecoveryCheckpoint, known: readonly Known[]): void {
  if (engine.meter === undefined) return;
  for (const { target, verdict, slots } of known) {
    if (verdict.state !== 'committed' || verdict.proof !== 'looked_up') continue;
    if (before.effects[target.ordinal]?.state === 'committed') continue;
    // A slot that we took and did not use is no send of ours.
    if (slots.some(({ record, end }) => record.owner === owner && end?.outcome !== 'not_sent')) continue;
    engine.meter.record('found', 1, { tool_id: target.item.toolId });
  }
}

export function tellStatus({ meter }: Told, { intent }: DriveRequest, result: DriveStatus): void {
  // One that follows has no turn to lose.
  if (result.status === 'fenced' && intent !== 'follow') meter?.record('fenced', 1, {});
  if (result.status === 'waiting') meter?.record('settleWait', result.ms, { cause: causeOf(result.pending) });
}

/** What is waited for as `judge` books it: nothing where the sink only asked for a pause. */
function causeOf(pending: readonly (readonly [ordinal: number, attempt: number])[]): LabelsOf<'settleWait'>['cause'] {
  if (pending.length === 0) return 'not_sent';
  return pending.some(([, attempt]) => attempt === SINK_WAIT) ? 'sink' : 'earlier_send';
}
