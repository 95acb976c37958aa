/**
 * Properties:
 * - the fast hashes are those of the rules, for any bytes
 * - of a tile of any width, the root over any perfect subtree is the one that the rules compute, and there is none beyond its width
 * - what a reader holds of a tree that is not full says nothing about a larger one: its proofs hold at every size as the log grows
 * - at most 256 tiles are held, and the one that was used last stays
 * - a tile that is cut, or longer than its name says, is refused
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeldTile, HeldTiles } from '../../src/anchor/held-tiles';
import { LogReader } from '../../src/anchor/log-reader';
import { LogWriter } from '../../src/anchor/log-writer';
import { fastLeafHash, fastNodeHash } from '../../src/anchor/native-hash';
import { TileReader } from '../../src/anchor/tile-reader';
import { leafHash, nodeHash, rootOf } from '../../src/rules/anchors/merkle';
import { joinHashes } from '../../src/rules/anchors/tiles';
import { LOG_KEY, MemoryStore } from './scene';

const journalId = `jrn_${'0'.repeat(32)}`;
const hashesOf = (width: number): Uint8Array[] =>
  Array.from({ length: width }, (_, place) => leafHash(Uint8Array.of(place)));
const headsFrom = (from: number, count: number): Parameters<LogWriter['append']>[0] =>
  Array.from({ length: count }, (_, place) => ({
    runId: `run_${(from + place).toString(16).padStart(32, '0')}`,
    lineage: 1,
    sequence: 0,
    digest: `sha256:${(from + place).toString(16).padStart(64, '0')}`,
  }));

describe('fast hashes', () => {
  it('are those of the rules', () => {
    const node = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), node, node, (entry, left, right) => {
        expect([...fastLeafHash(entry)]).toEqual([...leafHash(entry)]);
        expect([...fastNodeHash(left, right)]).toEqual([...nodeHash(left, right)]);
      }),
    );
  });
});

describe('a held tile', () => {
  it('has the roots of its perfect subtrees, in any order of asking, and none beyond its width', () => {
    const subtree = fc.integer({ min: 0, max: 8 }).chain((height) => {
      const count = 2 ** height;
      return fc.nat({ max: 256 / count - 1 }).map((place) => ({ first: place * count, count }));
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 256 }), fc.array(subtree, { maxLength: 12 }), (width, asked) => {
        const hashes = hashesOf(width);
        const tile = new HeldTile(joinHashes(hashes), width);
        for (const { first, count } of asked) {
          if (first + count > width) expect(() => tile.root(first, count)).toThrow(RangeError);
          else expect([...tile.root(first, count)]).toEqual([...rootOf(hashes.slice(first, first + count))]);
        }
        expect(tile.hashes().map((hash) => [...hash])).toEqual(hashes.map((hash) => [...hash]));
      }),
    );
  });

  it('gives copies: who changes an answer changes nothing that is held', () => {
    const tile = new HeldTile(joinHashes(hashesOf(2)), 2);
    tile.root(0, 2).fill(0);
    expect([...tile.root(0, 2)]).toEqual([...rootOf(hashesOf(2))]);
  });

  it('leaves when 256 others were used since', () => {
    const held = new HeldTiles();
    const tile = (): HeldTile => new HeldTile(joinHashes(hashesOf(1)), 1);
    const upper = held.hold('upper', tile());
    held.hold('once', tile());
    for (let other = 0; other < 255; other += 1) {
      held.hold(`other ${other}`, tile());
      expect(held.get('upper')).toBe(upper);
    }
    expect(held.get('once')).toBeNull();
    expect(held.get('other 254')).not.toBeNull();
  });
});

describe('a reader of a growing log', () => {
  it('proves every size that it meets, whatever it held before', async () => {
    const log = new MemoryStore();
    const writer = await LogWriter.open({ log, journalId, key: LOG_KEY });
    const reader = new LogReader(log, LOG_KEY);
    let older = await reader.head();
    for (const count of [3, 200, 53, 1, 255, 300, 7]) {
      await writer.append(headsFrom(writer.size, count));
      const head = await reader.head();
      expect(await reader.continues(older, head)).toBe(true);
      for (const index of [0, older.size, head.size - 1, Math.floor(head.size / 2)]) {
        expect(await reader.prove(index, head)).toContain(`index ${index}\n`);
      }
      expect([...(await reader.tiles(head.size).root())]).toEqual([...head.root]);
      older = head;
    }
  });

  it.each([-1, 1])('refuses a tile of another length (%i)', async (difference) => {
    const log = new MemoryStore();
    const writer = await LogWriter.open({ log, journalId, key: LOG_KEY });
    await writer.append(headsFrom(0, 10));
    const path = 'tile/0/000.p/10';
    log.files.set(path, new Uint8Array((log.files.get(path)?.length ?? 0) + difference));
    await expect(new TileReader(log, 10).root()).rejects.toMatchObject({ code: 'anchor_damaged' });
  });
});
