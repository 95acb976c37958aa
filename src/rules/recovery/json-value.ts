/**
 * What the JSON reader returns and the canonical writer accepts. Invariant: an integer read from text is a `bigint`, so
 * nothing is lost beyond 2^53; a `number` read from text was written as a float, which no record may hold.
 */
export type JsonValue = null | boolean | string | bigint | number | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
