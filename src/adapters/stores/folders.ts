/**
 * The folders of a file store: walked without following links, made private, and durable before anything relies on them.
 *
 * Invariant: when `settle` of `make` has resolved, a power loss cannot take the folder away again, whoever made it; `find`
 * waits for the same. The check for links protects against what was planted earlier; excluding a rival of the same user is
 * the job of mode 0700.
 */
import { chmodSync, lstatSync, mkdirSync, statSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { StoreError } from '../../ports';
import { errnoOf, unsafeEntry } from './file-fault';
import { type FolderSync } from './folder-sync';

const FOLDER_MODE = 0o700;
/** Folders remembered as durable. Forgetting them costs one fsync each. */
const REMEMBERED = 20_000;

export interface MadeFolder {
  readonly path: string;
  /** Makes the folder and every parent of it durable. Not begun earlier: a flush under way holds up whoever makes a file. */
  settle(): Promise<unknown>;
}

export class Folders {
  readonly root: string;
  readonly #syncs: FolderSync;
  readonly #createRoot: boolean;
  readonly #durable = new Set<string>();
  #identity: { readonly dev: bigint; readonly ino: bigint } | undefined;

  constructor(root: string, syncs: FolderSync, createRoot: boolean) {
    this.root = path.resolve(root);
    this.#syncs = syncs;
    this.#createRoot = createRoot;
  }

  /** Full path of the folder, or `null` when it does not exist. Refuses anything on the way that is no real folder. */
  async find(segments: readonly string[]): Promise<string | null> {
    await this.#checkRoot();
    let folder = this.root;
    for (const [depth, segment] of segments.entries()) {
      await this.#syncs.settle(folder);
      folder = path.join(folder, segment);
      if (!isRealFolder(folder, segments, depth)) return null;
    }
    return folder;
  }

  /** Makes the folder with every missing parent. */
  async make(segments: readonly string[]): Promise<MadeFolder> {
    await this.#checkRoot();
    const pending: (readonly [parent: string, folder: string])[] = [];
    let folder = this.root;
    for (const [depth, segment] of segments.entries()) {
      const parent = folder;
      folder = path.join(folder, segment);
      const exists = isRealFolder(folder, segments, depth);
      if (exists && this.#durable.has(folder)) continue;
      if (!exists) makePrivate(folder);
      if (!exists) isRealFolder(folder, segments, depth);
      this.#syncs.owe(parent); // also for a folder found here: its maker may have died before this
      pending.push([parent, folder]);
    }
    return { path: folder, settle: () => Promise.all(pending.map((made) => this.#keep(...made))) };
  }

  async #keep(parent: string, folder: string): Promise<void> {
    await this.#syncs.sync(parent);
    if (this.#durable.size >= REMEMBERED) this.#durable.clear();
    this.#durable.add(folder);
  }

  // A root that vanished or changed (an unmounted disk) must never look like a store in which nothing was written yet.
  async #checkRoot(): Promise<void> {
    if (this.#identity === undefined && this.#createRoot) await makeRoot(this.root, this.#syncs);
    const stat = rootStat(this.root);
    this.#identity ??= { dev: stat.dev, ino: stat.ino };
    if (stat.dev !== this.#identity.dev || stat.ino !== this.#identity.ino) {
      throw new StoreError(
        'store_unavailable',
        'the root folder is not the one that this process opened; check the mount, then start the process again',
      );
    }
  }
}

function isRealFolder(folder: string, segments: readonly string[], depth: number): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return false;
  if (stat.isDirectory()) return true;
  throw unsafeEntry(segments.slice(0, depth + 1).join('/'), stat.isSymbolicLink() ? 'a symbolic link' : 'not a folder');
}

/** Makes one folder with mode 0700. It may be there already when another process is as fast. */
export function makePrivate(folder: string): void {
  try {
    mkdirSync(folder, FOLDER_MODE);
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return;
    throw error;
  }
  if ((lstatSync(folder).mode & FOLDER_MODE) !== FOLDER_MODE) chmodSync(folder, FOLDER_MODE); // the umask took bits away
}

/** Makes a folder with every missing parent, each durable in its own parent. */
export async function makeRoot(folder: string, syncs: FolderSync): Promise<void> {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return;
  const parent = path.dirname(folder);
  if (parent !== folder) await makeRoot(parent, syncs);
  makePrivate(folder);
  await syncs.sync(parent);
}

function rootStat(root: string): BigIntStats {
  const stat = statSync(root, { bigint: true, throwIfNoEntry: false });
  if (stat?.isDirectory()) return stat;
  throw new StoreError(
    'store_unavailable',
    `the root folder ${stat === undefined ? 'does not exist' : 'is not a folder'}; make it or check the mount`,
  );
}
