/**
 * Damaged records for every reader of ours: valid ones, changed in their structure. Whatever is read is accepted or refused with
 * a code, and what is accepted has one text.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RecoveryError } from '../../src/rules/recovery';
import { Refusal } from '../../src/rules/refusal';

export const INPUTS = Number(process.env['FUZZ_INPUTS'] ?? 100_000);

export interface Reader {
  readonly name: string;
  readonly valid: unknown;
  /** Reads, and gives what was read as text again; `text` is what the mutated value is as JSON. */
  readonly trip: (text: string, value: unknown) => string;
}
type Cut = readonly [where: number, how: number, what: unknown, name: string];

/** `words`: texts that are right somewhere in the records of this family. */
function cutsWith(words: readonly unknown[]): fc.Arbitrary<readonly Cut[]> {
  const odd = fc.oneof(
    fc.constantFrom<unknown>(null, true, 0, -1, 0.5, 1e300, 2 ** 53, '', [], {}, 'run_', 'x'.repeat(70), '\ud800', [
      [[[]]],
    ]),
    fc.constantFrom<unknown>('absent', 'committed', 'ambiguous', 'changed', 'cancelled', 'refused', 'advance', 'acked'),
    fc.constantFrom<unknown>(...words),
    fc.integer(),
    fc.string({ unit: 'binary', maxLength: 20 }),
  );
  const name = fc.oneof(fc.constantFrom('__proto__', 'toString', 'state'), fc.string({ maxLength: 8 }));
  return fc.array(fc.tuple(fc.nat(60), fc.nat(7), odd, name), { minLength: 1, maxLength: 3 });
}

/** Damages one place of a value: puts something else there, drops it, doubles it, adds to it, or takes from it. */
function damaged(value: unknown, [where, how, what, name]: Cut): unknown {
  const copy = structuredClone(value);
  const places: [Record<string, unknown>, string][] = [];
  const walk = (at: unknown): void => {
    if (typeof at !== 'object' || at === null) return;
    for (const key of Object.keys(at)) {
      places.push([at as Record<string, unknown>, key]);
      walk((at as Record<string, unknown>)[key]);
    }
  };
  walk(copy);
  if (places.length === 0) return what;
  const [holder, key] = places[where % places.length] as [Record<string, unknown>, string];
  const old = holder[key];
  switch (how) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      break;
    case 1:
      if (Array.isArray(holder)) holder.push(structuredClone(old));
      else Object.defineProperty(holder, name, { value: what, enumerable: true, configurable: true, writable: true });
      break;
    case 2:
      if (typeof old === 'string')
        holder[key] = old.slice(0, where % (old.length + 1)) + name + old.slice(where % (old.length + 1));
      else holder[key] = what;
      break;
    case 3:
      holder[key] = typeof old === 'string' ? old.slice(1) : [old];
      break;
    case 4:
      holder[key] = typeof old === 'number' ? old + where : { [name]: old };
      break;
    default:
      holder[key] = what;
  }
  return copy;
}

/** The property of one reader, over so many damaged records. */
export function fuzz({ valid, trip }: Reader, words: readonly unknown[], inputs = INPUTS): void {
  it('accepts or refuses, and nothing else', { timeout: 3_600_000 }, () => {
    const seen = { accepted: 0, refused: 0 };
    expect(() => trip(JSON.stringify(valid), valid)).not.toThrow();
    fc.assert(
      fc.property(cutsWith(words), fc.nat(40), (several, slice) => {
        const value = several.reduce(damaged, valid);
        const whole = JSON.stringify(value);
        // Now and then the text itself is cut as well.
        const text = slice === 0 ? whole.slice(0, Math.floor(whole.length / 2)) : whole;
        let first: string;
        try {
          first = trip(text, value);
        } catch (fault) {
          seen.refused += 1;
          if (fault instanceof Refusal || fault instanceof RecoveryError || fault instanceof SyntaxError) return;
          throw fault;
        }
        seen.accepted += 1;
        // What reads only its own text must read what it wrote.
        if (first.startsWith('{"') && trip(whole, value) !== first) throw new Error('has two texts');
      }),
      { numRuns: inputs, seed: 7, endOnFailure: true },
    );
    expect(seen.refused + seen.accepted).toBe(inputs);
    expect(seen.accepted).toBeGreaterThan(0);
  });
}
