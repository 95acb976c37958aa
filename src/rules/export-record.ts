/**
 * The lines of an exported run: a header, one line an entry, and a closing line. Invariant: one export has one text, as every
 * line is canonical JSON in a fixed order; no path leads out of the run that the header names.
 */
import { MAX_CHECKPOINT_BYTES, canonicalJson, isDigest, isRunId, sha256Hex } from './recovery';
import { Fields, parseRecord } from './fields';
import { isJournalId } from './journal-record';

export const EXPORT_SCHEMA_VERSION = 'countersign.export.v1';

/** Journal first, contents after it: in a file, too. */
export const EXPORT_STORES = ['journal', 'contents'] as const;
export type ExportStore = (typeof EXPORT_STORES)[number];

/** Largest entry, in bytes of its text: what a journal, or a content store, takes. */
export const MAX_EXPORT_ENTRY_BYTES: Readonly<Record<ExportStore, number>> = {
  journal: MAX_CHECKPOINT_BYTES,
  contents: 16 * 1024 * 1024,
};
/** Longest line: the largest entry, each of its bytes escaped. */
export const MAX_EXPORT_LINE_BYTES = 6 * MAX_EXPORT_ENTRY_BYTES.contents + 1_024;
export const MAX_EXPORT_ENTRIES = 1_000_000;

export interface ExportHeader {
  readonly journalId: string;
  readonly runId: string;
  /** Whether operations and results are in it. */
  readonly contents: boolean;
}

export interface ExportEntry {
  readonly store: ExportStore;
  readonly path: string;
  readonly text: string;
}

export interface ExportClosing {
  readonly entries: number;
  /** Digest of every byte before the closing line. */
  readonly digest: string;
}

export function headerToLine({ journalId, runId, contents }: ExportHeader): string {
  const fields = { schema_version: EXPORT_SCHEMA_VERSION, journal_id: journalId, run_id: runId, contents };
  return canonicalJson(fields);
}

export function headerFromLine(line: Uint8Array | string): ExportHeader {
  return parseRecord(line, 'export', (value) => {
    const at = new Fields(value, 'export');
    at.oneOf('schema_version', [EXPORT_SCHEMA_VERSION]);
    const header = {
      journalId: at.text('journal_id', '"jrn_" and 32 lowercase hex digits', isJournalId),
      runId: at.text('run_id', 'a run id', isRunId),
      contents: at.flag('contents'),
    };
    at.end();
    return header;
  });
}

export function entryToLine({ store, path, text }: ExportEntry): string {
  return canonicalJson({ store, path, text });
}

export function entryFromLine(line: Uint8Array | string, header: ExportHeader): ExportEntry {
  return parseRecord(line, 'export.entry', (value) => {
    const at = new Fields(value, 'export.entry');
    const store = at.oneOf('store', header.contents ? EXPORT_STORES : ['journal']);
    const path = at.text('path', 'the path of an entry of this run', (text) => isPathOf[store](text, header.runId));
    // A lone half of a surrogate pair has no bytes of its own.
    const text = at.text('text', 'well-formed text', (found) => !/\p{Surrogate}/u.test(found));
    at.end();
    if (store === 'contents' && !isContent(path, text, header.runId))
      at.refuse('is not what its path stands for', 'text');
    return { store, path, text };
  });
}

export function closingToLine({ entries, digest }: ExportClosing): string {
  return canonicalJson({ entries, digest });
}

export function closingFromLine(line: Uint8Array | string): ExportClosing {
  return parseRecord(line, 'export.closing', (value) => {
    const at = new Fields(value, 'export.closing');
    const closing = { entries: at.count('entries'), digest: at.text('digest', 'a sha256 digest', isDigest) };
    at.end();
    return closing;
  });
}

const SEGMENT = /^[A-Za-z0-9._-]{1,200}$/;
const LONGEST_PATH = 800;
/** Nonces and captures are used once in a whole journal. */
const SHARED = /^(?:claims\/[0-9a-f]{64}|captures\/cap_[0-9a-f]{32})\.json$/;
const CONTENT =
  /^(?:(?:operations|results|values|configurations)\/[0-9a-f]{64}|recalled\/idem_[0-9a-f]{64}|launches\/cap_[0-9a-f]{32})$/;
/** Of a document that is checked, or of the call that a launch is. */
const OTHER_SALT = /^salts\/(?:doc_[0-9a-f]{64}|cap_[0-9a-f]{32})$/;
const ANSWER_OF_A_CHECK = /^\.check-[0-9]{1,4}$/;

const isPathOf: Readonly<Record<ExportStore, (path: string, runId: string) => boolean>> = {
  journal: (path, runId) => {
    if (path === 'journal.json' || SHARED.test(path)) return true;
    const [first, ...rest] = path.split('/');
    const named = rest.every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..');
    return first === runId && rest.length > 0 && named && path.length <= LONGEST_PATH;
  },
  contents: (path, runId) => {
    if (path === `salts/${runId}` || CONTENT.test(path) || OTHER_SALT.test(path)) return true;
    const recalled = `recalled/${runId}`;
    return path.startsWith(recalled) && ANSWER_OF_A_CHECK.test(path.slice(recalled.length));
  },
};

/** Most are named by their digest; a call says which run it is. */
function isContent(path: string, text: string, runId: string): boolean {
  const [folder, name] = path.split('/');
  if (folder === 'launches') return text === runId;
  if (folder === 'salts') return /^[0-9a-f]{32,200}$/.test(text);
  return folder === 'recalled' ? isDigest(text) : sha256Hex(text) === name;
}
