/**
 * The tables of the PostgreSQL store, and the functions through which it writes.
 *
 * Invariant: a statement that writes is one call of a function here, so it commits as a whole or not at all, and each of them
 * first makes sure that the server will not acknowledge what a crash could take back. No function runs with more rights than
 * its caller, and none updates or deletes an entry of a journal.
 */
import { UNSAFE_ENTRY_STATE, UNSAFE_SERVER_STATE } from './postgres-fault';

/** Journals and contents: the one never loses a row, the other can be erased. */
export type PostgresTable = 'entries' | 'contents';

/** Said by the server of the table that tells the version, so that no table of another program passes for it. */
export const OURS = 'countersign store';

export const makeVersion = (schema: string): string => `
  CREATE TABLE IF NOT EXISTS ${schema}.version (version int PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now());
  COMMENT ON TABLE ${schema}.version IS '${OURS}'`;

/** Each makes what the one before it made newer; none is ever changed once it was released. */
export const MIGRATIONS: readonly ((schema: string) => string)[] = [
  (schema: string): string => `
    CREATE TABLE ${schema}.entries (path text COLLATE "C" PRIMARY KEY, bytes bytea NOT NULL);
    CREATE TABLE ${schema}.contents (path text COLLATE "C" PRIMARY KEY, bytes bytea NOT NULL);

    CREATE FUNCTION ${schema}.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'an entry of a journal never changes' USING ERRCODE = '42501';
    END $$;
    CREATE TRIGGER entries_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON ${schema}.entries
      FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.refuse_change();

    CREATE FUNCTION ${schema}.be_durable() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF current_setting('fsync') <> 'on' THEN
        RAISE EXCEPTION 'fsync is off' USING ERRCODE = '${UNSAFE_SERVER_STATE}';
      END IF;
      IF current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
      END IF;
    END $$;
    ${createFunction(schema, 'entries')}
    ${createFunction(schema, 'contents')}

    CREATE FUNCTION ${schema}.erase_content(wanted text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM ${schema}.be_durable();
      DELETE FROM ${schema}.contents WHERE path = wanted;
    END $$;
  `,
];

/** What a worker needs; no more. */
export function grants(schema: string, role: string): string {
  return `
    GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT SELECT, INSERT ON ${schema}.entries TO ${role};
    GRANT SELECT, INSERT, DELETE ON ${schema}.contents TO ${role};
    GRANT SELECT ON ${schema}.version TO ${role};
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${role};
  `;
}

/** Paths, their bytes, and all their folders; gives one letter an entry: created, identical, or conflict, which is the last. */
export const createStatement = (schema: string, table: PostgresTable, count: number): string => {
  const parameters = (from: number): string => Array.from({ length: count }, (_, at) => `$${from + at}`).join(', ');
  return (
    `SELECT ${schema}.create_${table}(ARRAY[${parameters(1)}]::text[], ARRAY[${parameters(count + 1)}]::bytea[], ` +
    `string_to_array($${2 * count + 1}, ' '))`
  );
};

export const readStatement = (schema: string, table: PostgresTable): string => `
  SELECT pg_is_in_recovery()::text, octet_length(found.bytes)::text,
    CASE WHEN octet_length(found.bytes) <= $2::int THEN encode(found.bytes, 'base64') END
  FROM (VALUES (1)) AS always LEFT JOIN ${schema}.${table} AS found ON found.path = $1`;

export const eraseStatement = (schema: string): string => `SELECT ${schema}.erase_content($1)`;

/** A commit of nothing, which waits as one of an entry does. */
export const catchUpStatement = (schema: string): string =>
  `SELECT ${schema}.be_durable(), pg_logical_emit_message(true, 'countersign', '')`;

/**
 * From one name to the next by the index, whatever stands below a folder: $1 the folder with its slash, $2 the first path that may
 * count, $3 a path behind all. "0" follows "/", and "!" comes before every character of a path.
 */
export const listStatement = (schema: string, table: PostgresTable): string => `
  WITH RECURSIVE walk (name) AS (
    (SELECT ${nameOf('path')} FROM ${schema}.${table} WHERE path >= $2 AND path < $3 ORDER BY path LIMIT 1)
    UNION ALL
    SELECT ${nameOf('next.path')} FROM walk CROSS JOIN LATERAL (
      SELECT path FROM ${schema}.${table}
      WHERE path < $3 AND path >= $1 || CASE WHEN right(walk.name, 1) = '/' THEN left(walk.name, -1) || '0' ELSE walk.name || '!' END
      ORDER BY path LIMIT 1
    ) AS next
  )
  SELECT pg_is_in_recovery()::text, page.name
  FROM (VALUES (1)) AS always LEFT JOIN (SELECT name FROM walk LIMIT $4::int) AS page ON true`;

function nameOf(path: string): string {
  const rest = `substr(${path}, length($1) + 1)`;
  return `(CASE WHEN strpos(${rest}, '/') = 0 THEN ${rest} ELSE left(${rest}, strpos(${rest}, '/')) END) COLLATE "C"`;
}

// Each statement of the loop sees what was committed before it began, also by a rival that the insert had to wait for.
function createFunction(schema: string, table: PostgresTable): string {
  return `
    CREATE FUNCTION ${schema}.create_${table}(paths text[], given bytea[], folders text[])
    RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      outcomes text := '';
      same boolean;
    BEGIN
      PERFORM ${schema}.be_durable();
      PERFORM 1 FROM ${schema}.${table} WHERE path = ANY (folders);
      IF FOUND THEN
        RAISE EXCEPTION 'an entry is no folder' USING ERRCODE = '${UNSAFE_ENTRY_STATE}';
      END IF;
      FOR at IN 1 .. cardinality(paths) LOOP
        PERFORM 1 FROM ${schema}.${table} WHERE path > paths[at] || '/' AND path < paths[at] || '0' LIMIT 1;
        IF FOUND THEN
          RAISE EXCEPTION 'a folder is no entry' USING ERRCODE = '${UNSAFE_ENTRY_STATE}';
        END IF;
        LOOP
          INSERT INTO ${schema}.${table} (path, bytes) VALUES (paths[at], given[at]) ON CONFLICT (path) DO NOTHING;
          IF FOUND THEN
            outcomes := outcomes || 'c';
            EXIT;
          END IF;
          SELECT bytes = given[at] INTO same FROM ${schema}.${table} WHERE path = paths[at];
          IF FOUND THEN
            outcomes := outcomes || CASE WHEN same THEN 'i' ELSE 'x' END;
            EXIT;
          END IF;
        END LOOP;
        EXIT WHEN right(outcomes, 1) = 'x';
      END LOOP;
      RETURN outcomes;
    END $$;`;
}
