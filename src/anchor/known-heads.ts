/**
 * How far each lineage is anchored. Invariant: it takes at most 64 bytes a lineage and nothing a head, so that the memory of an
 * anchor process does not grow with the length of its log.
 *
 * A lineage is known by 96 bits of the hash of its name. If two ever shared them, `verify` would report one of the two as not
 * anchored, never as anchored.
 */
import { createHash } from 'node:crypto';
import { endianness } from 'node:os';

const WORDS = 4;
const DIGEST_BYTES = 32;
const FIRST_SLOTS = 1024;
/** Entries of the log that one segment file is about. */
export const SEGMENT_HEADS = 16_384;

export class KnownHeads {
  #slots = FIRST_SLOTS;
  #used = 0;
  /** Three words of the key, and the sequence plus one; zero: free. */
  #table = new Uint32Array(FIRST_SLOTS * WORDS);
  readonly #segment = new Uint32Array(SEGMENT_HEADS * WORDS);
  #filled = 0;

  get lineages(): number {
    return this.#used;
  }

  /** The last sequence that is anchored of this lineage, or -1. */
  sequenceOf(runId: string, lineage: number): number {
    return this.#at(keyOf(runId, lineage)) - 1;
  }

  set(runId: string, lineage: number, sequence: number): void {
    this.#segment.set(keyOf(runId, lineage), this.#filled * WORDS);
    this.#segment[this.#filled * WORDS + 3] = sequence + 1;
    this.#put(this.#segment, this.#filled * WORDS);
    this.#filled += 1;
  }

  /** The rows of the last 16,384 heads that were set, once there are so many; null before. They are then forgotten. */
  takeSegment(): Uint32Array | null {
    if (this.#filled < SEGMENT_HEADS) return null;
    this.#filled = 0;
    return this.#segment;
  }

  /** Takes the rows of a segment. */
  load(rows: Uint32Array): void {
    for (let at = 0; at < rows.length; at += WORDS) this.#put(rows, at);
  }

  #at(key: Uint32Array): number {
    return this.#table[this.#slotOf(key, 0) * WORDS + 3] ?? 0;
  }

  #put(rows: Uint32Array, at: number): void {
    const slot = this.#slotOf(rows, at) * WORDS;
    const table = this.#table;
    if (table[slot + 3] !== 0) {
      table[slot + 3] = Math.max(table[slot + 3] as number, rows[at + 3] as number);
      return;
    }
    for (let word = 0; word < WORDS; word += 1) table[slot + word] = rows[at + word] as number;
    this.#used += 1;
    if (this.#used * 2 > this.#slots) this.#grow();
  }

  /** Where the key stands, or where it would be put. */
  #slotOf(rows: Uint32Array, at: number): number {
    const table = this.#table;
    for (let slot = (rows[at] as number) % this.#slots; ; slot = (slot + 1) % this.#slots) {
      const place = slot * WORDS;
      if (table[place + 3] === 0) return slot;
      if (table[place] === rows[at] && table[place + 1] === rows[at + 1] && table[place + 2] === rows[at + 2]) {
        return slot;
      }
    }
  }

  #grow(): void {
    const old = this.#table;
    this.#slots *= 2;
    this.#used = 0;
    this.#table = new Uint32Array(this.#slots * WORDS);
    for (let at = 0; at < old.length; at += WORDS) if (old[at + 3] !== 0) this.#put(old, at);
  }
}

function keyOf(runId: string, lineage: number): Uint32Array {
  const digest = createHash('sha256').update(`${runId}/${lineage}`).digest();
  return Uint32Array.of(digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8));
}

/** The file of a segment: its rows as little-endian words, and the SHA-256 of them. */
export function segmentToBytes(rows: Uint32Array): Uint8Array {
  const body = littleEndian(new Uint8Array(rows.slice().buffer));
  return Buffer.concat([body, createHash('sha256').update(body).digest()]);
}

/** Null for anything that is not a whole segment: it is then read from the entries. */
export function segmentFromBytes(bytes: Uint8Array): Uint32Array | null {
  const body = new Uint8Array(bytes.subarray(0, -DIGEST_BYTES)); // a copy, so that its words are aligned
  if (body.length !== SEGMENT_HEADS * WORDS * 4) return null;
  if (!createHash('sha256').update(body).digest().equals(bytes.subarray(-DIGEST_BYTES))) return null;
  return new Uint32Array(littleEndian(body).buffer);
}

/** Words of this machine as little-endian ones, or the other way round: the same on nearly every machine. In place. */
function littleEndian(words: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (endianness() === 'BE') Buffer.from(words.buffer).swap32();
  return words;
}
