/**
 * What is said of a session whose log has gone further: a workflow that was reset says again what it does, and may come to know less,
 * or otherwise, than the run before it. Invariant: what is kept could have happened behind what stands there; an outcome that becomes
 * known is kept, whatever the log believed of its call before; what adds nothing is left out.
 */
import type { SessionEvent } from '../invocations/session-event';
import type { TimedEvent } from '../invocations/session-record';
import type { SessionView } from '../invocations/session-view';
import { isFinished } from '../invocations/vocabulary';
import { Refusal } from '../refusal';

type Completed = Extract<SessionEvent, { type: 'tool.completed' }>;

/** What is to be written of an event. The view takes it. */
export function fitted(view: SessionView, { event, at }: TimedEvent): readonly TimedEvent[] {
  if (takes(view, { event, at })) return [{ event, at }];
  if (event.type !== 'tool.completed') return [];
  const written: TimedEvent[] = [];
  for (const other of otherwise(view, event)) if (takes(view, { event: other, at })) written.push({ event: other, at });
  return written;
}

/** The outcome of a call as the log can hold it. */
function otherwise(view: SessionView, event: Completed): readonly SessionEvent[] {
  const { callId, ground, completedAt } = event;
  const call = view.calls.get(callId);
  if (call === undefined || isFinished(call.status)) return [];
  const had = call.status === 'dispatched' || call.status === 'indeterminate';
  // The run before has seen a worker have it; this one has seen that it was not done.
  if (ground === 'unsent') return had ? [{ ...event, ground: 'looked_up' }] : [];
  if (had) return [{ ...event, ground: 'looked_up' }];
  const attempt = call.attempt + 1;
  return [
    { type: 'tool.dispatched', callId, attempt, ground: 'first', worker: null, dispatchedAt: completedAt },
    { ...event, ground: 'result' },
  ];
}

function takes(view: SessionView, { event, at }: TimedEvent): boolean {
  try {
    view.take(event, at);
    return true;
  } catch (fault) {
    if (fault instanceof Refusal) return false;
    throw fault;
  }
}
