/**
 * Making a journal. Invariant: a store gets one id in its life; asking again answers the id that is there.
 */
import { randomBytes } from 'node:crypto';
import type { Store } from './ports';
import { journalIdFromBytes, journalToText } from './rules/journal-record';
import { Refusal } from './rules/refusal';

export interface JournalMade {
  readonly journalId: string;
  readonly created: boolean;
}

export async function initJournal(store: Store): Promise<JournalMade> {
  const before = await store.read('journal.json');
  if (before !== null) return { journalId: journalIdFromBytes(before), created: false };
  const text = journalToText(randomBytes(16).toString('hex'));
  const outcome = await store.create('journal.json', new TextEncoder().encode(text));
  const bytes = await store.read('journal.json');
  if (bytes === null) throw new Refusal('journal_missing', 'the journal cannot be read back after it was made');
  return { journalId: journalIdFromBytes(bytes), created: outcome === 'created' };
}
