/**
 * Connections of the PostgreSQL store: a small pool whose every wait is bounded.
 *
 * Invariant: a connection on which something did not end as the protocol wants is closed, never used again; and no statement is
 * sent a second time from here.
 */
import type * as Driver from 'pg';
import { optionalPeer } from '../optional-peer';
import { type PostgresConnection } from '../postgres/postgres-connection';
import { type PostgresFault } from './postgres-fault';

/** How many connections, and how long each wait may take. */
export interface PostgresLimits {
  /** Most connections at once. @default 8 */
  readonly maxConnections?: number;
  /** Longest wait for a connection, in milliseconds. @default 5000 */
  readonly connectTimeoutMs?: number;
  /** The server gives up a statement after so long, in milliseconds; we give up a little later. @default 10000 */
  readonly statementTimeoutMs?: number;
}

/** A value of a statement; bytes travel as they are. */
export type Parameter = string | number | Uint8Array | null;
/** Every field as the server's text. */
export type Row = readonly (string | null)[];

/** How much longer than the server we wait: its own word on what became of a statement is worth more than silence. */
const PATIENCE_MS = 2_000;
const TEXT_ONLY = { getTypeParser: () => (text: string) => text };

interface PgClient {
  query(query: object): Promise<{ readonly rows: readonly Row[] }>;
  release(broken: boolean): void;
  on(event: 'error' | 'notice', heard: (what: { readonly code?: string }) => void): void;
}

interface PgPool {
  connect(): Promise<PgClient>;
  end(): Promise<void>;
  on(event: 'connect', heard: (client: PgClient) => void): void;
  on(event: 'error', heard: () => void): void;
}

export class PostgresPool {
  readonly #pool: PgPool;
  readonly #answerWithinMs: number;
  readonly #warned = new WeakSet<PgClient>();

  constructor(connection: Omit<PostgresConnection, 'address'>, limits: PostgresLimits = {}) {
    const statementTimeoutMs = limits.statementTimeoutMs ?? 10_000;
    this.#answerWithinMs = statementTimeoutMs + PATIENCE_MS;
    this.#pool = new (driver().Pool)({
      ...clientConfig(connection),
      max: limits.maxConnections ?? 8,
      connectionTimeoutMillis: limits.connectTimeoutMs ?? 5_000,
      statement_timeout: statementTimeoutMs,
      idleTimeoutMillis: 10_000,
      allowExitOnIdle: true,
    }) as unknown as PgPool;
    this.#pool.on('error', () => undefined); // an idle connection was lost; the pool makes another
    this.#pool.on('connect', (client) => {
      client.on('error', () => undefined); // told by the statement that was under way
      client.on('notice', ({ code }) => void (code?.startsWith('01') && this.#warned.add(client))); // the class of warnings
    });
  }

  /** Runs one statement in a transaction of its own. Throws what only `postgresFault` understands. */
  async run(text: string, values: readonly Parameter[]): Promise<readonly Row[]> {
    const client = await this.#pool.connect();
    let broken = true;
    try {
      this.#warned.delete(client);
      const query = { text, values: values.map(toDriver), rowMode: 'array', types: TEXT_ONLY };
      const { rows } = await client.query({ ...query, query_timeout: this.#answerWithinMs });
      broken = false;
      // The server says so when a commit stopped waiting for its replicas: then it is not as durable as it must be.
      if (this.#warned.has(client)) throw Object.assign(new Error(), { fault: 'warned' satisfies PostgresFault });
      return rows;
    } catch (fault) {
      if ((fault as { severity?: unknown }).severity === 'ERROR') broken = false;
      throw fault;
    } finally {
      client.release(broken);
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/** One connection for many statements, as a migration needs it. */
export async function withConnection<T>(
  connection: Omit<PostgresConnection, 'address'>,
  limits: PostgresLimits,
  work: (run: (text: string, values?: readonly Parameter[]) => Promise<readonly Row[]>) => Promise<T>,
): Promise<T> {
  const statementTimeoutMs = limits.statementTimeoutMs ?? 10_000;
  const client = new (driver().Client)({
    ...clientConfig(connection),
    connectionTimeoutMillis: limits.connectTimeoutMs ?? 5_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + PATIENCE_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(async (text, values = []) => {
      const query = { text, values: values.map(toDriver), rowMode: 'array' as const, types: TEXT_ONLY as never };
      return (await client.query<(string | null)[]>(query)).rows;
    });
  } finally {
    await client.end().catch(() => undefined);
  }
}

function driver(): typeof Driver {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  return optionalPeer('the PostgreSQL store', 'pg', () => require('pg') as typeof Driver);
}

function clientConfig({ password, tls, ...rest }: Omit<PostgresConnection, 'address'>): Record<string, unknown> {
  return {
    ...rest,
    ...(password === undefined ? {} : { password: typeof password === 'string' ? password : askedFor(password) }),
    ...(tls === undefined ? {} : { ssl: tls }),
    keepAlive: true,
    application_name: 'countersign',
  };
}

function askedFor(password: () => string | Promise<string>): () => Promise<string> {
  return async () => {
    try {
      return await password();
    } catch {
      throw Object.assign(new Error(), { fault: 'password' satisfies PostgresFault }); // its own words may quote anything
    }
  };
}

function toDriver(value: Parameter): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}
