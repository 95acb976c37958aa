/**
 * The checkpoint files of one lineage, read over a store. Invariant: what comes back is whole and valid by the recovery contract; a
 * lineage that is retired while it is read is read as retired; and a store that does not answer says nothing about the journal.
 */
import { StoreError } from '../ports';
import {
  RETIRED_FILE_NAME,
  RecoveryError,
  openCheckpointFolder,
  type CheckpointFolderView,
  type RecoveryCheckpoint,
  type RetiredJournalRecord,
} from '../rules/recovery';
import type { Entries } from './entries';

/** Throws `RecoveryError`, or the store's own fault where another try may not meet it. */
export async function readChain(
  entries: Entries,
  folder: string,
  ofRetired: (record: RetiredJournalRecord) => Promise<readonly RecoveryCheckpoint[]>,
  again = true,
): Promise<readonly RecoveryCheckpoint[]> {
  try {
    const opened = await openCheckpointFolder(viewOf(entries, folder));
    if (opened.state === 'retired') return await ofRetired(opened.record);
    const chain: RecoveryCheckpoint[] = [];
    for await (const file of opened.files) chain.push(file.checkpoint);
    return chain;
  } catch (fault) {
    // It may have been retired while it was read: then its record is there, and says all.
    if (again && (await isRetired(entries, folder))) return readChain(entries, folder, ofRetired, false);
    throw fault instanceof RecoveryError && isPassing(fault.cause) ? fault.cause : fault;
  }
}

async function isRetired(entries: Entries, folder: string): Promise<boolean> {
  return (await entries.bytes(`${folder}/${RETIRED_FILE_NAME}`).catch(() => null)) !== null;
}

function viewOf(entries: Entries, folder: string): CheckpointFolderView {
  const sizes = new Map<string, Uint8Array>();
  let kinds = new Map<string, 'file' | 'directory'>();
  const read = async (name: string): Promise<Uint8Array> => {
    const bytes = sizes.get(name) ?? (await entries.mustRead(`${folder}/${name}`, (whole) => whole));
    sizes.delete(name);
    return bytes;
  };
  return {
    names: async () => {
      const listed = await entries.list(folder);
      kinds = new Map(listed.map((name) => [name.replace(/\/$/, ''), name.endsWith('/') ? 'directory' : 'file']));
      return [...kinds.keys()];
    },
    entryKind: (name) => kinds.get(name) ?? 'other',
    size: async (name) => {
      const bytes = await read(name);
      sizes.set(name, bytes);
      return bytes.length;
    },
    read,
  };
}

/** A store's fault that another try may not meet; one that speaks of the entry itself stays with the journal. */
function isPassing(cause: unknown): cause is StoreError {
  return cause instanceof StoreError && cause.code !== 'store_unsafe_entry' && cause.code !== 'store_entry_too_large';
}
