/**
 * `journal.json`: which journal this is. Invariant: the id is random and made once, so that a history can never be continued
 * against another journal by mistake.
 */
import { canonicalJson } from './recovery';
import { Fields, parseRecord } from './fields';

export const JOURNAL_SCHEMA_VERSION = 'countersign.journal.v1';

const JOURNAL_ID = /^jrn_[0-9a-f]{32}$/;

export function isJournalId(text: string): boolean {
  return JOURNAL_ID.test(text);
}

/** `randomHex` is 32 random lowercase hex digits. */
export function journalToText(randomHex: string): string {
  return canonicalJson({ schema_version: JOURNAL_SCHEMA_VERSION, journal_id: `jrn_${randomHex}` });
}

export function journalIdFromBytes(bytes: Uint8Array | string): string {
  return parseRecord(bytes, 'journal', (value) => {
    const at = new Fields(value, 'journal');
    at.oneOf('schema_version', [JOURNAL_SCHEMA_VERSION]);
    const id = at.text('journal_id', '"jrn_" and 32 lowercase hex digits', isJournalId);
    at.end();
    return id;
  });
}
