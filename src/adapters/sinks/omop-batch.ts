/**
 * A batch of OMOP rows, as an operation: `{batch_id?, rows: {person: […], measurement: […]}}`. The rows of a table are a list of
 * objects, or `{columns: […], values: [[…], …]}`, which says the same in half the bytes.
 *
 * Invariant: a batch is read a chunk at a time, and every value is checked before it leaves; the first fault refuses the whole
 * batch by a code that names table and column, never a value.
 */
import { OMOP_TABLES, type OmopColumn, type OmopTable } from './omop-tables';
import { literalOf } from './omop-values';

export class OmopFault extends Error {
  override readonly name = 'OmopFault';
  constructor(readonly code: string) {
    super(code);
  }
}

/** Some rows of one table, a column at a time, each as the text of a PostgreSQL array. */
export interface OmopChunk {
  readonly table: OmopTable;
  readonly columns: readonly OmopColumn[];
  readonly arrays: readonly string[];
  readonly rows: number;
}

export interface OmopBatch {
  readonly batchId: string | null;
  /** Rows by table, in the order in which they are inserted. */
  readonly counts: Readonly<Record<string, number>>;
  /** Throws an `OmopFault` at the first value that does not fit. */
  chunks(): Iterable<OmopChunk>;
  /** The same rows, for who only wants some columns of them. */
  readonly tables: readonly OmopRows[];
}

export interface OmopRows {
  readonly table: OmopTable;
  readonly columns: readonly OmopColumn[];
  readonly count: number;
  /** Undefined where the row does not have it. */
  readonly value: (row: number, column: number) => unknown;
}

/** It enters the journal. */
const BATCH_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const ROWS_AT_ONCE = 1_000;
const CHARACTERS_AT_ONCE = 4 * 1024 * 1024;

type Dict = Readonly<Record<string, unknown>>;

/** Reads the form of a batch; its values are read by `chunks`. Throws an `OmopFault`. */
export function parseOmopBatch(operation: unknown): OmopBatch {
  const { batch_id: batchId = null, rows, ...rest } = dict(operation, 'invalid_operation');
  if (Object.keys(rest).length > 0) throw new OmopFault('unknown_field');
  if (batchId !== null && (typeof batchId !== 'string' || !BATCH_ID.test(batchId)))
    throw new OmopFault('invalid_batch_id');
  const given = dict(rows, 'invalid_operation:rows');
  if (Object.keys(given).some((name) => !OMOP_TABLES.has(name))) throw new OmopFault('unknown_table');
  const tables = [...OMOP_TABLES.values()]
    .filter(({ name }) => Object.hasOwn(given, name))
    .map((table) => rowsOf(table, given[table.name]));
  const counts = Object.fromEntries(tables.map(({ table, count }) => [table.name, count]));
  if (tables.every(({ count }) => count === 0)) throw new OmopFault('empty_batch');
  return { batchId, counts, tables, chunks: () => chunksOf(tables) };
}

function dict(value: unknown, code: string): Dict {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new OmopFault(code);
  return value as Dict;
}

function rowsOf(table: OmopTable, given: unknown): OmopRows {
  const fault = (kind: string): OmopFault => new OmopFault(`${kind}:${table.name}`);
  if (Array.isArray(given)) {
    const rows = given as readonly unknown[];
    const names = new Set<string>();
    for (const row of rows) for (const name of Object.keys(dict(row, `invalid_rows:${table.name}`))) names.add(name);
    const columns = columnsOf(table, [...names], rows.length);
    const value = (row: number, column: number): unknown => {
      const { name } = columns[column] as OmopColumn;
      return Object.hasOwn(rows[row] as Dict, name) ? (rows[row] as Dict)[name] : undefined;
    };
    return { table, columns, count: rows.length, value };
  }
  const { columns: names, values, ...rest } = dict(given, `invalid_rows:${table.name}`);
  if (!Array.isArray(names) || !Array.isArray(values) || Object.keys(rest).length > 0) throw fault('invalid_rows');
  const columns = columnsOf(table, names, values.length);
  const whole = (row: unknown): boolean => Array.isArray(row) && row.length === columns.length;
  if (!values.every(whole)) throw fault('invalid_rows');
  const rows = values as readonly (readonly unknown[])[];
  return { table, columns, count: rows.length, value: (row, column) => rows[row]?.[column] };
}

function columnsOf(table: OmopTable, names: readonly unknown[], count: number): readonly OmopColumn[] {
  const columns = names.map((name) => table.columns.find((column) => column.name === name));
  if (columns.includes(undefined) || new Set(names).size !== names.length) {
    throw new OmopFault(`unknown_column:${table.name}`);
  }
  if (count > 0 && names.length === 0) throw new OmopFault(`invalid_rows:${table.name}`);
  const missing = table.columns.find(({ name, required }) => required && !names.includes(name));
  if (count > 0 && missing !== undefined) throw new OmopFault(`missing_value:${table.name}.${missing.name}`);
  return columns as OmopColumn[];
}

function* chunksOf(tables: readonly OmopRows[]): Generator<OmopChunk> {
  for (const { table, columns, count, value } of tables) {
    for (let from = 0; from < count;) {
      const lists: string[][] = columns.map(() => []);
      let characters = 0;
      let row = from;
      for (; row < count && row < from + ROWS_AT_ONCE && characters < CHARACTERS_AT_ONCE; row += 1) {
        for (const [at, column] of columns.entries()) {
          const literal = literalOf(column, value(row, at));
          if (literal === null) throw new OmopFault(`invalid_value:${table.name}.${column.name}`);
          if (literal === 'NULL' && column.required) throw new OmopFault(`missing_value:${table.name}.${column.name}`);
          (lists[at] as string[]).push(literal);
          characters += literal.length;
        }
      }
      yield { table, columns, arrays: lists.map((list) => `{${list.join(',')}}`), rows: row - from };
      from = row;
    }
  }
}
