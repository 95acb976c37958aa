/**
 * A PostgreSQL server: an effect is one transaction of statements with parameters, and a row in the ledger beside what they wrote
 * (`migratePostgresSink` makes the ledger). Statements come from the worker's author, values from the operation.
 *
 * Invariant: the server gets each value as a parameter, never as text of a statement, and one statement at a time; what the
 * ledger says is committed was written once, and what was refused left nothing.
 */
import { type EffectSink, type SideEffectClass } from '../../ports';
import { type PostgresConnection } from '../postgres/postgres-connection';
import { type SqlIsolation } from './ledger-transaction';
import { ledgerMembers, type RunStatement, SqlLedger, type SqlOutcome, SqlRefusal } from './sql-ledger';

/** What a value of a statement may be. */
export type PostgresValue = string | number | bigint | boolean | null | Uint8Array | readonly PostgresValue[];

/** One statement and its values, `$1` first. */
export interface PostgresStatement {
  /** One statement, with `$1`, `$2` … where values stand. It must not begin or end a transaction. */
  readonly text: string;
  readonly values?: readonly PostgresValue[];
  /** How many rows it must write or give; with another number nothing is written and the effect is refused. @default any number */
  readonly rows?: number;
}

/** Which database, and which statements an operation becomes; times are in milliseconds. */
export interface PostgresSinkOptions {
  /** What errors and `pg_stat_activity` call this sink. */
  readonly name: string;
  /** An address, or its parts; what neither says comes from the PG* variables. */
  readonly connection: string | PostgresConnection;
  /** The statements of an operation, always the same for the same one. One that it throws at is refused. */
  readonly statements: (operation: unknown) => PostgresStatement | readonly PostgresStatement[];
  /** Columns of the first row that the last statement gives (`RETURNING`), kept as the result. @default none */
  readonly result?: readonly string[];
  /** The column of that row which names for good what was written; it enters the journal. @default no name */
  readonly externalId?: string;
  /** @default 'read committed' */
  readonly isolation?: SqlIsolation;
  /** Where the ledger stands. @default 'countersign' */
  readonly ledgerSchema?: string;
  /** @default 'non_idempotent_write' */
  readonly sideEffect?: SideEffectClass;
  /** @default 10000 */
  readonly deadlineMs?: number;
  /** @default 5000 */
  readonly settleMs?: number;
  /** @default 1 */
  readonly maxInFlight?: number;
  /** Most sessions that this sink has at once, in all plans. @default 10 */
  readonly maxSessions?: number;
}

const MAX_RESULT_BYTES = 256 * 1024;
const MAX_EXTERNAL_ID = 4_096;

/** Statements of an effect and its row in a ledger, in one transaction. Throws `peer_missing` without `pg`. */
export function postgresSink(options: PostgresSinkOptions): EffectSink {
  const { name, connection, isolation, ledgerSchema, deadlineMs = 10_000, settleMs = 5_000, maxInFlight } = options;
  const { maxSessions = 10 } = options;
  const ledger = new SqlLedger({
    ...{ sink: name, adapter: 'postgresSink', connection, ledgerSchema, isolation, maxSessions, deadlineMs },
  });
  return {
    kind: 'local_tool',
    sideEffect: options.sideEffect ?? 'non_idempotent_write',
    ...ledgerMembers(ledger),
    deadlineMs,
    settleMs,
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    async dispatch(item, context) {
      const statements = statementsOf(options, item.operation);
      if (statements === null) return { outcome: 'refused', code: 'invalid_operation' };
      return ledger.send(item, context, (run) => carryOut(options, statements, run));
    },
  };
}

function statementsOf(options: PostgresSinkOptions, operation: unknown): readonly PostgresStatement[] | null {
  try {
    const given = options.statements(operation);
    const statements = (Array.isArray(given) ? given : [given]) as readonly PostgresStatement[];
    const sound = ({ text, values = [] }: PostgresStatement): boolean =>
      typeof text === 'string' && Array.isArray(values) && values.every(isValue);
    return statements.length > 0 && statements.every(sound) ? statements : null;
  } catch {
    return null; // the error may quote the operation
  }
}

function isValue(value: unknown): value is PostgresValue {
  if (value === null || value instanceof Uint8Array) return true;
  if (Array.isArray(value)) return value.every(isValue);
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}

async function carryOut(
  options: PostgresSinkOptions,
  statements: readonly PostgresStatement[],
  run: RunStatement,
): Promise<SqlOutcome> {
  const rowCounts: Record<string, number> = {};
  let row: Readonly<Record<string, unknown>> | undefined;
  for (const [index, { text, values, rows }] of statements.entries()) {
    const done = await run(text, values);
    if (rows !== undefined && done.rowCount !== rows) throw new SqlRefusal('row_count');
    rowCounts[`statement_${index + 1}`] = done.rowCount ?? 0;
    row = done.rows[0];
  }
  const column = (name: string): unknown => {
    const value = row?.[name];
    if (value === undefined) throw new SqlRefusal('no_row');
    return value;
  };
  const externalId = options.externalId === undefined ? null : String(column(options.externalId));
  if (externalId !== null && externalId.length > MAX_EXTERNAL_ID) throw new SqlRefusal('external_id_too_long');
  if (options.result === undefined) return { externalId, rowCounts };
  const result = Object.fromEntries(options.result.map((name) => [name, column(name)]));
  if (Buffer.byteLength(JSON.stringify(result)) > MAX_RESULT_BYTES) throw new SqlRefusal('result_too_large');
  return { externalId, rowCounts, result };
}
