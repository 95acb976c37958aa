/**
 * The session's log as its workflow writes it. Invariant: events go to the journal in the order in which they happened, one go at a
 * time; whoever waits for `written` knows that everything said before stands there.
 */
import { CancellationScope, proxyActivities } from '@temporalio/workflow';
import {
  SESSION_LOG_ACTIVITY,
  type LogEvent,
  type LogHead,
  type LogPlace,
  type SessionActivities,
} from '../activities/session-contract';
import { eventToBody, type SessionEvent } from '../rules/invocations/session-event';
import { definitionToRecord, type SessionDefinition } from '../rules/sessions/definition-record';

const ACTIVITY = {
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
} as const;
/** Of one go: what one request may weigh. */
const MOST_AT_ONCE = 200;

export class SessionLog {
  private readonly unwritten: LogEvent[] = [];
  private writing: Promise<void> | null = null;
  /** How far the log goes. After a reset that may be further than this history. */
  place: LogPlace = { turn: 0, round: 0 };

  constructor(
    private readonly definition: SessionDefinition,
    public journalId: string | null,
    public head: LogHead | null,
  ) {}

  /** `time`: of an event that can happen to a call several times, which time it is. `at`: when it happened. @default now */
  say(event: SessionEvent, time = 1, at = Date.now()): void {
    const said = { type: event.type, at, body: eventToBody(event) };
    this.unwritten.push(time === 1 ? said : { ...said, time });
  }

  /** Writes what was said, and all that is said meanwhile. */
  async written(): Promise<void> {
    while (this.unwritten.length > 0 || this.writing !== null) {
      this.writing ??= this.write().finally(() => (this.writing = null));
      await this.writing;
    }
  }

  private async write(): Promise<void> {
    const events = this.unwritten.slice(0, MOST_AT_ONCE);
    const activities = proxyActivities<SessionActivities>({ ...ACTIVITY, summary: summaryOf(events) });
    const {
      journal_id: journalId,
      head,
      place,
    } = await CancellationScope.nonCancellable(() =>
      activities[SESSION_LOG_ACTIVITY]({
        session_id: this.definition.session,
        journal_id: this.journalId,
        ...(this.head === null ? { definition: definitionToRecord(this.definition) } : {}),
        events,
      }),
    );
    this.unwritten.splice(0, events.length);
    this.journalId = journalId;
    this.head = head;
    this.place = place;
  }
}

function summaryOf(events: readonly LogEvent[]): string {
  const [first] = events;
  const more = events.length > 1 ? ` and ${events.length - 1} more` : '';
  return `log: ${first?.type ?? ''}${more}`.slice(0, 200);
}
