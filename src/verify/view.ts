/**
 * The little that verifying needs of what it verifies. Invariant: it only ever reads; a view of a plain folder needs no
 * permission to write and follows no link.
 */
import { StoreError, type StoreErrorCode } from '../ports';
import { MAX_CHECKPOINT_BYTES, type CheckpointFolderView, type EntryKind } from '../rules/recovery';
import type { FindingCode, Findings } from './findings';

const OF_THE_ENTRY: readonly StoreErrorCode[] = ['store_unsafe_entry', 'store_entry_too_large'];

type Awaitable<T> = T | PromiseLike<T>;

export interface Entry {
  readonly name: string;
  readonly kind: EntryKind;
}

export interface JournalView {
  /** What stands directly in a folder (`''` for the top), in any order; null when there is no such folder. */
  list(folder: string): Awaitable<readonly Entry[] | null>;
  /** The bytes of one entry; more than `MAX_CHECKPOINT_BYTES` need not be read to their end. */
  read(path: string): Awaitable<Uint8Array>;
  checkpoints(folder: string): CheckpointFolderView;
}

export function joined(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** The bytes of a regular file that may stand in a journal; otherwise null, and a finding. */
export async function readEntry(
  view: JournalView,
  findings: Findings,
  folder: string,
  entry: Entry,
): Promise<Uint8Array | null> {
  const path = joined(folder, entry.name);
  const bytes = entry.kind === 'file' ? await attempt(() => view.read(path)) : null;
  if (bytes !== null && bytes.length <= MAX_CHECKPOINT_BYTES) return bytes;
  findings.add('entry_unreadable', path, entry.kind === 'file' ? null : entry.kind);
  return null;
}

/** A record read from an entry, or null and a finding of `code`. Notes bytes that are not the record's own text. */
export async function readRecord<T>(
  at: { readonly view: JournalView; readonly findings: Findings },
  code: Extract<FindingCode, `${string}_invalid` | 'lineage_unopened'>,
  folder: string,
  entry: Entry,
  format: { readonly read: (bytes: Uint8Array) => T; readonly text: (record: T) => string },
): Promise<T | null> {
  const bytes = await readEntry(at.view, at.findings, folder, entry);
  if (bytes === null) return null;
  const path = joined(folder, entry.name);
  try {
    const record = format.read(bytes);
    if (!sameText(bytes, format.text(record))) at.findings.add('not_canonical', path);
    return record;
  } catch (fault) {
    at.findings.add(code, path, fieldOf(fault));
    return null;
  }
}

export function sameText(bytes: Uint8Array, text: string): boolean {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) === text;
}

/** Where our own readers refused: the path of a field, as in `slot.epoch`. */
function fieldOf(fault: unknown): string | null {
  const field = fault instanceof Error ? (fault as { field?: unknown }).field : null;
  return typeof field === 'string' ? field : null;
}

/** A store that does not answer says nothing about an entry, so it is no finding. */
export function throwOutage(fault: unknown): void {
  if (fault instanceof StoreError && !OF_THE_ENTRY.includes(fault.code)) throw fault;
}

async function attempt<T>(step: () => Awaitable<T>): Promise<T | null> {
  try {
    return await step();
  } catch (fault) {
    throwOutage(fault);
    return null;
  }
}
