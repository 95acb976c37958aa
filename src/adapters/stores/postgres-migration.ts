/**
 * Makes the tables of a PostgreSQL store, or brings older ones up to date.
 *
 * Invariant: it happens in one transaction under a lock, so it may be asked at any time, from many places, and again; tables of a
 * newer version, and those of something else, are left alone.
 */
import { StoreError } from '../../ports';
import { type PostgresConnection } from '../postgres/postgres-connection';
import { postgresFault } from './postgres-fault';
import { located } from './postgres-place';
import { type PostgresLimits, type Row, withConnection } from './postgres-pool';
import { grants, makeVersion, MIGRATIONS, OURS } from './postgres-schema';

/** Where the tables are made, and who may use them. */
export interface PostgresMigrationOptions extends PostgresLimits {
  /** As the owner of the tables, who may make them: not the user of the workers. */
  readonly connection: string | PostgresConnection;
  /** @default that of the address, else 'countersign' */
  readonly schema?: string;
  /** The role of the workers; it is granted what they need: to read and to add, and to erase contents. */
  readonly grantTo?: string;
}

/** The versions of the tables before and after; the same where nothing was to be done. */
export interface PostgresMigrated {
  /** What was there before; 0 for nothing. */
  readonly from: number;
  readonly to: number;
}

const ROLE_NAME = /^[A-Za-z_][A-Za-z0-9_$-]{0,62}$/;

/** Makes the tables or brings them up to date, as their owner; may be asked again. Throws a `StoreError`. */
export async function migratePostgresStore(options: PostgresMigrationOptions): Promise<PostgresMigrated> {
  const { connection, schema: named } = located(options);
  const schema = `"${named}"`;
  const role = options.grantTo;
  if (role !== undefined && !ROLE_NAME.test(role)) {
    throw new StoreError(
      'store_invalid_path',
      'the role to grant to is no plain name; grant by hand, see docs/stores.md',
    );
  }
  try {
    return await withConnection(connection, options, async (run) => {
      await run('BEGIN');
      await run('SET LOCAL synchronous_commit = on');
      await run(`SELECT pg_advisory_xact_lock(hashtextextended('countersign:' || $1, 0))`, [named]);
      const there = await run('SELECT 1 FROM pg_namespace WHERE nspname = $1', [named]);
      if (there.length === 0) await run(`CREATE SCHEMA ${schema}`);
      const from = await versionOf(run, named);
      if (from === 0) await run(makeVersion(schema));
      for (const [index, migrate] of MIGRATIONS.entries()) {
        if (index < from) continue;
        await run(migrate(schema));
        await run(`INSERT INTO ${schema}.version (version) VALUES ($1)`, [index + 1]);
      }
      if (role !== undefined) await run(grants(schema, `"${role}"`));
      await run('COMMIT');
      return { from, to: MIGRATIONS.length };
    });
  } catch (fault) {
    throw postgresFault(fault, 'the migration', named);
  }
}

type Run = (text: string, values?: readonly string[]) => Promise<readonly Row[]>;

/** The version of the tables that are there; 0 for none. */
export async function postgresStoreVersion(
  options: Pick<PostgresMigrationOptions, 'connection' | 'schema'> & PostgresLimits,
): Promise<number> {
  const { connection, schema } = located(options);
  try {
    return await withConnection(connection, options, (run) => versionOf(run, schema));
  } catch (fault) {
    throw postgresFault(fault, 'the look at schema', schema);
  }
}

/** Tables of another program, and those of a newer version of this one, are refused. */
async function versionOf(run: Run, schema: string): Promise<number> {
  const rows = await run(
    `SELECT relname, obj_description(pg_class.oid, 'pg_class') FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = $1 AND relname IN ('version', 'entries', 'contents')`,
    [schema],
  );
  if (rows.length === 0) return 0;
  if (!rows.some(([name, description]) => name === 'version' && description === OURS)) {
    throw new StoreError(
      'store_unsafe_entry',
      `schema "${schema}" holds tables of something else; a store needs a schema of its own`,
    );
  }
  const [[found] = []] = await run(`SELECT coalesce(max(version), 0)::text FROM "${schema}".version`);
  const version = Number(found);
  if (version <= MIGRATIONS.length) return version;
  throw new StoreError(
    'store_unavailable',
    `schema "${schema}" is of version ${version}, newer than the ${MIGRATIONS.length} known here; use a newer countersign`,
  );
}
