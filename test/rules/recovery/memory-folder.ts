/**
 * A folder of checkpoint files in memory, with the faults that a real one can have.
 */
import {
  type CheckpointFolderView,
  type EntryKind,
  RecoveryCheckpoint,
  checkpointFileName,
} from '../../../src/rules/recovery';

export interface MemoryEntry {
  readonly kind?: EntryKind;
  readonly text?: string;
  /** What the folder says before reading; the length of the text when absent. */
  readonly size?: number;
  readonly unreadable?: 'kind' | 'size' | 'bytes';
}

export function folderOf(entries: Readonly<Record<string, MemoryEntry>>): CheckpointFolderView {
  const entry = (name: string): MemoryEntry => entries[name] as MemoryEntry;
  const failing = <T>(name: string, step: MemoryEntry['unreadable'], value: T): T => {
    if (entry(name).unreadable === step) throw new Error('EIO');
    return value;
  };
  return {
    names: () => Object.keys(entries),
    entryKind: (name) => failing(name, 'kind', entry(name).kind ?? 'file'),
    size: (name) => failing(name, 'size', entry(name).size ?? (entry(name).text ?? '').length),
    // Asynchronous, as a real one may be.
    read: async (name) => failing(name, 'bytes', new TextEncoder().encode(entry(name).text ?? '')),
  };
}

export function filesOf(lineage: readonly RecoveryCheckpoint[]): Record<string, MemoryEntry> {
  return Object.fromEntries(
    lineage.map((checkpoint) => [
      checkpointFileName(checkpoint.sequence),
      { text: RecoveryCheckpoint.toJson(checkpoint) },
    ]),
  );
}
