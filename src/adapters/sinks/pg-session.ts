/**
 * Sessions with a PostgreSQL server, kept for the next call.
 *
 * Invariant: a session is used by one caller at a time and goes back only as it came, outside of a transaction; any other is cut.
 * A call ends with its signal at the latest, and nothing is ever sent again by itself.
 */
import type * as Pg from 'pg';
import { optionalPeer } from '../optional-peer';
import { connectionParts, type PostgresConnection } from '../postgres/postgres-connection';
import { SqlFault } from './sql-fault';

export interface SqlResult {
  /** First word of what the server did, as in `INSERT`. */
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

export interface PgSession {
  /** One statement with its values, `$1` first; the server takes no second one in the same text. */
  run(text: string, values?: readonly unknown[]): Promise<SqlResult>;
  /** Statements without values; what the last one gave. */
  script(text: string): Promise<SqlResult>;
}

export interface PgSessionOptions {
  /** What errors call the adapter that needs the client library. */
  readonly adapter: string;
  readonly connection: string | PostgresConnection;
  /** As `pg_stat_activity` shows it. */
  readonly applicationName: string;
  readonly maxSessions: number;
  readonly connectWithinMs: number;
}

const IDLE_MS = 10_000;

/** Values as JSON can carry them unchanged: what a number would round stays text. */
const READERS = new Map<number, (text: string) => unknown>([
  [16, (text) => text === 't'], // boolean
  [20, (text) => text], // bigint
  [21, Number],
  [23, Number],
  [26, Number], // oid
  [700, finite],
  [701, finite],
  [114, (text) => JSON.parse(text) as unknown], // json
  [3802, (text) => JSON.parse(text) as unknown], // jsonb
]);
const types = { getTypeParser: (oid: number) => READERS.get(oid) ?? ((text: string) => text) };

export class PgSessions {
  private readonly pool;
  private readonly isServerError;

  constructor(options: PgSessionOptions) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    const pg = optionalPeer(options.adapter, 'pg', () => require('pg') as typeof Pg);
    this.isServerError = (fault: unknown): fault is Error & { code: string } => fault instanceof pg.DatabaseError;
    const { tls, ...settings } = connectionParts(options.connection).connection;
    this.pool = new pg.Pool({
      ...settings,
      ...(tls === undefined ? {} : { ssl: tls as Pg.ClientConfig['ssl'] }),
      application_name: options.applicationName.slice(0, 63),
      max: options.maxSessions,
      connectionTimeoutMillis: options.connectWithinMs,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
      keepAlive: true,
    });
    this.pool.on('error', () => undefined); // an idle session that broke is no longer in the pool
  }

  /** Runs `use` in a session, or answers `not_connected` when there is none: nothing of `use` has run then. */
  async within<T>(signal: AbortSignal, use: (session: PgSession) => Promise<T>): Promise<T | 'not_connected'> {
    const client = await this.connect(signal);
    if (client === null) return 'not_connected';
    const run = (query: unknown): Promise<SqlResult> => this.ask(client, query, signal);
    const session: PgSession = {
      run: (text, values = []) => run({ text, values, types, queryMode: 'extended' }),
      script: (text) => run({ text, types }),
    };
    const heard = (): void => undefined; // each query is told by its own rejection
    client.on('error', heard);
    let clean = false;
    try {
      const value = await use(session);
      clean = true;
      return value;
    } finally {
      if (clean) client.off('error', heard);
      client.release(!clean);
    }
  }

  async end(): Promise<void> {
    await this.pool.end();
  }

  private async connect(signal: AbortSignal): Promise<Pg.PoolClient | null> {
    if (signal.aborted) return null;
    const connecting = this.pool.connect();
    try {
      return await untilAborted(connecting, signal);
    } catch {
      void connecting.then(
        (late) => late.release(),
        () => undefined,
      );
      return null; // the error may quote an address or a credential
    }
  }

  private async ask(client: Pg.PoolClient, query: unknown, signal: AbortSignal): Promise<SqlResult> {
    if (signal.aborted) throw new SqlFault(null, 'deadline_passed');
    try {
      const asked = client.query(query as string) as Promise<Pg.QueryResult | Pg.QueryResult[]>;
      const answer = await untilAborted(asked, signal);
      const { command, rowCount, rows } = (Array.isArray(answer) ? answer.at(-1) : answer) as Pg.QueryResult;
      return { command, rowCount, rows: rows as SqlResult['rows'] };
    } catch (fault) {
      if (this.isServerError(fault)) throw new SqlFault(fault.code);
      throw new SqlFault(null, signal.aborted ? 'deadline_passed' : 'connection_lost');
    }
  }
}

function finite(text: string): unknown {
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

/** Rejects as soon as the signal is aborted; what comes of the promise after that is dropped. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(new SqlFault(null, 'deadline_passed'));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
