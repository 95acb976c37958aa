/**
 * How a folder of checkpoint files is read, whatever holds it.
 */
import { type RecoveryCheckpoint } from './checkpoint';
import { type RetiredJournalRecord } from './retired-record';

export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

type Awaitable<T> = T | PromiseLike<T>;

/** The little that reading needs of a folder. Any of these may throw: that becomes the closed code of that step. */
export interface CheckpointFolderView {
  names(): Awaitable<readonly string[]>;
  /** Without following links. */
  entryKind(name: string): Awaitable<EntryKind>;
  size(name: string): Awaitable<number>;
  read(name: string): Awaitable<Uint8Array>;
}

export interface CheckpointFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly checkpoint: RecoveryCheckpoint;
}

export type CheckpointFolder =
  | { readonly state: 'retired'; readonly record: RetiredJournalRecord }
  /** Every file in order. What was yielded holds only if the iteration ends without an error. */
  | { readonly state: 'lineage'; readonly count: number; readonly files: AsyncIterable<CheckpointFile> };

/** `checkpoint-00000000000000000007.json` */
export function checkpointFileName(_sequence: bigint): string {
  throw new Error('not built');
}

/** Lists the folder and refuses unknown names. A retired folder is answered at once. */
export function openCheckpointFolder(_view: CheckpointFolderView): Promise<CheckpointFolder> {
  throw new Error('not built');
}

/** The whole lineage (empty for an empty folder), or the record that replaced it. */
export function readCheckpointFolder(
  _view: CheckpointFolderView,
): Promise<readonly RecoveryCheckpoint[] | RetiredJournalRecord> {
  throw new Error('not built');
}
