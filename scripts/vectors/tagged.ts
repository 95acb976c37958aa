/**
 * Tagged values and raw bytes, as the vectors spell them. Invariant: an integer becomes a `bigint` and a float a `number`,
 * so that neither can be taken for the other.
 */
import { type JsonValue } from '../../src/rules/recovery';

export type Tagged =
  | readonly ['n']
  | readonly ['b', boolean]
  | readonly ['i' | 'f' | 's' | 'u', string]
  | readonly ['a', readonly Tagged[]]
  | readonly ['o', readonly (readonly [Tagged, Tagged])[]];

const FLOAT_WORDS: Readonly<Record<string, number>> = { nan: NaN, inf: Infinity, '-inf': -Infinity };

export function untag(tagged: Tagged): JsonValue {
  switch (tagged[0]) {
    case 'n':
      return null;
    case 'b':
      return tagged[1];
    case 'i':
      return BigInt(tagged[1]);
    case 'f':
      return FLOAT_WORDS[tagged[1]] ?? Number(tagged[1]);
    case 's':
      return tagged[1];
    case 'u':
      return String.fromCodePoint(...tagged[1].split(' ').map((hex) => Number.parseInt(hex, 16)));
    case 'a':
      return tagged[1].map(untag);
    case 'o':
      // Entries are defined, not assigned: a key may be `__proto__`.
      return Object.fromEntries(tagged[1].map(([key, value]) => [untag(key) as string, untag(value)]));
  }
}

/** A row's raw bytes in one of three spellings. */
export interface RawBytes {
  readonly utf8?: string;
  readonly hex?: string;
  readonly parts?: readonly { readonly hex: string; readonly times: number }[];
}

export function rawBytes(row: RawBytes): Uint8Array {
  if (row.utf8 !== undefined) return utf8Bytes(row.utf8);
  if (row.hex !== undefined) return hexBytes(row.hex);
  return hexBytes((row.parts ?? []).map(({ hex, times }) => hex.repeat(times)).join(''));
}

export function utf8Bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function hexBytes(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
}
