/**
 * The tiles of a log that were used last, with what was computed of them. Invariant: at most so many are held, whatever the size of the log;
 * those of the upper levels, which every proof needs, are used most and so stay.
 */
import { HASH_BYTES } from '../rules/anchors/merkle';
import { TILE_WIDTH } from '../rules/anchors/tiles';
import { writeNode } from './native-hash';

/** Each takes 17 KiB. */
const MOST_HELD = 256;

/** A tile as a tree in one piece of memory: the node over 2n and 2n + 1 stands at n, the hashes of the tile from 256 on. */
export class HeldTile {
  readonly #nodes = Buffer.alloc(2 * TILE_WIDTH * HASH_BYTES);
  /** For each node, whether it is computed: each is once. */
  readonly #known = new Uint8Array(TILE_WIDTH);

  /** `hashes`: as they stand in the tile. */
  constructor(
    hashes: Uint8Array,
    readonly width: number,
  ) {
    this.#nodes.set(hashes.subarray(0, width * HASH_BYTES), TILE_WIDTH * HASH_BYTES);
  }

  /** Of `count` hashes from `first`; `count` is a power of two that divides `first`. */
  root(first: number, count: number): Uint8Array {
    if (first + count > this.width) throw new RangeError('the tile has no such hashes');
    const node = (TILE_WIDTH + first) / count;
    this.#compute(node);
    return new Uint8Array(this.#nodes.subarray(node * HASH_BYTES, (node + 1) * HASH_BYTES));
  }

  hashes(): readonly Uint8Array[] {
    return Array.from({ length: this.width }, (_, place) => this.root(place, 1));
  }

  #compute(node: number): void {
    if (node >= TILE_WIDTH || this.#known[node] === 1) return;
    this.#compute(2 * node);
    this.#compute(2 * node + 1);
    writeNode(this.#nodes, 2 * node * HASH_BYTES, node * HASH_BYTES);
    this.#known[node] = 1;
  }
}

export class HeldTiles {
  readonly #tiles = new Map<string, HeldTile>();

  get(path: string): HeldTile | null {
    const tile = this.#tiles.get(path);
    if (tile === undefined) return null;
    this.#tiles.delete(path);
    this.#tiles.set(path, tile);
    return tile;
  }

  hold(path: string, tile: HeldTile): HeldTile {
    this.#tiles.set(path, tile);
    for (const oldest of this.#tiles.keys()) {
      if (this.#tiles.size <= MOST_HELD) break;
      this.#tiles.delete(oldest);
    }
    return tile;
  }
}
