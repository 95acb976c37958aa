/**
 * All that a session's page says, from its log in the journal. Invariant: every record is checked to follow from those before it, and only
 * what stands behind what was seen is read again; no content is in it.
 */
import { Journal } from '../activities/journal';
import { SessionShelf } from '../activities/session-shelf';
import type { Store } from '../ports';
import { ledgerRows, type LedgerRow } from '../rules/invocations/ledger';
import { SessionLogReader } from '../rules/invocations/session-log';
import { recordToText, type LogHead } from '../rules/invocations/session-record';
import type { SessionView } from '../rules/invocations/session-view';
import { timelineOf, type TimelineEntry } from '../rules/invocations/timeline';

export interface SessionLook {
  readonly session: string;
  readonly view: SessionView;
  readonly head: LogHead;
  readonly calls: readonly LedgerRow[];
  readonly timeline: readonly TimelineEntry[];
}

export class SessionLogs {
  private readonly shelf: SessionShelf;

  constructor(journal: Store) {
    this.shelf = new SessionShelf(new Journal(journal));
  }

  /** Null of a session that the journal does not hold. Throws `invalid_record` at the first record that does not follow. */
  async look(session: string, before: SessionLook | null): Promise<SessionLook | null> {
    const records = await this.shelf.log(session);
    if (records.length === 0) return null;
    if (before !== null && before.head.sequence === records.length) return before;
    const reader = new SessionLogReader(session);
    for (const record of records) reader.take(recordToText(record));
    const { head, view } = reader;
    if (head === null) return null;
    return { session, view, head, calls: ledgerRows(view), timeline: timelineOf(records) };
  }
}
