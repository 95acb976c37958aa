/**
 * Appends to an anchor log. Invariant: of each size at most one tree is ever signed, whoever is killed at whatever step and however
 * many processes write: a batch is put under the size that it extends before anything follows from it, and all that follows
 * (tiles, then the signed head) is a function of the batches. A process that finds another's batch in its way stops.
 */
import { randomBytes } from 'node:crypto';
import type { ContentStore, Store } from '../ports';
import { batchToText, sizePath, type AnchoredHead, type Batch } from '../rules/anchors/batch';
import { GrowingTree } from '../rules/anchors/growing-tree';
import { lineageHeadFromBytes, lineageHeadToText } from '../rules/anchors/lineage-head';
import { leafHash, sameHash } from '../rules/anchors/merkle';
import { noteToText, signNote, signersOf } from '../rules/anchors/note';
import { verifierToText, type SignerKey } from '../rules/anchors/note-keys';
import { TILE_WIDTH, entriesPath, joinEntries, joinHashes, partialsFolder, tilePath } from '../rules/anchors/tiles';
import { treeHeadFromText, treeHeadToText, type TreeHead } from '../rules/anchors/tree-head';
import { AnchorError } from './anchor-error';
import { KnownHeads, SEGMENT_HEADS, segmentFromBytes, segmentToBytes } from './known-heads';
import { LogEntries, damaged, type NewEntry } from './log-entries';
import { TileReader } from './tile-reader';

/** Moments between two writes, in order; tests end a process at each. */
export const ANCHOR_STEPS = ['batch', 'tiles', 'head', 'published', 'pruned'] as const;
export type AnchorStep = (typeof ANCHOR_STEPS)[number];

export interface LogWriterOptions {
  readonly log: Store;
  readonly journalId: string;
  readonly key: SignerKey;
  /** Makes the newest signed head known where readers look for it; may be behind, never wrong. */
  readonly publish?: ((note: string) => Promise<void>) | undefined;
  /** @internal */
  readonly onStep?: ((step: AnchorStep) => void | Promise<void>) | undefined;
}

/** Written at once; a store may hold them all in memory while it flushes them. */
const MOST_WRITTEN_AT_ONCE = 64;

export class LogWriter {
  readonly known = new KnownHeads();
  readonly #entries: LogEntries;
  readonly #owner = `own_${randomBytes(16).toString('hex')}`;
  #tree = new GrowingTree();
  /** Entries of the bundle that is not full yet. */
  #bundle: Uint8Array[] = [];

  private constructor(private readonly options: LogWriterOptions) {
    this.#entries = new LogEntries(options.log);
  }

  /** Opens a log where it was left, or begins it; what was decided and not carried out is carried out. */
  static async open(options: LogWriterOptions): Promise<LogWriter> {
    const writer = new LogWriter(options);
    await writer.#begin();
    return writer;
  }

  get size(): number {
    return this.#tree.size;
  }

  get head(): TreeHead {
    return { origin: this.options.key.name, size: this.#tree.size, root: this.#tree.root() };
  }

  async append(heads: readonly AnchoredHead[]): Promise<void> {
    const batch: Batch = { owner: this.#owner, size: this.size, heads };
    const path = `batches/${sizePath(batch.size)}`;
    const outcome = await this.options.log.create(path, new TextEncoder().encode(batchToText(batch)));
    if (outcome === 'conflict') throw notAlone();
    await this.#step('batch');
    await this.#carryOut(batch);
  }

  async #begin(): Promise<void> {
    const { journalId, key } = this.options;
    const identity = await this.#entries.identity();
    const size = await this.#entries.latestHead();
    if (identity === null) {
      if (size !== null) throw damaged('log.json', 'is missing');
      await this.#entries.createIdentity({ journalId, key: verifierToText(key) });
    } else if (identity.journalId !== journalId) {
      throw new AnchorError('anchor_wrong_journal', 'this log is that of another journal; each journal has its own');
    } else if (identity.key !== verifierToText(key)) {
      throw new AnchorError('anchor_wrong_key', 'this log is signed by another key; give the one that began it');
    }
    if (size === null) await this.#signHead();
    else await this.#load(size);
    const pending = await this.#entries.batch(this.size);
    const last = await this.#entries.latestBatch();
    if (last !== null && last > this.size) {
      if (((await this.#entries.latestHead()) ?? 0) > this.size) throw notAlone();
      throw damaged(`heads/${sizePath(this.size)}`, 'has lost those after it');
    }
    if (pending !== null) await this.#carryOut(pending);
  }

  async #load(size: number): Promise<void> {
    const { log, key } = this.options;
    const note = await this.#entries.note(size);
    const head = note === null ? null : treeHeadFromText(note.text);
    const path = `heads/${sizePath(size)}`;
    if (note === null || head === null || signersOf(note, [key])?.length !== 1)
      throw damaged(path, 'is not signed by the key');
    const reader = new TileReader(log, size);
    this.#tree = new GrowingTree(size, await reader.edge());
    if (head.size !== size || !sameHash(this.#tree.root(), head.root))
      throw damaged(path, 'is not of the tree in the tiles');
    let from = 0;
    for (; from + SEGMENT_HEADS <= size; from += SEGMENT_HEADS) await this.#loadSegment(reader, from);
    await this.#learn(reader, from, size);
    if (size % TILE_WIDTH !== 0) this.#bundle = [...(await reader.entries(Math.floor(size / TILE_WIDTH)))];
    await this.options.publish?.(noteToText(note));
  }

  async #loadSegment(reader: TileReader, from: number): Promise<void> {
    const bytes = await this.options.log.read(segmentPath(from));
    const rows = bytes === null ? null : segmentFromBytes(bytes);
    if (rows !== null) this.known.load(rows);
    else await this.#learn(reader, from, from + SEGMENT_HEADS);
  }

  /** From the entries themselves, each only if it is the one of its hash. */
  async #learn(reader: TileReader, from: number, to: number): Promise<void> {
    for (let index = Math.floor(from / TILE_WIDTH); index * TILE_WIDTH < to; index += 1) {
      const hashes = await reader.tile(0, index);
      const entries = await reader.entries(index);
      entries.forEach((entry, place) => {
        if (!sameHash(leafHash(entry), hashes[place] as Uint8Array))
          throw damaged('tile/entries', 'do not have the hashes');
        this.#know(lineageHeadFromBytes(entry));
      });
    }
    this.known.takeSegment();
  }

  #know({ runId, lineage, sequence }: AnchoredHead): void {
    this.known.set(runId, lineage, sequence);
  }

  /** From a batch that is durable to the signed head of the tree with it. Every step may be done again. */
  async #carryOut(batch: Batch): Promise<void> {
    const { journalId } = this.options;
    let written: NewEntry[] = [];
    const full: string[] = [];
    const add = async (entry: NewEntry): Promise<void> => {
      written.push(entry);
      if (written.length < MOST_WRITTEN_AT_ONCE) return;
      await this.#entries.create(written);
      written = [];
    };
    const addFull = async (path: string, bytes: Uint8Array): Promise<void> => {
      full.push(path);
      await add([path, bytes]);
    };
    for (const head of batch.heads) {
      const entry = new TextEncoder().encode(lineageHeadToText({ journalId, ...head }));
      const index = Math.floor(this.size / TILE_WIDTH);
      this.#bundle.push(entry);
      this.#know(head);
      const filled = this.#tree.append(leafHash(entry));
      if (this.#bundle.length === TILE_WIDTH) {
        await addFull(entriesPath({ index, width: TILE_WIDTH }), joinEntries(this.#bundle));
        this.#bundle = [];
      }
      for (const { tile, hashes } of filled) await addFull(tilePath(tile), joinHashes(hashes));
      const rows = this.known.takeSegment();
      if (rows !== null) await add([segmentPath(this.size - SEGMENT_HEADS), segmentToBytes(rows)]);
    }
    const width = this.#bundle.length;
    if (width > 0) {
      await add([entriesPath({ index: Math.floor(this.size / TILE_WIDTH), width }), joinEntries(this.#bundle)]);
    }
    for (const { tile, hashes } of this.#tree.partials()) await add([tilePath(tile), joinHashes(hashes)]);
    await this.#entries.create(written);
    await this.#step('tiles');
    await this.#signHead();
    await this.#prune(full);
  }

  async #signHead(): Promise<void> {
    const { key, publish } = this.options;
    const text = treeHeadToText(this.head);
    const note = noteToText({ text, signatures: [signNote(text, key)] });
    // The name is the guard: a head of this size that says anything else makes this fail.
    await this.#entries.create([[`heads/${sizePath(this.size)}`, new TextEncoder().encode(note)]]);
    await this.#step('head');
    await publish?.(note);
    await this.#step('published');
  }

  /** The full form says all that the partial ones said. A store that cannot remove keeps them. */
  async #prune(full: readonly string[]): Promise<void> {
    const { log } = this.options;
    if (!canDelete(log)) return;
    for (const path of full) {
      const folder = partialsFolder(path);
      for (const name of await log.list(folder)) await log.delete(`${folder}/${name}`);
    }
    await this.#step('pruned');
  }

  async #step(step: AnchorStep): Promise<void> {
    await this.options.onStep?.(step);
  }
}

function notAlone(): AnchorError {
  return new AnchorError('anchor_not_alone', 'another process appends to this log; one is enough, so this one stops');
}

function segmentPath(from: number): string {
  return `segments/${String(from / SEGMENT_HEADS).padStart(6, '0')}`;
}

function canDelete(store: Store): store is ContentStore {
  return typeof (store as Partial<ContentStore>).delete === 'function';
}
