/**
 * Reading an exported run. Invariant: nothing of a file is believed before all of it was read once and its digest fits; a line is
 * never longer than the largest entry needs, and only paths are kept in memory, so no file can exhaust it.
 */
import { createHash } from 'node:crypto';
import { runKind } from '../activities/run-kind';
import { isSession } from '../activities/session-files';
import type { Store } from '../ports';
import {
  MAX_EXPORT_ENTRIES,
  MAX_EXPORT_ENTRY_BYTES,
  MAX_EXPORT_LINE_BYTES,
  closingFromLine,
  closingToLine,
  entryFromLine,
  entryToLine,
  headerFromLine,
  headerToLine,
  type ExportEntry,
  type ExportHeader,
} from '../rules/export-record';
import { journalIdFromBytes } from '../rules/journal-record';
import { Refusal } from '../rules/refusal';
import { ExportedStore, type Span } from './exported-store';
import { linesOf, refusedLine, type ByteSource, type Line } from './lines';

export type { ByteSource } from './lines';

export interface ExportedRun extends ExportHeader {
  readonly digest: string;
  readonly entries: number;
  /** Read only. */
  readonly journal: Store;
  /** Null when contents were not exported. */
  readonly store: Store | null;
}

/** Throws `Refusal` at the first line that is not as an export writes it. */
export async function readExport(source: ByteSource): Promise<ExportedRun> {
  const reading = new Reading(source);
  for await (const line of linesOf(source, MAX_EXPORT_LINE_BYTES)) reading.take(line);
  return reading.finish();
}

/** What was read so far. */
class Reading {
  private header: ExportHeader | null = null;
  private last: ExportEntry | null = null;
  private closed: string | null = null;
  private entries = 0;
  private readonly hash = createHash('sha256');
  private readonly stores;

  constructor(source: ByteSource) {
    const text = async (span: Span): Promise<string> => {
      const bytes = await source.read(span.offset, span.length);
      return entryFromLine(bytes.subarray(0, -1), this.must()).text;
    };
    this.stores = { journal: new ExportedStore(text), contents: new ExportedStore(text) };
  }

  take(line: Line): void {
    try {
      if (this.closed !== null) throw new Refusal('invalid_record', 'stands behind the closing line');
      this.read(line);
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      throw refusedLine(line.number, fault.field === null ? fault.reason : `${fault.field} ${fault.reason}`);
    }
  }

  async finish(): Promise<ExportedRun> {
    const { closed, entries, stores } = this;
    const header = this.must();
    if (closed === null) throw new Refusal('invalid_record', 'has no closing line; the file is cut off', 'export');
    const { journal, contents } = stores;
    const { runId } = header;
    const isThere = (await runKind(journal, runId)) !== null || isSession(await journal.list(runId));
    if (!journal.holds('journal.json') || !isThere) {
      throw new Refusal('invalid_record', 'lacks journal.json or its run', 'export');
    }
    return { ...header, digest: closed, entries, journal, store: header.contents ? contents : null };
  }

  private must(): ExportHeader {
    if (this.header !== null) return this.header;
    throw new Refusal('invalid_record', 'is empty; this is no exported run', 'export');
  }

  private read(line: Line): void {
    const bytes = line.bytes.subarray(0, -1);
    if (this.header === null) {
      this.header = headerFromLine(bytes);
      this.same(bytes, headerToLine(this.header));
    } else if (isClosing(bytes)) {
      const closing = closingFromLine(bytes);
      this.same(bytes, closingToLine(closing));
      if (closing.entries !== this.entries) throw new Refusal('invalid_record', 'counts other entries than there are');
      const digest = `sha256:${this.hash.digest('hex')}`;
      if (closing.digest !== digest)
        throw new Refusal('invalid_record', 'is not of the lines before it; the file was changed');
      this.closed = digest;
      return;
    } else this.keep(entryFromLine(bytes, this.header), line, bytes);
    this.hash.update(line.bytes);
  }

  private keep(entry: ExportEntry, line: Line, bytes: Uint8Array): void {
    this.same(bytes, entryToLine(entry));
    const { last } = this;
    const inOrder = last === null || (last.store === entry.store ? last.path < entry.path : last.store === 'journal');
    if (!inOrder) throw new Refusal('invalid_record', 'is out of order, or there twice', 'export.entry.path');
    const content = new TextEncoder().encode(entry.text);
    if (content.length > MAX_EXPORT_ENTRY_BYTES[entry.store]) {
      throw new Refusal('invalid_record', 'is larger than its store takes', 'export.entry.text');
    }
    if (entry.path === 'journal.json' && journalIdFromBytes(content) !== this.header?.journalId) {
      throw new Refusal('invalid_record', 'is that of another journal than the first line names', 'journal.json');
    }
    this.entries += 1;
    if (this.entries > MAX_EXPORT_ENTRIES) throw new Refusal('invalid_record', 'is one entry more than is read');
    if (!this.stores[entry.store].add(entry.path, { offset: line.offset, length: line.length })) {
      throw new Refusal('invalid_record', 'is a folder elsewhere', 'export.entry.path');
    }
    this.last = entry;
  }

  /** One export has one text. */
  private same(bytes: Uint8Array, text: string): void {
    if (bytes.length !== text.length || new TextDecoder('latin1').decode(bytes) !== text) {
      throw new Refusal('invalid_record', 'is not canonical');
    }
  }
}

/** Told apart by its first field: fields are sorted, and no entry has one before `path`. */
function isClosing(bytes: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(bytes.subarray(0, 10)) === '{"digest":';
}
