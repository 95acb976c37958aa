/**
 * `postgres://user:password@host:port/database?schema=…&sslmode=…`: where a PostgreSQL server is, in one line.
 *
 * Invariant: an address is understood as a whole or refused; what is refused is never repeated, since it may hold a password.
 */
import { readFileSync } from 'node:fs';
import { type PostgresConnection, type PostgresTls } from './postgres-connection';

export const DEFAULT_SCHEMA = 'countersign';

export interface PostgresAddress {
  readonly connection: PostgresConnection;
  readonly schema: string;
}

/** Its message says what is wrong, never what was given. */
export class PostgresAddressError extends Error {
  override readonly name = 'PostgresAddressError';
}

const SCHEME = /^postgres(?:ql)?:\/\//;
/** A name that needs no quotes anywhere; also in what people write down. */
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;
const PARAMETERS = ['schema', 'sslmode', 'sslrootcert', 'host'] as const;
const TLS_OF_MODE: Readonly<Record<string, (ca: string | undefined) => boolean | PostgresTls>> = {
  disable: () => false,
  /** Encrypts, and asks nobody who the server is. */
  require: () => ({ rejectUnauthorized: false }) as PostgresTls,
  'verify-full': (ca) => (ca === undefined ? true : { ca: readAuthority(ca) }),
};

export function isPostgresAddress(address: string): boolean {
  return SCHEME.test(address);
}

export function parsePostgresAddress(address: string): PostgresAddress {
  const url = toUrl(address);
  const query = parametersOf(url);
  const host = query.host ?? url.hostname.replace(/^\[(.+)\]$/, '$1');
  const database = decoded(url.pathname.slice(1));
  if (database.includes('/')) throw refused('names a path where one database belongs');
  const tls = tlsOf(query);
  return {
    schema: checkedSchema(query.schema ?? DEFAULT_SCHEMA),
    connection: {
      ...(host === '' ? {} : { host: decoded(host) }),
      ...(url.port === '' ? {} : { port: Number(url.port) }),
      ...(database === '' ? {} : { database }),
      ...(url.username === '' ? {} : { user: decoded(url.username) }),
      ...(url.password === '' ? {} : { password: decoded(url.password) }),
      ...(tls === undefined ? {} : { tls }),
    },
  };
}

export function checkedSchema(schema: string): string {
  if (SCHEMA_NAME.test(schema) && !schema.startsWith('pg_')) return schema;
  throw refused('names a schema that is not made of up to 63 lower-case letters, digits and "_"');
}

/** The address as it may be shown: no user, no password, nothing that only the connection needs. */
export function shownPostgresAddress(address: string): string {
  const { connection, schema } = parsePostgresAddress(address);
  const host = connection.host ?? '';
  const at = host.includes(':') ? `[${host}]` : host.startsWith('/') ? encodeURIComponent(host) : host;
  const port = connection.port === undefined ? '' : `:${connection.port}`;
  return `postgres://${at}${port}/${connection.database ?? ''}${schema === DEFAULT_SCHEMA ? '' : `?schema=${schema}`}`;
}

function toUrl(address: string): URL {
  try {
    if (isPostgresAddress(address)) return new URL(address);
  } catch {
    // said below, without the address
  }
  throw refused('is not of the form postgres://user@host:5432/database');
}

function parametersOf(url: URL): Partial<Record<(typeof PARAMETERS)[number], string>> {
  const names: readonly string[] = PARAMETERS;
  for (const name of url.searchParams.keys()) {
    if (!names.includes(name)) throw refused(`has a parameter other than ${names.join(', ')}`);
  }
  return Object.fromEntries(url.searchParams);
}

function tlsOf({ sslmode, sslrootcert }: { sslmode?: string; sslrootcert?: string }): PostgresConnection['tls'] {
  if (sslmode === undefined && sslrootcert === undefined) return undefined;
  const mode = Object.hasOwn(TLS_OF_MODE, sslmode ?? '') ? TLS_OF_MODE[sslmode as string] : undefined;
  if (sslrootcert !== undefined && sslmode !== 'verify-full')
    throw refused('has sslrootcert without sslmode=verify-full');
  if (mode === undefined) throw refused(`has an sslmode other than ${Object.keys(TLS_OF_MODE).join(', ')}`);
  return mode(sslrootcert);
}

function readAuthority(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch {
    throw refused('names an sslrootcert that cannot be read');
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('holds a "%" that does not escape anything');
  }
}

function refused(why: string): PostgresAddressError {
  return new PostgresAddressError(`the PostgreSQL address ${why}; correct it`);
}
