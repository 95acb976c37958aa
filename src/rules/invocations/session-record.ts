/**
 * One record of a session's log. Invariant: it has one text, canonical JSON with its own digest; each is chained to the one before by
 * that one's digest, so no record can be changed, dropped, added or moved without the chain breaking behind it.
 */
import { Fields, parseRecord, type Dict } from '../fields';
import { canonicalJson, sha256Digest } from '../recovery';
import { Refusal } from '../refusal';
import { isSessionName } from './names';
import { digestAt, positionAt } from './record-fields';
import { eventFromBody, eventToBody, type SessionEvent } from './session-event';
import { SESSION_EVENTS } from './vocabulary';

export const SESSION_EVENT_SCHEMA_VERSION = 'countersign.session_event.v1';

export interface SessionRecord {
  readonly sessionId: string;
  /** From 1, without gaps. */
  readonly sequence: number;
  /** Digest of the record before; null of the first. */
  readonly previous: string | null;
  /** When it was said, unix milliseconds of the workflow's clock. Times of what others did stand in the body. */
  readonly at: number;
  readonly event: SessionEvent;
}

/** The last record of a log. */
export interface LogHead {
  readonly sequence: number;
  readonly digest: string;
}

export interface TimedEvent {
  readonly at: number;
  readonly event: SessionEvent;
}

export interface ChainedRecord {
  readonly record: SessionRecord;
  readonly text: string;
  readonly digest: string;
}

/** The records that carry these events on from a head; null where there is no record yet. */
export function chained(
  sessionId: string,
  head: LogHead | null,
  events: readonly TimedEvent[],
): readonly ChainedRecord[] {
  let last = head;
  return events.map(({ at, event }) => {
    const record = { sessionId, sequence: (last?.sequence ?? 0) + 1, previous: last?.digest ?? null, at, event };
    const digest = recordDigest(record);
    last = { sequence: record.sequence, digest };
    return { record, text: recordToText(record), digest };
  });
}

/** The name of a record's file; names sort as the records do. */
export function recordName(sequence: number): string {
  return `${String(sequence).padStart(20, '0')}.json`;
}

export function recordToText(record: SessionRecord): string {
  const fields = unsealed(record);
  return canonicalJson({ ...fields, digest: sha256Digest(canonicalJson(fields)) });
}

export function recordDigest(record: SessionRecord): string {
  return sha256Digest(canonicalJson(unsealed(record)));
}

/** Throws a `Refusal` `invalid_record` for anything but the text of a record. */
export function recordFromBytes(bytes: Uint8Array | string): SessionRecord {
  const record = parseRecord(bytes, 'record', (value) => {
    const at = new Fields(value, 'record');
    at.oneOf('schema_version', [SESSION_EVENT_SCHEMA_VERSION]);
    const read: SessionRecord = {
      sessionId: at.text('session_id', 'a session name', isSessionName),
      sequence: positionAt(at, 'sequence'),
      previous: at.nullable('previous', (field) => digestAt(at, field)),
      at: at.count('at'),
      event: eventFromBody(at.oneOf('type', SESSION_EVENTS), at.raw('body'), 'record.body'),
    };
    const digest = digestAt(at, 'digest');
    at.end();
    if ((read.sequence === 1) !== (read.previous === null)) at.refuse('is null of the first record only', 'previous');
    if (recordDigest(read) !== digest) {
      throw new Refusal('invalid_record', 'is not of the fields beside it; the record was changed', 'record.digest');
    }
    return read;
  });
  if (textOf(bytes) !== recordToText(record)) throw new Refusal('invalid_record', 'is not canonical', 'record');
  return record;
}

function unsealed({ sessionId, sequence, previous, at, event }: SessionRecord): Dict {
  const place = { schema_version: SESSION_EVENT_SCHEMA_VERSION, session_id: sessionId, sequence, previous, at };
  return { ...place, type: event.type, body: eventToBody(event) };
}

/** What is not ASCII is not canonical either, whatever it becomes here. */
function textOf(bytes: Uint8Array | string): string {
  return typeof bytes === 'string' ? bytes : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
