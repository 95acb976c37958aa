/**
 * The canonical text of a record.
 */
import { type JsonValue } from './json-value';

export function canonicalJson(_value: JsonValue): string {
  throw new Error('not built');
}
