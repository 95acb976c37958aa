/**
 * The tiles of a log that were used last, with what was computed of them. Invariant: at most so many are held, whatever the size of the log;
 * those of the upper levels, which every proof needs, are used most and so stay.
 */
import { rootOf } from '../rules/anchors/merkle';
import { TILE_WIDTH } from '../rules/anchors/tiles';
import { fastNodeHash } from './native-hash';

/** Each takes some tens of KiB. */
const MOST_HELD = 256;

export class HeldTile {
  /** Roots of perfect subtrees, each computed once. */
  readonly #roots = new Map<number, Uint8Array>();

  constructor(readonly hashes: readonly Uint8Array[]) {}

  /** Of `count` hashes from `first`; `count` is a power of two that divides `first`. */
  root(first: number, count: number): Uint8Array {
    if (count === 1) return rootOf(this.hashes.slice(first, first + 1));
    const name = count * TILE_WIDTH + first;
    const known = this.#roots.get(name);
    if (known !== undefined) return known;
    const half = count / 2;
    const root = fastNodeHash(this.root(first, half), this.root(first + half, half));
    this.#roots.set(name, root);
    return root;
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

  hold(path: string, hashes: readonly Uint8Array[]): HeldTile {
    const tile = new HeldTile(hashes);
    this.#tiles.set(path, tile);
    for (const oldest of this.#tiles.keys()) {
      if (this.#tiles.size <= MOST_HELD) break;
      this.#tiles.delete(oldest);
    }
    return tile;
  }
}
