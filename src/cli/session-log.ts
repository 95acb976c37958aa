/**
 * A session's log as the command line reads it. Invariant: every record is checked to follow from those before it, by its digest and by
 * the rules; a log that does not is refused by the line, not summarised.
 */
import { Journal } from '../activities/journal';
import { SessionFiles } from '../activities/session-files';
import type { Store } from '../ports';
import { SessionLogReader } from '../rules/invocations/session-log';
import { recordToText, type LogHead, type SessionRecord } from '../rules/invocations/session-record';
import type { SessionView } from '../rules/invocations/session-view';
import { Refusal } from '../rules/refusal';

export interface ReadSession {
  readonly records: readonly SessionRecord[];
  readonly view: SessionView;
  readonly head: LogHead | null;
}

/** Throws `unknown_run` for a session that the journal does not hold. */
export async function readSession(store: Store, session: string): Promise<ReadSession> {
  const journal = new Journal(store);
  await journal.id();
  const records = await new SessionFiles(journal.entries, session).events(null);
  if (records.length === 0) {
    throw new Refusal('unknown_run', 'is no session of this journal; look at "countersign sessions ls"', session);
  }
  const reader = new SessionLogReader(session);
  for (const record of records) reader.take(recordToText(record));
  return { records, view: reader.view, head: reader.head };
}
