/**
 * A tree that only grows, by its right edge. Invariant: it holds at most 255 hashes a level, whatever its size, and these are
 * exactly its partial tiles; a tile is handed out once, when it is full, and never changes after that.
 */
import { emptyRoot, nodeHash, rootOf } from './merkle';
import { TILE_WIDTH, type Tile } from './tiles';

export interface FilledTile {
  readonly tile: Tile;
  readonly hashes: readonly Uint8Array[];
}

export class GrowingTree {
  #size: number;
  /** Of each level, the hashes of its partial tile. */
  readonly #edge: Uint8Array[][];

  /** `edge`: for each level the hashes of the partial tile that a tree of `size` has there. */
  constructor(size = 0, edge: readonly (readonly Uint8Array[])[] = []) {
    this.#size = size;
    this.#edge = edge.map((hashes) => [...hashes]);
    edge.forEach((hashes, level) => {
      if (hashes.length !== Math.floor(size / TILE_WIDTH ** level) % TILE_WIDTH) throw unfit();
    });
    if (size >= TILE_WIDTH ** edge.length) throw unfit();
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a leaf by its hash; answers the tiles that it filled, lowest level first. */
  append(leaf: Uint8Array): readonly FilledTile[] {
    const filled: FilledTile[] = [];
    let hash = leaf;
    this.#size += 1;
    for (let level = 0; ; level += 1) {
      const hashes = (this.#edge[level] ??= []);
      hashes.push(hash);
      if (hashes.length < TILE_WIDTH) return filled;
      const index = this.#size / TILE_WIDTH ** (level + 1) - 1;
      filled.push({ tile: { level, index, width: TILE_WIDTH }, hashes });
      hash = rootOf(hashes);
      this.#edge[level] = [];
    }
  }

  /** The partial tiles of the tree as it is. */
  partials(): readonly FilledTile[] {
    return this.#edge.flatMap((hashes, level) => {
      const index = Math.floor(this.#size / TILE_WIDTH ** (level + 1));
      return hashes.length === 0 ? [] : [{ tile: { level, index, width: hashes.length }, hashes: [...hashes] }];
    });
  }

  root(): Uint8Array {
    let root: Uint8Array | null = null;
    for (const hashes of this.#edge) {
      // Right to left: each perfect subtree takes what is right of it under one node.
      for (const hash of peaksOf(hashes).reverse()) root = root === null ? hash : nodeHash(hash, root);
    }
    return root ?? emptyRoot();
  }
}

/** The roots of the largest perfect subtrees over these hashes, from the left. */
function peaksOf(hashes: readonly Uint8Array[]): Uint8Array[] {
  const peaks: Uint8Array[] = [];
  let at = 0;
  for (let width = TILE_WIDTH / 2; width >= 1; width /= 2) {
    if (hashes.length - at < width) continue;
    peaks.push(rootOf(hashes.slice(at, at + width)));
    at += width;
  }
  return peaks;
}

function unfit(): RangeError {
  return new RangeError('the edge is not that of a tree of this size');
}
