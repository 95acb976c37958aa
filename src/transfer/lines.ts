/**
 * The lines of a file, one after the other. Invariant: each ends with a line feed, and none is longer than it may be, so no file can
 * exhaust the memory.
 */
import { Refusal } from '../rules/refusal';
import type { Span } from './exported-store';

/** Bytes that can be read at any place: a file, or memory. */
export interface ByteSource {
  /** At most `length` bytes from `offset`; fewer only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

export interface Line extends Span {
  /** Counted from 1. */
  readonly number: number;
  /** With its line feed. */
  readonly bytes: Uint8Array;
}

const CHUNK_BYTES = 256 * 1024;

export async function* linesOf(source: ByteSource, longest: number): AsyncGenerator<Line> {
  let [number, offset, at] = [1, 0, 0];
  let pieces: Uint8Array[] = [];
  for (let held = 0; ;) {
    const chunk = await source.read(at, CHUNK_BYTES);
    at += chunk.length;
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const bytes = joined([...pieces, chunk.subarray(from, end + 1)]);
      if (bytes.length > longest) throw refusedLine(number, 'is longer than any entry');
      yield { number, offset, length: bytes.length, bytes };
      offset += bytes.length;
      number += 1;
      from = end + 1;
      [pieces, held] = [[], 0];
    }
    const rest = chunk.subarray(from);
    held += rest.length;
    if (held > longest) throw refusedLine(number, 'is longer than any entry');
    if (chunk.length < CHUNK_BYTES) {
      if (held > 0) throw refusedLine(number, 'does not end with a line feed; the file is cut off');
      return;
    }
    pieces.push(rest.slice());
  }
}

export function refusedLine(number: number, reason: string): Refusal {
  return new Refusal('invalid_record', reason, `export line ${number}`);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces);
}
