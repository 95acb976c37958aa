/**
 * Logs of sessions as this process has read them. Invariant: what is kept was read from the journal and checked, and nothing there ever
 * changes, so only what stands behind it is read again; each event is in a log once, however often it is said; and nothing is written
 * that could not have followed.
 */
import { SessionView } from '../rules/invocations/session-view';
import { recordDigest, type LogHead, type SessionRecord, type TimedEvent } from '../rules/invocations/session-record';
import { Refusal } from '../rules/refusal';
import type { SessionDefinition } from '../rules/sessions/definition-record';
import { eventKey, isCounted } from '../rules/sessions/event-key';
import { fitted } from '../rules/sessions/fitting';
import type { Journal } from './journal';
import type { LogPlace } from './session-contract';
import { SessionFiles } from './session-files';

const MOST_SESSIONS = 200;
/** Two who write one log make way for each other; nobody has to give way more often than this. */
const MOST_RACES = 100;

/** `time`: from 1, which one of its kind it is for its call. */
export type SaidEvent = TimedEvent & { readonly time: number };

interface Kept {
  readonly records: SessionRecord[];
  readonly keys: Set<string>;
  readonly view: SessionView;
  head: LogHead | null;
}

export interface Appended {
  readonly head: LogHead;
  readonly place: LogPlace;
}

export class SessionShelf {
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly journal: Journal) {}

  files(session: string): SessionFiles {
    return new SessionFiles(this.journal.entries, session);
  }

  /** The whole log, as of now. */
  async log(session: string): Promise<readonly SessionRecord[]> {
    return (await this.refreshed(session)).records;
  }

  /** Where the session stands, as of now. */
  async view(session: string): Promise<SessionView> {
    return (await this.refreshed(session)).view;
  }

  /** Appends what the log does not hold yet; answers where it stands then. */
  async append(session: string, events: readonly SaidEvent[], definition: SessionDefinition | null): Promise<Appended> {
    for (let race = 0; race < MOST_RACES; race += 1) {
      const { head, keys, view } = await this.refreshed(session);
      const news = events.filter(({ event, time }) => !keys.has(eventKey(event, time)));
      const next = view.copy();
      const fresh = news.flatMap((said) => fitted(next, said));
      if (view.ended !== null && news.some(({ event }) => event.type.startsWith('message.')))
        throw new Refusal('record_conflict', 'has ended before; use another name for another session', session);
      if (fresh.length === 0 && head !== null) return { head, place: placeOf(view) };
      const appended = await this.files(session).append(head, fresh, definition);
      if (appended !== 'overtaken') return { head: appended, place: placeOf(next) };
    }
    throw new Error('the log of this session is written by too many at once');
  }

  private async refreshed(session: string): Promise<Kept> {
    const kept: Kept = this.kept.get(session) ?? {
      ...{ records: [], keys: new Set(), view: new SessionView(session), head: null },
    };
    this.kept.delete(session);
    this.kept.set(session, kept);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= MOST_SESSIONS) break;
      this.kept.delete(oldest);
    }
    for (const record of await this.files(session).events(kept.head)) {
      // Somebody else in this process may have read the same meanwhile.
      if (record.sequence === kept.records.length + 1) keep(kept, record);
    }
    return kept;
  }
}

function placeOf({ turn, round }: SessionView): LogPlace {
  return { turn, round: round?.round ?? 0 };
}

function keep(kept: Kept, record: SessionRecord): void {
  const { event, sequence, at } = record;
  kept.view.take(event, at);
  let time = 1;
  while (isCounted(event) && kept.keys.has(eventKey(event, time))) time += 1;
  kept.records.push(record);
  kept.keys.add(eventKey(event, time));
  kept.head = { sequence, digest: recordDigest(record) };
}
