/**
 * Durability of folders: one fsync at a time for each folder, shared by everyone who waits for it.
 *
 * Invariant: `sync` resolves only after an fsync that *started* after the call. From `owe` on, until an fsync that started later
 * has succeeded, `settle` keeps everyone in this process from taking what stands in the folder for durable.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { fsyncFile } from './publish-file';

interface Turn {
  readonly running: Promise<void>;
  next: Promise<void> | null;
}

const OPEN_FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0);

export class FolderSync {
  readonly #turns = new Map<string, Turn>();
  readonly #owed = new Set<string>();
  readonly #flush: (folder: string) => Promise<void>;

  constructor(flush: (folder: string) => Promise<void> = fsyncFolder) {
    this.#flush = flush;
  }

  /** Makes durable what the folder holds now. */
  sync(folder: string): Promise<void> {
    const turn = this.#turns.get(folder);
    if (turn === undefined) return this.#start(folder);
    // The running fsync may have started before the caller's change: wait for it, then share the next one.
    const start = (): Promise<void> => this.#start(folder);
    return (turn.next ??= turn.running.then(start, start));
  }

  /** Says that something was just put into the folder; whoever did syncs it in a moment. */
  owe(folder: string): void {
    this.#owed.add(folder);
  }

  /** Waits until what this process put into the folder is durable; nothing to wait for when it is already. */
  settle(folder: string): Promise<void> | undefined {
    return this.#turns.has(folder) || this.#owed.has(folder) ? this.sync(folder) : undefined;
  }

  #start(folder: string): Promise<void> {
    this.#owed.delete(folder);
    const running = this.#flush(folder).then(
      () => this.#end(folder),
      (error: unknown) => {
        this.#owed.add(folder);
        this.#end(folder);
        throw error;
      },
    );
    this.#turns.set(folder, { running, next: null });
    return running;
  }

  #end(folder: string): void {
    if (this.#turns.get(folder)?.next === null) this.#turns.delete(folder);
  }
}

async function fsyncFolder(folder: string): Promise<void> {
  const fd = openSync(folder, OPEN_FOLDER);
  try {
    await fsyncFile(fd);
  } finally {
    closeSync(fd);
  }
}
