/**
 * What somebody else wrote, for a terminal. Invariant: nothing in it can move a cursor, hide, or turn the order of what is read; inside
 * a JSON text the escapes mean the same value.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

export function printable(text: string): string {
  return text.replace(UNSEEN, (found) => {
    const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}
