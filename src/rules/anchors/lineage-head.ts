/**
 * An entry of an anchor log: that a lineage of a journal had this checkpoint as its head. Invariant: it holds digests and ids
 * only, and one head has one text, so that it has one hash in the tree.
 */
import { canonicalJson, isDigest, isRunId } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { isJournalId } from '../journal-record';
import { Refusal } from '../refusal';

export const LINEAGE_HEAD_SCHEMA_VERSION = 'countersign.lineage_head.v1';

export interface LineageHeadRecord {
  readonly journalId: string;
  readonly runId: string;
  readonly lineage: number;
  readonly sequence: number;
  readonly digest: string;
}

export function lineageHeadToText({ journalId, runId, lineage, sequence, digest }: LineageHeadRecord): string {
  const ids = { journal_id: journalId, run_id: runId };
  return canonicalJson({ schema_version: LINEAGE_HEAD_SCHEMA_VERSION, ...ids, lineage, sequence, digest });
}

/** Throws a `Refusal` for anything but the one text of a head. */
export function lineageHeadFromBytes(bytes: Uint8Array): LineageHeadRecord {
  const head = parseRecord(bytes, 'head', (value) => {
    const at = new Fields(value, 'head');
    at.oneOf('schema_version', [LINEAGE_HEAD_SCHEMA_VERSION]);
    const read = {
      journalId: at.text('journal_id', 'the id of a journal', isJournalId),
      ...lineageHeadFields(at),
    };
    at.end();
    return read;
  });
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  if (text !== lineageHeadToText(head)) throw new Refusal('invalid_record', 'is not in canonical form', 'head');
  return head;
}

/** What names a head within one journal. */
export function lineageHeadFields(at: Fields): Omit<LineageHeadRecord, 'journalId'> {
  const lineage = at.count('lineage');
  if (lineage === 0) at.refuse('must be 1 or more', 'lineage');
  return {
    runId: at.text('run_id', 'the id of a run', isRunId),
    lineage,
    sequence: at.count('sequence'),
    digest: at.text('digest', 'a digest', isDigest),
  };
}
