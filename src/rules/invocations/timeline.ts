/**
 * The story of a session as one line of time, with how long its calls were queued, waited for people and ran. Invariant: it is made of
 * the records alone; entries stand by when a thing happened, not by when it was written down; of two at once, the one written first.
 */
import { eventToBody, type SessionEvent } from './session-event';
import type { SessionRecord } from './session-record';

export interface TimelineEntry {
  readonly at: number;
  readonly sequence: number;
  readonly type: SessionEvent['type'];
  readonly callId: string | null;
  /** What the record says beside that, as it stands on the wire. */
  readonly detail: Readonly<Record<string, unknown>>;
  /** Of a dispatch: for how long it had waited for a worker, in milliseconds. */
  readonly queuedMs: number | null;
  /** Of an end: how long the last execution took. */
  readonly executedMs: number | null;
  /** Of a decision, or of an expiry: for how long people had been asked. */
  readonly askedMs: number | null;
}

/** When a thing happened that others did; what is not named here happened when it was said. */
function happenedAt({ at, event }: SessionRecord): number {
  switch (event.type) {
    case 'tool.queued':
      return event.queuedAt;
    case 'tool.dispatched':
      return event.dispatchedAt;
    case 'tool.completed':
      return event.completedAt;
    default:
      return at;
  }
}

export function timelineOf(records: readonly SessionRecord[]): readonly TimelineEntry[] {
  const since = new Since();
  const entries = records.map((record) => {
    const { event, sequence } = record;
    const at = happenedAt(record);
    const { call_id: _call, ...detail } = eventToBody(event);
    return { at, sequence, type: event.type, callId: since.callOf(event), detail, ...since.durations(event, at) };
  });
  return entries.sort((a, b) => a.at - b.at || a.sequence - b.sequence);
}

type Durations = Pick<TimelineEntry, 'queuedMs' | 'executedMs' | 'askedMs'>;

/** Since when each call has waited, run, or been asked about. */
class Since {
  private readonly waits = new Map<string, number>();
  private readonly runs = new Map<string, number>();
  private readonly asked = new Map<string, { readonly at: number; readonly callId: string | null }>();

  durations(event: SessionEvent, at: number): Durations {
    const none = { queuedMs: null, executedMs: null, askedMs: null };
    switch (event.type) {
      case 'tool.requested':
      case 'tool.queued':
        this.waits.set(event.callId, at);
        return none;
      case 'tool.dispatched': {
        const queuedMs = elapsed(this.waits.get(event.callId), at);
        this.waits.delete(event.callId);
        this.runs.set(event.callId, at);
        return { ...none, queuedMs };
      }
      case 'tool.completed':
        return { ...none, executedMs: elapsed(this.runs.get(event.callId), at) };
      case 'approval.required':
        this.asked.set(event.approval.approvalId, { at, callId: event.approval.callId });
        return none;
      case 'approval.decided':
      case 'approval.escalated':
      case 'approval.expired':
        return { ...none, askedMs: elapsed(this.asked.get(event.approvalId)?.at, at) };
      default:
        return none;
    }
  }

  callOf(event: SessionEvent): string | null {
    if ('callId' in event) return event.callId;
    if ('approval' in event) return event.approval.callId;
    return 'approvalId' in event ? (this.asked.get(event.approvalId)?.callId ?? null) : null;
  }
}

/** Clocks of two machines may differ: nothing ever took less than no time. */
function elapsed(since: number | undefined, at: number): number | null {
  return since === undefined ? null : Math.max(0, at - since);
}
