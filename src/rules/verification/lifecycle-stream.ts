/**
 * Histories of runs as a stream of lines: a header, one line a record, and a closing line. Invariant: a set of histories has one text,
 * so the export of an import is the import; a reader takes all of it or nothing, and keeps no record that it has read.
 */
import { sha256 } from '@noble/hashes/sha2';
import { canonicalJson } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { isJournalId } from '../journal-record';
import { Refusal } from '../refusal';
import type { Jwks } from '../receipts/jwks';
import { digestAt } from './names';
import { LIFECYCLE_TYPES, lifecycleFromBytes, lifecycleToText } from './lifecycle-record';
import type { LifecycleRecord, LifecycleType } from './lifecycle-record';
import { LifecycleRun, Seen } from './lifecycle-run';

export const LIFECYCLE_STREAM_SCHEMA_VERSION = 'countersign.lifecycle_stream.v1';
/** Longest line, in bytes. */
export const MAX_LIFECYCLE_LINE_BYTES = 1_048_576;

export type LifecycleCounts = { readonly [T in LifecycleType]: number };

export interface LifecycleClosing {
  readonly runs: number;
  readonly counts: LifecycleCounts;
  /** Sequence of the last record; 0 when there is none. */
  readonly lastSequence: number;
  /** Digest of every byte before the closing line. */
  readonly digest: string;
}

export interface LifecycleSummary extends LifecycleClosing {
  /** Of the journal in which it happened, which need not be the one that it is in now. */
  readonly journalId: string;
}

/** Counts and digests the lines of a stream; what is written and what is read must come to the same. */
class Tally {
  private readonly counts = Object.fromEntries(LIFECYCLE_TYPES.map((type) => [type, 0])) as Record<
    LifecycleType,
    number
  >;
  private readonly hash = sha256.create();
  private runs = 0;
  private lastSequence = 0;

  /** `line`: without its line feed. It is canonical, so it is ASCII. */
  add(line: string, record: LifecycleRecord | null): void {
    this.hash.update(asciiBytes(`${line}\n`));
    if (record === null) return;
    this.counts[record.event.type] += 1;
    this.lastSequence = record.sequence;
    if (record.sequence === 1) this.runs += 1;
  }

  closing(): LifecycleClosing {
    const { runs, counts, lastSequence } = this;
    let hex = '';
    for (const byte of this.hash.clone().digest()) hex += byte.toString(16).padStart(2, '0');
    return { runs, counts: { ...counts }, lastSequence, digest: `sha256:${hex}` };
  }
}

/** Writes a stream: the header, records run by run (see `exportOrder`), the closing line. Lines come without line feeds. */
export class LifecycleWriter {
  private readonly tally = new Tally();

  constructor(private readonly journalId: string) {}

  header(): string {
    const line = canonicalJson({ schema_version: LIFECYCLE_STREAM_SCHEMA_VERSION, journal_id: this.journalId });
    this.tally.add(line, null);
    return line;
  }

  record(record: LifecycleRecord): string {
    const line = lifecycleToText(record);
    this.tally.add(line, record);
    return line;
  }

  closing(): string {
    return closingToLine(this.tally.closing());
  }
}

export interface LifecycleReaderOptions {
  /** Keys of which receipts must be. @default any key, as long as it made the signature */
  readonly keys?: Jwks;
}

/**
 * Reads a stream line by line, and throws a `Refusal` that names the line. Whoever imports reads all of it with one reader before
 * placing anything, and places with a second one.
 */
export class LifecycleReader {
  private readonly tally = new Tally();
  private readonly seen = new Seen();
  private journalId: string | null = null;
  private run: LifecycleRun | null = null;
  private closing: LifecycleClosing | null = null;
  private lines = 0;

  constructor(private readonly options: LifecycleReaderOptions = {}) {}

  /** `line`: without its line feed. Null for the header and the closing line. */
  take(line: Uint8Array | string): LifecycleRecord | null {
    this.lines += 1;
    try {
      return this.read(line);
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      const reason = fault.field === null ? fault.reason : `${fault.field} ${fault.reason}`;
      throw new Refusal(fault.code, reason, `line ${this.lines}`);
    }
  }

  /** Call when no more lines come. */
  finish(): LifecycleSummary {
    if (this.journalId === null) throw new Refusal('invalid_record', 'is empty; these are no histories', 'stream');
    if (this.closing === null) throw new Refusal('invalid_record', 'has no closing line; it is cut off', 'stream');
    return { journalId: this.journalId, ...this.closing };
  }

  private read(line: Uint8Array | string): LifecycleRecord | null {
    if (line.length === 0) throw new Refusal('invalid_record', 'is blank');
    if (line.length > MAX_LIFECYCLE_LINE_BYTES) throw new Refusal('invalid_record', 'is longer than any record');
    if (this.closing !== null) throw new Refusal('invalid_record', 'stands behind the closing line');
    const text = typeof line === 'string' ? line : asciiText(line);
    if (this.journalId === null) {
      this.journalId = headerFromLine(text);
      this.add(text, new LifecycleWriter(this.journalId).header(), null);
      return null;
    }
    // Fields are sorted, and no record has one before `body`.
    if (text.startsWith('{"counts":')) {
      this.close(text);
      return null;
    }
    const record = lifecycleFromBytes(text);
    this.add(text, lifecycleToText(record), record);
    this.runOf(record).accept(record);
    return record;
  }

  private runOf(record: LifecycleRecord): LifecycleRun {
    if (this.run !== null && this.run.runId === record.runId) return this.run;
    this.run?.end();
    const context = { journalId: this.journalId as string, keys: this.options.keys ?? null };
    this.run = new LifecycleRun(context, this.seen);
    return this.run;
  }

  private close(text: string): void {
    this.run?.end();
    const closing = closingFromLine(text);
    same(text, closingToLine(closing));
    const counted = this.tally.closing();
    if (closing.digest !== counted.digest) {
      throw new Refusal('invalid_record', 'is not of the lines before it; the stream was changed', 'closing.digest');
    }
    if (closingToLine(closing) !== closingToLine(counted)) {
      throw new Refusal('invalid_record', 'counts other records than there are', 'closing');
    }
    this.closing = closing;
  }

  private add(text: string, canonical: string, record: LifecycleRecord | null): void {
    same(text, canonical);
    this.tally.add(text, record);
  }
}

/**
 * In which order runs are exported: a recheck after the run that it rechecks, otherwise by their ids. `source` of a run that is not
 * among them counts as none.
 */
export function exportOrder(
  runs: readonly { readonly runId: string; readonly source: string | null }[],
): readonly string[] {
  const known = new Map(runs.map((run) => [run.runId, run]));
  const order = new Set<string>();
  for (const { runId } of [...known.values()].sort((a, b) => (a.runId < b.runId ? -1 : 1))) {
    const line: string[] = [];
    const seen = new Set<string>();
    for (let at = known.get(runId); at !== undefined && !order.has(at.runId) && !seen.has(at.runId);) {
      seen.add(at.runId);
      line.push(at.runId);
      at = at.source === null ? undefined : known.get(at.source);
    }
    for (const id of line.reverse()) order.add(id);
  }
  return [...order];
}

function headerFromLine(text: string): string {
  return parseRecord(text, 'header', (value) => {
    const at = new Fields(value, 'header');
    at.oneOf('schema_version', [LIFECYCLE_STREAM_SCHEMA_VERSION]);
    const journalId = at.text('journal_id', '"jrn_" and 32 lowercase hex digits', isJournalId);
    at.end();
    return journalId;
  });
}

function closingToLine({ runs, counts, lastSequence, digest }: LifecycleClosing): string {
  return canonicalJson({ runs, counts, last_sequence: lastSequence, digest });
}

function closingFromLine(text: string): LifecycleClosing {
  return parseRecord(text, 'closing', (value) => {
    const at = new Fields(value, 'closing');
    const closing = {
      runs: at.count('runs'),
      counts: countsFrom(at.raw('counts')),
      lastSequence: at.count('last_sequence'),
      digest: digestAt(at, 'digest'),
    };
    at.end();
    return closing;
  });
}

function countsFrom(value: unknown): LifecycleCounts {
  const at = new Fields(value, 'closing.counts');
  const counts = Object.fromEntries(LIFECYCLE_TYPES.map((type) => [type, at.count(type)])) as Record<
    LifecycleType,
    number
  >;
  at.end();
  return counts;
}

function same(text: string, canonical: string): void {
  if (text !== canonical) throw new Refusal('invalid_record', 'is not canonical');
}

/** What is not ASCII is not canonical either, whatever it becomes here. */
function asciiText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

function asciiBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}
