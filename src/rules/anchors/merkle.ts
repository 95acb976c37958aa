/**
 * Hashes of a Merkle tree as RFC 6962 has them. Invariant: a leaf and a node can never hash alike, as each begins with a byte of
 * its own, and a tree of n leaves has one shape: its left part is the largest power of two below n.
 */
import { sha256 } from '@noble/hashes/sha2';

export const HASH_BYTES = 32;

const LEAF = 0x00;
const NODE = 0x01;

export function leafHash(data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(data.length + 1);
  bytes[0] = LEAF;
  bytes.set(data, 1);
  return sha256(bytes);
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(1 + 2 * HASH_BYTES);
  bytes[0] = NODE;
  bytes.set(left, 1);
  bytes.set(right, 1 + HASH_BYTES);
  return sha256(bytes);
}

/** The root of a tree without leaves. */
export function emptyRoot(): Uint8Array {
  return sha256(new Uint8Array(0));
}

export function sameHash(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

/** How two hashes become one; a host may have a faster `nodeHash` than ours. */
export type NodeHash = (left: Uint8Array, right: Uint8Array) => Uint8Array;

/** The root over hashes of equally high subtrees, in order. There must be one at least. */
export function rootOf(hashes: readonly Uint8Array[], node: NodeHash = nodeHash): Uint8Array {
  return rootBetween(hashes, 0, hashes.length, node);
}

function rootBetween(hashes: readonly Uint8Array[], from: number, to: number, node: NodeHash): Uint8Array {
  const first = hashes[from];
  if (first === undefined || to <= from) throw new RangeError('a root is over one hash at least');
  if (to - from === 1) return first;
  const middle = from + splitOf(to - from);
  return node(rootBetween(hashes, from, middle, node), rootBetween(hashes, middle, to, node));
}

/** How many of `size` (2 or more) leaves are in the left part: the largest power of two below it. */
export function splitOf(size: number): number {
  let left = 1;
  while (left * 2 < size) left *= 2;
  return left;
}
