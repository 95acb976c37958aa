/**
 * Properties:
 * - roots, audit paths and consistency proofs are those of the published examples of RFC 6962's tree
 * - for every size and index, and every pair of sizes, the proof that is made holds
 * - a proof that is cut, lengthened, changed, or offered for another index, size or root does not hold
 * - a growing tree has at each size the root that the leaves have, and its edge is enough to grow on
 */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GrowingTree } from '../../../src/rules/anchors/growing-tree';
import { emptyRoot, leafHash, nodeHash, rootOf } from '../../../src/rules/anchors/merkle';
import {
  consistencySubtrees,
  holdsConsistency,
  holdsInclusion,
  inclusionSubtrees,
  type Subtree,
} from '../../../src/rules/anchors/proofs';

/** The leaves of the test vectors of Certificate Transparency. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const published = LEAVES.map((hex) => leafHash(hexToBytes(hex)));

const hashes = (count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => leafHash(Uint8Array.of(index >> 8, index & 0xff)));
const root = (leaves: readonly Uint8Array[]): Uint8Array => (leaves.length === 0 ? emptyRoot() : rootOf(leaves));
const over = (leaves: readonly Uint8Array[], subtrees: readonly Subtree[]): Uint8Array[] =>
  subtrees.map(({ from, to }) => rootOf(leaves.slice(from, to)));
const MOST = 40;
const leaves = hashes(MOST);

describe('the published tree', () => {
  it('has the published roots', () => {
    expect(bytesToHex(emptyRoot())).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    for (const [index, hex] of ROOTS.entries()) expect(bytesToHex(rootOf(published.slice(0, index + 1)))).toBe(hex);
  });

  it('has the published audit path of its sixth leaf and consistency proof from six to eight', () => {
    expect(over(published, inclusionSubtrees(5, 8)).map(bytesToHex)).toEqual([
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
    expect(over(published, consistencySubtrees(6, 8)).map(bytesToHex)).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
  });
});

describe('proofs', () => {
  it('hold for every leaf of every tree, and for no other leaf', () => {
    for (let size = 1; size <= MOST; size += 1) {
      const tree = leaves.slice(0, size);
      const head = root(tree);
      for (const [index, leaf] of tree.entries()) {
        const proof = over(tree, inclusionSubtrees(index, size));
        expect(holdsInclusion(leaf, index, size, head, proof)).toBe(true);
        for (const other of [index - 1, index + 1]) expect(holdsInclusion(leaf, other, size, head, proof)).toBe(false);
      }
    }
  });

  it('hold for every pair of sizes', () => {
    for (let size = 0; size <= MOST; size += 1) {
      const newer = { size, root: root(leaves.slice(0, size)) };
      for (let before = 0; before <= size; before += 1) {
        const older = { size: before, root: root(leaves.slice(0, before)) };
        const proof = over(leaves, consistencySubtrees(before, size));
        expect(holdsConsistency(older, newer, proof)).toBe(true);
        if (before > 1) expect(holdsConsistency({ ...older, root: leaves[0]! }, newer, proof)).toBe(false);
      }
    }
  });

  it('do not hold when anything of them is changed', () => {
    const sizes = fc.integer({ min: 2, max: MOST }).chain((size) => fc.tuple(fc.constant(size), fc.nat(size - 1)));
    fc.assert(
      fc.property(
        sizes,
        fc.nat(),
        fc.nat(255),
        fc.constantFrom('change', 'cut', 'add'),
        ([size, at], place, bit, how) => {
          const damage = (proof: Uint8Array[]): Uint8Array[] => {
            if (how === 'add' || proof.length === 0) return [...proof, leafHash(Uint8Array.of(bit))];
            if (how === 'cut') return proof.filter((_, index) => index !== place % proof.length);
            return proof.map((hash, index) => (index === place % proof.length ? flipped(hash, bit) : hash));
          };
          const newer = { size, root: root(leaves.slice(0, size)) };
          const inclusion = damage(over(leaves, inclusionSubtrees(at, size)));
          expect(holdsInclusion(leaves[at]!, at, size, newer.root, inclusion)).toBe(false);
          const older = { size: at, root: root(leaves.slice(0, at)) };
          expect(holdsConsistency(older, newer, damage(over(leaves, consistencySubtrees(at, size))))).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('refuse a newer tree that is not a continuation', () => {
    const forked = [...leaves.slice(0, 9), leafHash(Uint8Array.of(9, 9, 9)), ...leaves.slice(10)];
    for (let size = 11; size <= MOST; size += 1) {
      const newer = { size, root: root(forked.slice(0, size)) };
      const older = { size: 10, root: root(leaves.slice(0, 10)) };
      expect(holdsConsistency(older, newer, over(forked, consistencySubtrees(10, size)))).toBe(false);
      expect(holdsConsistency(older, newer, over(leaves, consistencySubtrees(10, size)))).toBe(false);
    }
  });
});

describe('a growing tree', () => {
  it('has the root of its leaves at every size around full tiles, also when it is grown from its edge', () => {
    const many = hashes(600);
    let tree = new GrowingTree();
    const roots = new Map<number, string>();
    for (const leaf of many) {
      tree.append(leaf);
      tree = grownOn(tree);
      roots.set(tree.size, bytesToHex(tree.root()));
    }
    for (const size of [1, 2, 3, 7, 8, 100, 255, 256, 257, 258, 511, 512, 513, 600]) {
      expect(roots.get(size)).toBe(bytesToHex(root(many.slice(0, size))));
    }
  });

  it('hands out each tile once, when it is full, and with a third level', () => {
    const tree = new GrowingTree();
    const counts = [0, 0];
    const leaf = leafHash(Uint8Array.of(1));
    for (let size = 0; size < 65_536; size += 1) {
      for (const { tile } of tree.append(leaf)) {
        expect(tile.index).toBe(counts[tile.level]);
        counts[tile.level] = (counts[tile.level] ?? 0) + 1;
      }
    }
    expect(counts).toEqual([256, 1]);
    let perfect = leaf;
    for (let height = 0; height < 16; height += 1) perfect = nodeHash(perfect, perfect);
    expect(bytesToHex(tree.root())).toBe(bytesToHex(perfect));
    expect(tree.partials().map(({ tile }) => tile)).toEqual([{ level: 2, index: 0, width: 1 }]);
  });

  it('refuses an edge of another size', () => {
    expect(() => new GrowingTree(3, [[leaves[0]!]])).toThrow(RangeError);
    expect(() => new GrowingTree(256, [[]])).toThrow(RangeError);
  });
});

function grownOn(tree: GrowingTree): GrowingTree {
  const edge: Uint8Array[][] = [];
  for (let level = 0; 256 ** level <= tree.size; level += 1) edge.push([]);
  for (const { tile, hashes: kept } of tree.partials()) edge[tile.level] = [...kept];
  return new GrowingTree(tree.size, edge);
}

function flipped(hash: Uint8Array, bit: number): Uint8Array {
  return hash.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
}
