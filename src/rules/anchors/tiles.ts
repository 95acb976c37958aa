/**
 * Where a log's hashes and entries are kept: C2SP tlog-tiles. Invariant: a name says which leaves it is about and how many
 * hashes it holds, so whatever is once written under it is never another's.
 */
import { HASH_BYTES } from './merkle';

/** Hashes in a full tile: a subtree of height 8. */
export const TILE_WIDTH = 256;
const LARGEST_ENTRY = 0xffff;

export interface Tile {
  /** 0: hashes of leaves; each higher level holds the roots of full tiles below it. */
  readonly level: number;
  readonly index: number;
  /** From 1 to 256. */
  readonly width: number;
}

export function tilePath({ level, index, width }: Tile): string {
  return `tile/${level}/${numberPath(index)}${partialPath(width)}`;
}

/** The bundle with the entries of one tile of level 0. */
export function entriesPath({ index, width }: Omit<Tile, 'level'>): string {
  return `tile/entries/${numberPath(index)}${partialPath(width)}`;
}

/** The folder of the partial forms of a tile or bundle that is full by now. */
export function partialsFolder(fullPath: string): string {
  return `${fullPath}.p`;
}

/** As in `x001/x234/067`. */
function numberPath(index: number): string {
  const digits = String(index);
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0');
  const parts = padded.match(/.{3}/g) ?? [];
  return parts.map((part, place) => (place < parts.length - 1 ? `x${part}` : part)).join('/');
}

function partialPath(width: number): string {
  return width === TILE_WIDTH ? '' : `.p/${width}`;
}

/** The tile of a level that a tree of this size has at its right edge, or null where all are full. */
export function partialTile(level: number, size: number): Tile | null {
  const hashes = Math.floor(size / TILE_WIDTH ** level);
  const width = hashes % TILE_WIDTH;
  return width === 0 ? null : { level, index: Math.floor(hashes / TILE_WIDTH), width };
}

/** The tile of a level with this number, in a tree of this size; null when the tree has none. */
export function tileAt(level: number, index: number, size: number): Tile | null {
  const hashes = Math.floor(size / TILE_WIDTH ** level);
  const width = Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH);
  return width > 0 ? { level, index, width } : null;
}

export function joinHashes(hashes: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(hashes.length * HASH_BYTES);
  hashes.forEach((hash, place) => bytes.set(hash, place * HASH_BYTES));
  return bytes;
}

/** Entries, each after its length in two bytes. */
export function joinEntries(entries: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(entries.reduce((sum, entry) => sum + 2 + entry.length, 0));
  let at = 0;
  for (const entry of entries) {
    if (entry.length > LARGEST_ENTRY) throw new RangeError('an entry of a bundle has at most 65,535 bytes');
    bytes[at] = entry.length >> 8;
    bytes[at + 1] = entry.length & 0xff;
    bytes.set(entry, at + 2);
    at += 2 + entry.length;
  }
  return bytes;
}

/** Null unless the bytes are exactly so many entries. */
export function splitEntries(bytes: Uint8Array, width: number): readonly Uint8Array[] | null {
  const entries: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = ((bytes[at] as number) << 8) | (bytes[at + 1] ?? 0);
    if (at + 2 + length > bytes.length) return null;
    entries.push(bytes.subarray(at + 2, at + 2 + length));
    at += 2 + length;
  }
  return entries.length === width ? entries : null;
}

/** One of the entries that a bundle begins with, whatever stands after it; null when the bundle ends before. */
export function entryIn(bytes: Uint8Array, place: number): Uint8Array | null {
  for (let at = 0, passed = 0; at + 2 <= bytes.length; passed += 1) {
    const from = at + 2;
    at = from + (((bytes[at] as number) << 8) | (bytes[at + 1] as number));
    if (passed === place) return at > bytes.length ? null : bytes.subarray(from, at);
  }
  return null;
}
