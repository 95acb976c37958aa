/**
 * Reads the log of a session, record by record. Invariant: a record is taken only when it is whole, stands at its place, follows the one
 * before by its digest and could have happened; the first that does not is refused by its line, and nothing behind it is read.
 */
import { Refusal } from '../refusal';
import { recordDigest, recordFromBytes, type LogHead, type SessionRecord } from './session-record';
import { SessionView } from './session-view';

export class SessionLogReader {
  readonly view: SessionView;
  head: LogHead | null = null;
  private broken = false;

  constructor(readonly sessionId: string) {
    this.view = new SessionView(sessionId);
  }

  /** Throws a `Refusal` whose field is the line, counted from 1. */
  take(bytes: Uint8Array | string): SessionRecord {
    const line = (this.head?.sequence ?? 0) + 1;
    if (this.broken) throw new Refusal('invalid_record', 'follows a line that was refused', `line ${line}`);
    try {
      return this.read(bytes, line);
    } catch (fault) {
      this.broken = true;
      if (!(fault instanceof Refusal)) throw fault;
      const reason = fault.field === null ? fault.reason : `${fault.field} ${fault.reason}`;
      throw new Refusal(fault.code, reason, `line ${line}`);
    }
  }

  private read(bytes: Uint8Array | string, line: number): SessionRecord {
    const record = recordFromBytes(bytes);
    if (record.sessionId !== this.sessionId) refuse('is of another session', 'session_id');
    if (record.sequence !== line) refuse(`is ${record.sequence}; a record is missing, twice or moved`, 'sequence');
    if (record.previous !== (this.head?.digest ?? null)) refuse('is not the digest of the record before', 'previous');
    this.view.take(record.event, record.at);
    this.head = { sequence: record.sequence, digest: recordDigest(record) };
    return record;
  }
}

function refuse(reason: string, field: string): never {
  throw new Refusal('invalid_record', reason, `record.${field}`);
}
