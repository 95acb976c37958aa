/**
 * Inclusion and consistency proofs, as RFC 6962 has them: which subtrees they are made of, and whether one holds.
 *
 * Invariant: making a proof and checking it share nothing but the hashes: `holds…` never looks at how a proof was made, and a
 * proof that is longer or shorter than its sizes demand is refused.
 */
import { nodeHash, sameHash, splitOf, type NodeHash } from './merkle';

/** The leaves from `from` up to, but without, `to`: one subtree, whose hash stands in a proof. */
export interface Subtree {
  readonly from: number;
  readonly to: number;
}

/** From the leaf's sibling up to the root's child. */
export function inclusionSubtrees(index: number, size: number): readonly Subtree[] {
  requireSizes(Number.isSafeInteger(index) && index >= 0 && index < size && Number.isSafeInteger(size));
  const found: Subtree[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      found.unshift({ from: middle, to });
      to = middle;
    } else {
      found.unshift({ from, to: middle });
      from = middle;
    }
  }
  return found;
}

/** Nothing for equal sizes, and for an older tree without leaves, which every tree continues. */
export function consistencySubtrees(older: number, newer: number): readonly Subtree[] {
  requireSizes(Number.isSafeInteger(newer) && Number.isSafeInteger(older) && older >= 0 && older <= newer);
  if (older === newer || older === 0) return [];
  const found: Subtree[] = [];
  let [from, to] = [0, newer];
  while (older !== to) {
    const middle = from + splitOf(to - from);
    if (older <= middle) {
      found.unshift({ from: middle, to });
      to = middle;
    } else {
      found.unshift({ from, to: middle });
      from = middle;
    }
  }
  // Of the older tree itself the checker knows the root.
  return from === 0 ? found : [{ from, to }, ...found];
}

export function holdsInclusion(
  leaf: Uint8Array,
  index: number,
  size: number,
  root: Uint8Array,
  proof: readonly Uint8Array[],
  node: NodeHash = nodeHash,
): boolean {
  if (!isSize(size) || !isSize(index) || index >= size) return false;
  let [place, last] = [index, size - 1];
  let hash = leaf;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (place % 2 === 1 || place === last) {
      hash = node(sibling, hash);
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)];
    } else {
      hash = node(hash, sibling);
    }
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && sameHash(hash, root);
}

/** Whether the newer tree begins with all leaves of the older one, in their order. */
export function holdsConsistency(
  older: { readonly size: number; readonly root: Uint8Array },
  newer: { readonly size: number; readonly root: Uint8Array },
  proof: readonly Uint8Array[],
  node: NodeHash = nodeHash,
): boolean {
  if (!isSize(older.size) || !isSize(newer.size) || older.size > newer.size) return false;
  if (older.size === newer.size) return proof.length === 0 && sameHash(older.root, newer.root);
  if (older.size === 0) return proof.length === 0;
  let [place, last] = [older.size - 1, newer.size - 1];
  while (place % 2 === 1) [place, last] = [half(place), half(last)];
  const rest = [...proof];
  const start = place === 0 ? older.root : rest.shift();
  if (start === undefined) return false;
  let [before, after] = [start, start];
  for (const hash of rest) {
    if (last === 0) return false;
    if (place % 2 === 1 || place === last) {
      [before, after] = [node(hash, before), node(hash, after)];
      while (place % 2 === 0 && place !== 0) [place, last] = [half(place), half(last)];
    } else {
      after = node(after, hash);
    }
    [place, last] = [half(place), half(last)];
  }
  return last === 0 && sameHash(before, older.root) && sameHash(after, newer.root);
}

function half(value: number): number {
  return Math.floor(value / 2);
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function requireSizes(holds: boolean): void {
  if (!holds) throw new RangeError('a proof is about whole numbers of leaves that the tree has');
}
