/**
 * A session as a list of its journal shows it. Invariant: what it is and its newest event are read, and no more; a list proves nothing, and
 * what does not read is missing from it.
 */
import { recordFromBytes } from '../rules/invocations/session-record';
import type { SessionEventType } from '../rules/invocations/vocabulary';
import { definitionFromBytes } from '../rules/sessions/definition-record';
import type { JournalView } from '../verify';

export interface ListedSession {
  /** Null where that does not read. */
  readonly name: string | null;
  readonly events: number;
  /** The newest event; null before the first, and where it does not read. */
  readonly last: SessionEventType | null;
}

/** Null of a run that is no session. */
export async function listedSession(view: JournalView, run: string): Promise<ListedSession | null> {
  const entries = (await view.list(run)) ?? [];
  if (!entries.some(({ name }) => name === 'definition.json' || name === 'events')) return null;
  const names = ((await view.list(`${run}/events`)) ?? []).map(({ name }) => name).sort();
  const newest = names.at(-1);
  const [definition, record] = await Promise.all([
    readable(async () => definitionFromBytes((await view.read(`${run}/definition.json`)) ?? new Uint8Array())),
    newest === undefined
      ? null
      : readable(async () => recordFromBytes((await view.read(`${run}/events/${newest}`)) ?? new Uint8Array())),
  ]);
  return { name: definition?.session ?? null, events: names.length, last: record?.event.type ?? null };
}

export async function readable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch {
    return null;
  }
}
