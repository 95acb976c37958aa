/**
 * One text for one JSON value, for contents. Invariant: equal values give equal text, whatever the order of their keys; a
 * value that JSON would silently change (undefined, a function, NaN, a bigint, a cycle) is refused by its path.
 *
 * Records use `canonicalJson`, which has no fractions; contents need them, and print them as JavaScript does (RFC 8785).
 */
import { Refusal } from '../refusal';

const MAX_DEPTH = 200;

export function contentJson(value: unknown, path = 'operation'): string {
  return write(value, path, 0);
}

function write(value: unknown, path: string, depth: number): string {
  if (depth > MAX_DEPTH) throw new Refusal('invalid_plan', `is nested deeper than ${MAX_DEPTH} levels`, path);
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${Array.from(value, (item, index) => write(item, `${path}[${index}]`, depth + 1)).join(',')}]`;
  }
  if (isPlainObject(value)) {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${write(value[name], `${path}.*`, depth + 1)}`).join(',')}}`;
  }
  throw new Refusal('invalid_plan', 'holds a value that JSON cannot carry unchanged', path);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // Objects may come from another realm, so the prototype is judged by its shape and not by its identity.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
