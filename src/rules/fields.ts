/**
 * Strict reading of our own records. Invariant: a record is accepted only with exactly its fields, each of the right form;
 * the first fault is refused by the path of its field, and no value is ever quoted.
 */
import { parseJson, type JsonObject } from './recovery';
import { Refusal, type RefusalCode } from './refusal';

/** The wire form of one of our records. */
export type Dict = JsonObject;

/** Reads the fields of one object and insists that nothing else stands in it. */
export class Fields {
  private readonly dict: Record<string, unknown>;
  private readonly seen = new Set<string>();

  constructor(
    value: unknown,
    private readonly path: string,
    private readonly code: RefusalCode = 'invalid_record',
  ) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) this.refuse('must be an object', null);
    this.dict = value as Record<string, unknown>;
  }

  refuse(reason: string, field: string | null): never {
    const parts = [this.path, field ?? ''].filter((part) => part !== '');
    throw new Refusal(this.code, reason, parts.join('.') || 'document');
  }

  has(field: string): boolean {
    return Object.prototype.hasOwnProperty.call(this.dict, field);
  }

  raw(field: string): unknown {
    this.seen.add(field);
    if (!this.has(field)) this.refuse('is missing', field);
    return this.dict[field];
  }

  optional<T>(field: string, read: (field: string) => T, otherwise: T): T {
    this.seen.add(field);
    return this.has(field) ? read(field) : otherwise;
  }

  text(field: string, rule: string, holds: (value: string) => boolean): string {
    const value = this.raw(field);
    if (typeof value !== 'string' || !holds(value)) this.refuse(`must be ${rule}`, field);
    return value;
  }

  nullable<T>(field: string, read: (field: string) => T): T | null {
    return this.raw(field) === null ? null : read(field);
  }

  oneOf<T extends string>(field: string, words: readonly T[]): T {
    const value = this.raw(field);
    if (typeof value !== 'string' || !(words as readonly string[]).includes(value)) {
      this.refuse(`must be one of ${words.join(', ')}`, field);
    }
    return value as T;
  }

  flag(field: string): boolean {
    const value = this.raw(field);
    if (typeof value !== 'boolean') this.refuse('must be true or false', field);
    return value;
  }

  /** A whole number from 0 to 2^53 - 1. */
  count(field: string): number {
    const value = this.raw(field);
    const number = typeof value === 'bigint' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0) {
      this.refuse('must be a whole number from 0 to 2^53 - 1', field);
    }
    return number;
  }

  list(field: string, atLeast = 0): readonly unknown[] {
    const value = this.raw(field);
    if (!Array.isArray(value) || value.length < atLeast) this.refuse(`must be a list of ${atLeast} or more`, field);
    return value;
  }

  /** Call last: refuses any field that was never asked for. */
  end(): void {
    for (const field of Object.keys(this.dict)) {
      if (!this.seen.has(field)) this.refuse('is not a field of this record', field.slice(0, 64));
    }
  }
}

/** Parses the JSON text of one of our records; a syntax error is a refusal, like any other fault. */
export function parseRecord<T>(bytes: Uint8Array | string, record: string, read: (value: unknown) => T): T {
  let value: unknown;
  try {
    value = parseJson(bytes, record);
  } catch {
    throw new Refusal('invalid_record', 'is not well-formed JSON with unique field names', record);
  }
  return read(value);
}
