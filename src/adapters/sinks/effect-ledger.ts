/**
 * The two tables in which a PostgreSQL server remembers effects, beside the rows that they wrote.
 *
 *   effect          one row an effect, by its key: the first thing that its transaction writes
 *   effect_outcome  what came of it: its name, how many rows it wrote, its result; written last
 *
 * Invariant: whoever sends effects needs SELECT and INSERT on both, and nothing else; no row is ever changed.
 */
import { type PostgresConnection } from '../postgres/postgres-connection';
import { PgSessions } from './pg-session';
import { SinkError } from './sink-error';

export const DEFAULT_LEDGER_SCHEMA = 'countersign';

/** A name as SQL takes it, whatever stands in it. */
export function quoted(name: string): string {
  if (name === '' || name.includes('\0') || Buffer.byteLength(name) > 63) {
    throw new Error('A name in PostgreSQL has 1 to 63 bytes and no NUL; choose another.');
  }
  return `"${name.replaceAll('"', '""')}"`;
}

export interface LedgerTables {
  readonly effect: string;
  readonly outcome: string;
}

export function ledgerTables(schema: string = DEFAULT_LEDGER_SCHEMA): LedgerTables {
  return { effect: `${quoted(schema)}.effect`, outcome: `${quoted(schema)}.effect_outcome` };
}

/** Where the ledger of a SQL sink stands. */
export interface LedgerDdlOptions {
  /** @default 'countersign' */
  readonly schema?: string;
  /** A role that is there already and sends effects; it gets what it needs. @default nobody gets anything */
  readonly role?: string;
}

/** Statements that make the ledger, for whoever may make schemas; running them again changes nothing. */
export function postgresLedgerDdl({ schema = DEFAULT_LEDGER_SCHEMA, role }: LedgerDdlOptions = {}): string {
  const { effect, outcome } = ledgerTables(schema);
  const statements = [
    `CREATE SCHEMA IF NOT EXISTS ${quoted(schema)}`,
    `CREATE TABLE IF NOT EXISTS ${effect} (
  idempotency_key text PRIMARY KEY,
  operation_digest text NOT NULL,
  tool_id text NOT NULL,
  action_id text NOT NULL,
  committed_at timestamptz NOT NULL DEFAULT now()
)`,
    `CREATE TABLE IF NOT EXISTS ${outcome} (
  idempotency_key text PRIMARY KEY REFERENCES ${effect},
  external_id text,
  row_counts json NOT NULL,
  result json
)`,
    ...(role === undefined
      ? []
      : [
          `GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${quoted(role)}`,
          `GRANT SELECT, INSERT ON ${effect}, ${outcome} TO ${quoted(role)}`,
        ]),
  ];
  return statements.map((statement) => `${statement};\n`).join('');
}

/** Where a ledger is to be made, and as whom. */
export interface MigrateOptions extends LedgerDdlOptions {
  /** As somebody who may make schemas; a sink needs less. */
  readonly connection: string | PostgresConnection;
}

// Any number would do, so long as it stays: whoever migrates waits for whoever migrates.
const MIGRATION_LOCK = '7301583904221160449';
const MIGRATE_WITHIN_MS = 30_000;

/** Makes the ledger of `postgresSink` and `omopSink` where there is none. Any number may run at once. */
export async function migratePostgresSink({ connection, ...options }: MigrateOptions): Promise<void> {
  const about = { sink: 'migratePostgresSink', key: options.schema ?? DEFAULT_LEDGER_SCHEMA };
  const sessions = new PgSessions({
    adapter: 'migratePostgresSink',
    connection,
    applicationName: 'countersign/migrate',
    maxSessions: 1,
    connectWithinMs: MIGRATE_WITHIN_MS,
  });
  try {
    const done = await sessions.within(AbortSignal.timeout(MIGRATE_WITHIN_MS), ({ script }) =>
      script(
        `BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_advisory_xact_lock(${MIGRATION_LOCK}); ${postgresLedgerDdl(options)} COMMIT`,
      ),
    );
    if (done === 'not_connected') throw new SinkError('not_reachable', about);
  } catch (fault) {
    if (fault instanceof SinkError) throw fault;
    throw new SinkError('statement_failed', about, { detail: (fault as Error).message });
  } finally {
    await sessions.end();
  }
}
