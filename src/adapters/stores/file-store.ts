/**
 * The store on one machine's filesystem: an entry is a file below the root, and a create is a no-clobber link.
 *
 * Invariant: of all processes on the machine that create one name, exactly one is told `created`; when it is told, the
 * entry survives a power loss; and no reader ever sees a part of an entry. An entry is never opened through a link,
 * and nothing but a regular file is ever opened.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import path from 'node:path';
import { type ContentStore, type CreateOutcome, StoreError } from '../../ports';
import { compareNames, entrySegments, folderSegments, isEntrySegment, RESERVED_SEGMENT } from './entry-path';
import { DEFAULT_MAX_ENTRY_BYTES, tooLarge } from './entry-size';
import { errnoOf, storeFault, unsafeEntry } from './file-fault';
import { Folders, type MadeFolder } from './folders';
import { FolderSync } from './folder-sync';
import { flushTemporary, linkNew, type PublishStep, removeQuietly, writeTemporary } from './publish-file';
import { sweepTemporaries, temporaryName } from './temporary-files';

/** Whether the folder is made, and the limits of its entries. */
export interface FileStoreOptions {
  /** Largest entry that is written or read, in bytes. @default 16 MiB */
  readonly maxEntryBytes?: number;
  /**
   * Make the root when it does not exist. Leave it off in production: a disk that is not mounted must not look like a
   * store in which nothing was ever sent. @default false
   */
  readonly createRoot?: boolean;
  /** @internal Called between the system calls of a create; with the entry when it is `linked`. */
  readonly onStep?: (step: PublishStep, entry?: string) => void;
}

const OPEN_ENTRY = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** A folder that vanishes under a create is made again this often before the create fails. */
const CREATE_ATTEMPTS = 3;

interface Wanted {
  readonly entry: string;
  readonly bytes: Uint8Array;
  readonly segments: readonly string[];
}

interface Staged extends Omit<Wanted, 'segments'> {
  readonly folder: MadeFolder;
  readonly target: string;
  /** Null when the name was taken from the start. */
  readonly temporary: string | null;
  readonly fd: number | null;
  /** Closes the file as well, however it ends. */
  flushed: Promise<void> | null;
}

/** A store in a folder of a local disk, for the processes of one machine. */
export function fileStore(root: string, options: FileStoreOptions = {}): FileStore {
  return new FileStore(root, options);
}

/** The store in a folder; throws a `StoreError`. */
export class FileStore implements ContentStore {
  readonly scope = 'host';
  readonly #maxEntryBytes: number;
  readonly #onStep: FileStoreOptions['onStep'];
  readonly #syncs = new FolderSync();
  readonly #folders: Folders;
  #swept = false;

  constructor(root: string, options: FileStoreOptions = {}) {
    this.#maxEntryBytes = options.maxEntryBytes ?? DEFAULT_MAX_ENTRY_BYTES;
    this.#onStep = options.onStep;
    this.#folders = new Folders(root, this.#syncs, options.createRoot ?? false);
  }

  async create(entry: string, bytes: Uint8Array): Promise<CreateOutcome> {
    const [outcome] = await this.createInOrder([[entry, bytes]]);
    return outcome as CreateOutcome;
  }

  /** The files are flushed side by side, then linked one after the other, then the folders are flushed side by side. */
  async createInOrder(entries: readonly (readonly [string, Uint8Array])[]): Promise<readonly CreateOutcome[]> {
    const wanted = entries.map(([entry, bytes]) => ({ entry, bytes, segments: entrySegments(entry) }));
    for (const { entry, bytes } of wanted)
      if (bytes.length > this.#maxEntryBytes) throw tooLarge(entry, this.#maxEntryBytes);
    for (let attempt = 1; ; attempt += 1) {
      const outcomes = await this.#guard('create', wanted[0]?.entry ?? '', () => this.#createOnce(wanted));
      if (outcomes !== 'vanished') return outcomes;
      if (attempt === CREATE_ATTEMPTS) throw vanished(wanted);
    }
  }

  async read(entry: string): Promise<Uint8Array | null> {
    const segments = entrySegments(entry);
    return this.#guard('read', entry, async () => {
      const folder = await this.#folders.find(segments.slice(0, -1));
      if (folder === null) return null;
      await this.#syncs.settle(folder);
      return this.#readFile(path.join(folder, segments.at(-1) as string), entry);
    });
  }

  async list(prefix: string, after?: string): Promise<readonly string[]> {
    const segments = folderSegments(prefix);
    return this.#guard('list', prefix, async () => {
      const folder = await this.#folders.find(segments);
      if (folder === null) return [];
      await this.#syncs.settle(folder);
      const names: string[] = [];
      for (const item of readdirSync(folder, { withFileTypes: true })) {
        if (!isEntrySegment(item.name) || (segments.length === 0 && item.name === RESERVED_SEGMENT)) continue;
        const name = item.isDirectory() ? `${item.name}/` : item.name;
        if (after === undefined || compareNames(name, after) > 0) names.push(name);
      }
      return names.sort(compareNames);
    });
  }

  async delete(entry: string): Promise<void> {
    const segments = entrySegments(entry);
    return this.#guard('delete', entry, async () => {
      const folder = await this.#folders.find(segments.slice(0, -1));
      if (folder === null) return;
      const file = path.join(folder, segments.at(-1) as string);
      const stat = lstatSync(file, { throwIfNoEntry: false });
      if (stat !== undefined) {
        refuseIrregular(stat, entry);
        if (stat.nlink > 1) await this.#eraseTemporaries(stat);
        unlinkSync(file);
      }
      await this.#syncs.sync(folder); // also when it was gone: the one who removed it may have died before this
    });
  }

  /** `vanished`: a folder or file that stood there a moment ago is gone, so the whole create starts again. */
  async #createOnce(wanted: readonly Wanted[]): Promise<readonly CreateOutcome[] | 'vanished'> {
    const outcomes: CreateOutcome[] = [];
    const linked: Staged[] = [];
    const flushes: Promise<unknown>[] = [];
    const staged: Staged[] = [];
    try {
      // Each of these steps ends before the next begins: whoever makes or links a file while a flush is under way waits for it.
      for (const item of wanted) staged.push(await this.#guard('create', item.entry, () => this.#stage(item)));
      await Promise.all(staged.map((item) => this.#flush(item)));
      for (const item of staged) {
        const outcome = await this.#guard('create', item.entry, () => this.#link(item));
        outcomes.push(outcome);
        if (outcome === 'conflict') break;
        linked.push(item);
      }
      // Also for an identical entry: the process that linked it may have died before this.
      flushes.push(...linked.map((item) => heard(this.#settle(item))));
      await Promise.all(flushes);
      this.#onStep?.('folder_synced');
      return outcomes;
    } catch (fault) {
      if (fault instanceof StoreError && errnoOf(fault.cause) === 'ENOENT') return 'vanished';
      throw fault;
    } finally {
      await Promise.allSettled([...flushes, ...staged.map(({ flushed }) => flushed)]);
      for (const { temporary, fd, flushed } of staged) {
        if (temporary === null) continue;
        if (fd !== null && flushed === null) closeSync(fd);
        removeQuietly(temporary);
        this.#onStep?.('temporary_removed');
      }
    }
  }

  /** Makes the folder, and writes the bytes under a temporary name unless the final one is taken already. */
  async #stage({ entry, bytes, segments }: Wanted): Promise<Staged> {
    const folder = await this.#folders.make(segments.slice(0, -1));
    const target = path.join(folder.path, segments.at(-1) as string);
    const at = { entry, bytes, folder, target, flushed: null };
    if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) return { ...at, temporary: null, fd: null };
    const temporary = path.join(await this.#temporaries(), temporaryName());
    try {
      return { ...at, temporary, fd: await writeTemporary(temporary, bytes, this.#onStep) };
    } catch (fault) {
      removeQuietly(temporary);
      throw fault;
    }
  }

  #flush(item: Staged): Promise<void> | null {
    const { fd, entry } = item;
    if (fd === null) return null;
    item.flushed = heard(this.#guard('create', entry, () => flushTemporary(fd, this.#onStep)));
    return item.flushed;
  }

  async #link({ entry, bytes, folder, target, temporary }: Staged): Promise<CreateOutcome> {
    if (temporary !== null && linkNew(temporary, target)) {
      this.#syncs.owe(folder.path);
      this.#onStep?.('linked', entry);
      return 'created';
    }
    const found = this.#readFile(target, entry);
    if (found === null) throw Object.assign(new Error('deleted since'), { code: 'ENOENT' });
    return Buffer.compare(found, bytes) === 0 ? 'identical' : 'conflict';
  }

  #settle({ entry, folder }: Staged): Promise<unknown> {
    return this.#guard('create', entry, () => Promise.all([this.#syncs.sync(folder.path), folder.settle()]));
  }

  async #temporaries(): Promise<string> {
    const { path: folder, settle } = await this.#folders.make([RESERVED_SEGMENT]);
    await settle();
    if (!this.#swept) sweepTemporaries(folder, Date.now());
    this.#swept = true;
    return folder;
  }

  /** A process killed between link and unlink leaves a second name for the content; erasure takes that too. */
  async #eraseTemporaries(stat: Stats): Promise<void> {
    const folder = await this.#folders.find([RESERVED_SEGMENT]);
    if (folder === null) return;
    for (const name of readdirSync(folder)) {
      const file = path.join(folder, name);
      const other = lstatSync(file, { throwIfNoEntry: false });
      if (other?.ino === stat.ino && other.dev === stat.dev) removeQuietly(file);
    }
    await this.#syncs.sync(folder);
  }

  #readFile(file: string, entry: string): Uint8Array | null {
    const stat = lstatSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return null;
    refuseIrregular(stat, entry); // before opening: to open a device may already do something
    let fd: number;
    try {
      fd = openSync(file, OPEN_ENTRY);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return null;
      throw error;
    }
    try {
      const opened = fstatSync(fd);
      refuseIrregular(opened, entry);
      if (opened.size > this.#maxEntryBytes) throw tooLarge(entry, this.#maxEntryBytes);
      return readAll(fd, opened.size, entry);
    } finally {
      closeSync(fd);
    }
  }

  async #guard<T>(action: string, entry: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw storeFault(error, action, entry);
    }
  }
}

/** The same promise; its failure is reported where it is awaited, not as an unhandled one meanwhile. */
function heard<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

function vanished(wanted: readonly Wanted[]): StoreError {
  return new StoreError(
    'store_unavailable',
    `create of "${wanted[0]?.entry}" failed: its folder keeps vanishing; find out what removes it, then repeat`,
  );
}

function refuseIrregular(stat: Stats, entry: string): void {
  if (stat.isFile()) return;
  if (stat.isSymbolicLink()) throw unsafeEntry(entry, 'a symbolic link');
  throw unsafeEntry(entry, stat.isDirectory() ? 'a folder' : 'not a regular file');
}

function readAll(fd: number, size: number, entry: string): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size;) {
    const count = readSync(fd, bytes, at, size - at, at);
    if (count === 0) {
      throw new StoreError(
        'store_io_failed',
        `"${entry}" shrank while it was read; entries never change, check the disk`,
      );
    }
    at += count;
  }
  return bytes;
}
