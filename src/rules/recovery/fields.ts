/**
 * Checks of single fields that every record shares. Invariant: a check names the field as it stands on the wire and lets
 * nothing else through.
 */
import { type RecoveryErrorCode, refuse } from './errors';
import { isDigest } from './identifiers';
import { isJsonObject, type JsonObject, type JsonValue } from './json-value';
import { MAX_INTEGER } from './limits';

/** An object with exactly these fields, read once. An unknown field is reported before a missing one. */
export function requireFields(value: unknown, fieldName: string, names: ReadonlySet<string>): JsonObject {
  if (!isJsonObject(value)) return refuse(fieldName, 'not_a_mapping');
  const fields: Record<string, JsonValue> = {};
  let count = 0;
  for (const key of readable(() => Object.keys(value), fieldName)) {
    if (!names.has(key)) return refuse(fieldName, 'unknown_field');
    fields[key] = readable(() => value[key] as JsonValue, fieldName);
    count += 1;
  }
  return count === names.size ? fields : refuse(fieldName, 'missing_field');
}

/** An object that was not parsed from JSON may run code when it is read, and fail. */
function readable<T>(read: () => T, fieldName: string): T {
  try {
    return read();
  } catch {
    return refuse(fieldName, 'unreadable_mapping');
  }
}

export function requireInteger(value: unknown, fieldName: string): bigint {
  if (typeof value === 'bigint' && value >= 0n && value <= MAX_INTEGER) return value;
  return refuse(fieldName, 'invalid_non_negative_integer');
}

export function requireDigest(value: unknown, fieldName: string): string {
  return isDigest(value) ? value : refuse(fieldName, 'invalid_digest');
}

export function requireDigestOrNull(value: unknown, fieldName: string): string | null {
  return value === null ? null : requireDigest(value, fieldName);
}

/** One of the words of a vocabulary, or the given refusal. */
export function requireWord<Word extends string>(
  words: readonly Word[],
  value: unknown,
  fieldName: string,
  code: RecoveryErrorCode,
): Word {
  return (words as readonly unknown[]).includes(value) ? (value as Word) : refuse(fieldName, code);
}
