/**
 * Hashes and entries of a log's tree of one size, from its tiles. Invariant: a hash is only as good as its tile: who needs to
 * believe it proves it against a signed root.
 */
import type { Store } from '../ports';
import { HASH_BYTES, emptyRoot, splitOf } from '../rules/anchors/merkle';
import { consistencySubtrees, inclusionSubtrees, type Subtree } from '../rules/anchors/proofs';
import { TILE_WIDTH, entriesPath, entryIn, splitEntries, tileAt, tilePath } from '../rules/anchors/tiles';
import { HeldTile, HeldTiles } from './held-tiles';
import { damaged } from './log-entries';
import { fastNodeHash } from './native-hash';

const TILE_HEIGHT = 8;

export class TileReader {
  constructor(
    private readonly store: Store,
    readonly size: number,
    /** May be shared by readers of one store: what a name stands for never changes. */
    private readonly held = new HeldTiles(),
  ) {}

  root(): Promise<Uint8Array> {
    return this.size === 0 ? Promise.resolve(emptyRoot()) : this.hash({ from: 0, to: this.size });
  }

  inclusionProof(index: number): Promise<readonly Uint8Array[]> {
    return this.#hashes(inclusionSubtrees(index, this.size));
  }

  /** That this tree continues its own first `older` leaves. */
  consistencyProof(older: number): Promise<readonly Uint8Array[]> {
    return this.#hashes(consistencySubtrees(older, this.size));
  }

  async hash({ from, to }: Subtree): Promise<Uint8Array> {
    const height = heightOf(to - from);
    if (height === null || from % (to - from) !== 0) {
      const middle = from + splitOf(to - from);
      return fastNodeHash(await this.hash({ from, to: middle }), await this.hash({ from: middle, to }));
    }
    const level = Math.floor(height / TILE_HEIGHT);
    const first = from / TILE_WIDTH ** level;
    const count = 2 ** (height % TILE_HEIGHT);
    const tile = await this.#tile(level, Math.floor(first / TILE_WIDTH));
    return tile.root(first % TILE_WIDTH, count);
  }

  /** For each level the hashes of its partial tile: what a tree needs to grow on. */
  async edge(): Promise<readonly (readonly Uint8Array[])[]> {
    const edge: (readonly Uint8Array[])[] = [];
    for (let level = 0; TILE_WIDTH ** level <= this.size; level += 1) {
      const hashes = Math.floor(this.size / TILE_WIDTH ** level);
      edge.push(hashes % TILE_WIDTH === 0 ? [] : await this.tile(level, Math.floor(hashes / TILE_WIDTH)));
    }
    return edge;
  }

  async tile(level: number, index: number): Promise<readonly Uint8Array[]> {
    return (await this.#tile(level, index)).hashes();
  }

  async #tile(level: number, index: number): Promise<HeldTile> {
    const tile = tileAt(level, index, this.size);
    if (tile === null) throw new RangeError('the tree has no such tile');
    const path = tilePath(tile);
    const held = this.held.get(path);
    if (held !== null) return held;
    const bytes = await this.#bytes(path, tilePath({ ...tile, width: TILE_WIDTH }));
    if (bytes.length !== tile.width * HASH_BYTES && bytes.length !== TILE_WIDTH * HASH_BYTES) {
      throw damaged(path, 'does not hold its hashes');
    }
    return this.held.hold(path, new HeldTile(bytes, tile.width));
  }

  async entry(index: number): Promise<Uint8Array> {
    const { path, bytes } = await this.#bundle(Math.floor(index / TILE_WIDTH));
    const entry = entryIn(bytes, index % TILE_WIDTH);
    if (entry === null) throw damaged(path, 'does not hold its entries');
    return entry;
  }

  /** The entries of one bundle: those from 256 times `index`. */
  async entries(index: number): Promise<readonly Uint8Array[]> {
    const { path, bytes, width } = await this.#bundle(index);
    const entries = splitEntries(bytes, width) ?? splitEntries(bytes, TILE_WIDTH)?.slice(0, width);
    if (entries === undefined) throw damaged(path, 'does not hold its entries');
    return entries;
  }

  async #bundle(index: number): Promise<{ path: string; bytes: Uint8Array; width: number }> {
    const tile = tileAt(0, index, this.size);
    if (tile === null) throw new RangeError('the log has no such entries');
    const path = entriesPath(tile);
    const bytes = await this.#bytes(path, entriesPath({ index, width: TILE_WIDTH }));
    return { path, bytes, width: tile.width };
  }

  async #hashes(subtrees: readonly Subtree[]): Promise<readonly Uint8Array[]> {
    const hashes: Uint8Array[] = [];
    for (const subtree of subtrees) hashes.push(await this.hash(subtree));
    return hashes;
  }

  /** A partial form may be gone once the full one is there. */
  async #bytes(path: string, full: string): Promise<Uint8Array> {
    const bytes = (await this.store.read(path)) ?? (path === full ? null : await this.store.read(full));
    if (bytes === null) throw damaged(path, 'is missing');
    return bytes;
  }
}

/** Null unless the width is a power of two. */
function heightOf(width: number): number | null {
  const height = Math.round(Math.log2(width));
  return 2 ** height === width ? height : null;
}
