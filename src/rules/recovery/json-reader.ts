/**
 * Reads JSON as strictly as the recovery contract does.
 */
import { type JsonValue } from './json-value';

/** Throws `<fieldName>: invalid_json` or `json: duplicate_field`. */
export function parseJson(_source: string | Uint8Array, _fieldName: string): JsonValue {
  throw new Error('not built');
}
