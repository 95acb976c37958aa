/**
 * One value of an OMOP row as an element of a PostgreSQL array.
 *
 * Invariant: a value is taken only in a form that the server reads as exactly that value: nothing is rounded, shifted by a time
 * zone, or cut.
 */
import { type OmopColumn, type OmopType } from './omop-tables';

const MAX_INTEGER = 2_147_483_647;
const NUMERIC = /^-?\d{1,131072}(\.\d{1,16383})?$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})(?:[T ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?)?$/;

/** The form of each type, or null for what does not fit. */
const FORMS: Record<OmopType, (value: unknown, column: OmopColumn) => string | null> = {
  integer: (value) =>
    typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= MAX_INTEGER ? String(value) : null,
  // Text where a number of JSON would round.
  numeric: (value) =>
    (typeof value === 'number' && Number.isFinite(value)) || (typeof value === 'string' && NUMERIC.test(value))
      ? String(value)
      : null,
  date: (value) => (typeof value === 'string' && isDate(value) ? value : null),
  // The column has no time zone: one in the value would be dropped, so it is refused.
  timestamp: (value) => {
    const day = typeof value === 'string' ? TIMESTAMP.exec(value)?.[1] : undefined;
    return day !== undefined && isDate(day) ? `"${value as string}"` : null;
  },
  text: (value, { length }) => {
    if (typeof value !== 'string' || value.includes('\0') || /\p{Surrogate}/u.test(value)) return null;
    if (length !== null && value.length > length && [...value].length > length) return null;
    return `"${value.replace(/["\\]/g, '\\$&')}"`;
  },
};

/** `NULL` for null and for what is not there; null when the value does not fit its column. */
export function literalOf(column: OmopColumn, value: unknown): string | null {
  return value === undefined || value === null ? 'NULL' : FORMS[column.type](value, column);
}

function isDate(text: string): boolean {
  const [, year, month, day] = (DATE.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined || year < 1) return false;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
