/**
 * How a folder of checkpoint files is read, whatever holds it. Invariant: every reader of the same folder comes to the
 * same answer, with the same `field: code`: nothing unknown may stand in it, and a file that cannot be read outranks a
 * lineage that does not fit.
 */
import { isCanonicalCheckpoint, isCheckpoint, RecoveryCheckpoint } from './checkpoint';
import { RecoveryError, refuse, type RecoveryErrorCode } from './errors';
import { MAX_CHECKPOINT_BYTES } from './limits';
import { validateSuccessor } from './lineage';
import { RetiredJournalRecord } from './retired-record';

export type EntryKind = 'file' | 'directory' | 'symlink' | 'other';

type Awaitable<T> = T | PromiseLike<T>;

/** The little that reading needs of a folder. What one of these throws becomes the closed code of that step. */
export interface CheckpointFolderView {
  names(): Awaitable<readonly string[]>;
  /** Without following links. */
  entryKind(name: string): Awaitable<EntryKind>;
  /** In bytes. */
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

export interface OpenFolderOptions {
  /**
   * May name a checkpoint that was come by in another way, say derived from `previous`. If the file holds exactly its bytes,
   * they are not read and hashed once more; otherwise the suggestion is forgotten.
   */
  readonly recognise?: (bytes: Uint8Array, previous: RecoveryCheckpoint | null) => Awaitable<RecoveryCheckpoint | null>;
}

export const RETIRED_FILE_NAME = 'retired.json';
export const JOURNAL_LOCK_NAME = '.journal-lock';
/** Whatever begins like this is the leftover of an interrupted append, and ignored. */
export const TEMPORARY_PREFIX = '.checkpoint-';
const CHECKPOINT_NAME = /^checkpoint-([0-9]{20})\.json$/;

/** `checkpoint-00000000000000000007.json` */
export function checkpointFileName(sequence: bigint): string {
  return `checkpoint-${sequence.toString().padStart(20, '0')}.json`;
}

/** The codes of the three ways in which reading one file can fail. */
interface FileCodes {
  readonly unsafe: RecoveryErrorCode;
  readonly tooLarge: RecoveryErrorCode;
  readonly failed: RecoveryErrorCode;
}
const CHECKPOINT_CODES: FileCodes = {
  unsafe: 'unsafe_checkpoint_file',
  tooLarge: 'checkpoint_too_large',
  failed: 'checkpoint_read_failed',
};
const RETIRED_CODES: FileCodes = {
  unsafe: 'unsafe_retired_file',
  tooLarge: 'retired_record_too_large',
  failed: 'retired_read_failed',
};

/** Lists the folder and refuses unknown names. When the folder is retired, nothing else in it is looked at. */
export async function openCheckpointFolder(
  view: CheckpointFolderView,
  options: OpenFolderOptions = {},
): Promise<CheckpointFolder> {
  const names = await attempt(() => view.names(), 'journal_unreadable');
  if (names.includes(RETIRED_FILE_NAME)) {
    const bytes = await readEntry(view, RETIRED_FILE_NAME, RETIRED_CODES);
    return { state: 'retired', record: RetiredJournalRecord.fromJson(bytes) };
  }
  const checkpoints: string[] = [];
  for (const name of names) {
    if (CHECKPOINT_NAME.test(name)) checkpoints.push(name);
    else if (name !== JOURNAL_LOCK_NAME && !name.startsWith(TEMPORARY_PREFIX)) {
      refuse('journal', 'unexpected_journal_entry');
    }
  }
  // With a fixed number of digits the order of names is the order of numbers.
  checkpoints.sort();
  return { state: 'lineage', count: checkpoints.length, files: streamFiles(view, checkpoints, options) };
}

/** The whole lineage (empty for an empty folder), or the record that replaced it. */
export async function readCheckpointFolder(
  view: CheckpointFolderView,
): Promise<readonly RecoveryCheckpoint[] | RetiredJournalRecord> {
  const folder = await openCheckpointFolder(view);
  if (folder.state === 'retired') return folder.record;
  const lineage: RecoveryCheckpoint[] = [];
  for await (const { checkpoint } of folder.files) lineage.push(checkpoint);
  return lineage;
}

/** Holds two checkpoints at a time. After a lineage fault it reads on, for a later file that cannot be read. */
async function* streamFiles(
  view: CheckpointFolderView,
  names: readonly string[],
  { recognise }: OpenFolderOptions,
): AsyncGenerator<CheckpointFile> {
  let previous: RecoveryCheckpoint | null = null;
  let lineageFault: RecoveryError | null = null;
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    if (name !== checkpointFileName(BigInt(index))) refuse('journal', 'checkpoint_sequence_gap');
    const before: RecoveryCheckpoint | null = previous;
    const bytes = await readEntry(view, name, CHECKPOINT_CODES);
    const suggested = recognise === undefined ? null : await recognise(bytes, before);
    const checkpoint: RecoveryCheckpoint =
      suggested !== null && isCheckpoint(suggested) && isCanonicalCheckpoint(bytes, suggested)
        ? suggested
        : RecoveryCheckpoint.fromJson(bytes, { known: before });
    if (name !== checkpointFileName(checkpoint.sequence)) refuse('journal', 'checkpoint_filename_mismatch');
    lineageFault ??= faultOf(() => validateSuccessor(before, checkpoint, index));
    if (lineageFault === null) yield { name, bytes, checkpoint };
    previous = checkpoint;
  }
  if (lineageFault !== null) throw lineageFault;
}

function faultOf(check: () => void): RecoveryError | null {
  try {
    check();
    return null;
  } catch (fault) {
    if (fault instanceof RecoveryError) return fault;
    throw fault;
  }
}

async function readEntry(view: CheckpointFolderView, name: string, codes: FileCodes): Promise<Uint8Array> {
  const kind = await attempt(() => view.entryKind(name), codes.failed);
  if (kind !== 'file') refuse('journal', codes.unsafe);
  const size = await attempt(() => view.size(name), codes.failed);
  if (size > MAX_CHECKPOINT_BYTES) refuse('journal', codes.tooLarge);
  const bytes = await attempt(() => view.read(name), codes.failed);
  if (bytes.length > MAX_CHECKPOINT_BYTES) refuse('journal', codes.tooLarge);
  return bytes;
}

/** A view may refuse with a code of its own; any other fault becomes the code of the step. */
async function attempt<T>(step: () => Awaitable<T>, code: RecoveryErrorCode): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    if (cause instanceof RecoveryError) throw cause;
    throw new RecoveryError(code, 'journal', { cause });
  }
}
