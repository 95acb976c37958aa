/** Damage to JSON documents, by structure and by bytes, the same on every run. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** A small generator of numbers from a seed. */
export class Chance {
  constructor(private state: number) {}

  /** A whole number from 0 up to, and without, `bound`. */
  below(bound: number): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.state / 2 ** 32) * bound);
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

const VALUES: readonly Json[] = [
  null, true, false, 0, -1, 1.5, 2 ** 53, 1e300, '', 'x', 'a\u0000b', '\ud800', [], {}, [[]], `sha256:${'0'.repeat(64)}`, `run_${'0'.repeat(32)}`,
  `own_${'0'.repeat(32)}`, 'tool:a.b/c', 'workflow:a.b/c', 'begun', 'acked', 'absent', 'committed', 'changed', 'refused', 'ordered', 'local_tool', 'none',
]; // prettier-ignore
const PIECES = [
  '', '"', '\\', '\\u00', ',', ':', '{', '}', '[', ']', '{}', '{"a":1,"a":2}', '"schema_version":1,', 'null', 'NaN', '-Infinity', '1e999', '00', '-0', '9007199254740993',
  '0.1234567890123456789', '\ufeff', '\u0000', '\n', 'é', '\ud83d\ude00', '"__proto__":{},', '"constructor":1,',
] as const; // prettier-ignore
const NAMES = ['__proto__', 'constructor', 'toString', 'x', '', 'operation', 'schema_version'] as const;

/** The document as bytes, with one to three faults somewhere. */
export function damaged(chance: Chance, document: Json): Uint8Array {
  if (chance.below(3) === 0) return damagedText(chance, JSON.stringify(document));
  let value = document;
  for (let faults = 1 + chance.below(2); faults > 0; faults -= 1) value = damagedValue(chance, value);
  return Buffer.from(JSON.stringify(value));
}

function damagedText(chance: Chance, text: string): Uint8Array {
  const at = chance.below(text.length + 1);
  const cut = chance.below(4) === 0 ? text.length : at + chance.below(chance.of([1, 3, 30]));
  const bytes = Buffer.from(text.slice(0, at) + chance.of(PIECES) + text.slice(cut));
  if (chance.below(4) === 0 && bytes.length > 0) bytes[chance.below(bytes.length)] = chance.below(256);
  return bytes;
}

function damagedValue(chance: Chance, value: Json): Json {
  if (chance.below(12) === 0 || typeof value !== 'object' || value === null) return chance.of(VALUES);
  if (Array.isArray(value)) return damagedList(chance, value as readonly Json[]);
  const entries = Object.entries(value as Readonly<Record<string, Json>>);
  if (entries.length === 0) return { x: chance.of(VALUES) };
  const [name, inner] = chance.of(entries);
  switch (chance.below(8)) {
    case 0:
      return Object.fromEntries(entries.filter(([other]) => other !== name));
    case 1:
      return Object.fromEntries([...entries, [chance.of(NAMES), inner]]);
    case 2:
      return Object.fromEntries(entries.map(([other, item]) => [other === name ? `${other}_` : other, item]));
    default:
      return Object.fromEntries(
        entries.map(([other, item]) => [other, other === name ? damagedValue(chance, item) : item]),
      );
  }
}

function damagedList(chance: Chance, items: readonly Json[]): Json {
  const at = chance.below(items.length || 1);
  switch (chance.below(6)) {
    case 0:
      return items.filter((_, index) => index !== at);
    case 1:
      return [...items, ...items.slice(at, at + 1)];
    case 2:
      return [...items].reverse();
    default:
      return items.map((item, index) => (index === at ? damagedValue(chance, item) : item));
  }
}
