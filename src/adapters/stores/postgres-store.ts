/**
 * The store in PostgreSQL: an entry is a row, and a create is an insert that does nothing where the row is.
 *
 * Invariant: of all who create one name, exactly one is told `created`; when it is told, the entry survives a crash of the server.
 * A failure of any kind, a connection lost during a commit above all, is thrown: nothing is known until the entry is read.
 * A standby is never asked, since what it lacks yet would pass for absent; and after a commit that is not on its replicas, nothing is
 * told before they have all that was committed.
 */
import { type ContentStore, type CreateOutcome, type Store, StoreError } from '../../ports';
import { type PostgresConnection } from '../postgres/postgres-connection';
import { BEHIND_ALL, entrySegments, folderSegments } from './entry-path';
import { DEFAULT_MAX_ENTRY_BYTES, tooLarge } from './entry-size';
import { isPassing, isWarned, type PostgresFault, postgresFault } from './postgres-fault';
import { located } from './postgres-place';
import { type Parameter, type PostgresLimits, PostgresPool, type Row } from './postgres-pool';
import {
  catchUpStatement,
  createStatement,
  eraseStatement,
  listStatement,
  type PostgresTable,
  readStatement,
} from './postgres-schema';

/** Which server, schema and limits. */
export interface PostgresStoreOptions extends PostgresLimits {
  /** An address, or its parts; what neither says comes from the PG* variables. */
  readonly connection: string | PostgresConnection;
  /** @default that of the address, else 'countersign' */
  readonly schema?: string;
  /** Largest entry that is written or read, in bytes. @default 16 MiB */
  readonly maxEntryBytes?: number;
}

/** Names in one answer; a longer list takes several. */
const PAGE = 1_000;
/** Creates that undid each other are repeated so often: nothing of them is left when the server says so. */
const ATTEMPTS = 5;
const OUTCOMES: Readonly<Record<string, CreateOutcome>> = { c: 'created', i: 'identical', x: 'conflict' };

/** The journal's store: it can add and read, never change. Its tables are made by `migratePostgresStore`. */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  return new PostgresStore(options, 'entries');
}

/** The store for operation contents and results, in a table of its own. */
export function postgresContentStore(options: PostgresStoreOptions): PostgresContentStore {
  return new PostgresContentStore(options);
}

/** Entries in PostgreSQL; throws a `StoreError`. `close` ends its connections. */
export class PostgresStore implements Store {
  readonly scope = 'shared';
  readonly #pool: PostgresPool;
  readonly #maxEntryBytes: number;
  readonly #schema: string;
  readonly #table: PostgresTable;
  /** Commits that gave up waiting for their replicas, and those of them that are known to be there all the same. */
  readonly #given = { up: 0, made: 0 };

  constructor(options: PostgresStoreOptions, table: PostgresTable) {
    const { connection, schema } = located(options);
    this.#pool = new PostgresPool(connection, options);
    this.#maxEntryBytes = options.maxEntryBytes ?? DEFAULT_MAX_ENTRY_BYTES;
    this.#schema = `"${schema}"`;
    this.#table = table;
  }

  async create(entry: string, bytes: Uint8Array): Promise<CreateOutcome> {
    const [outcome] = await this.createInOrder([[entry, bytes]]);
    return outcome as CreateOutcome;
  }

  /** One statement, and so one transaction and one round trip. */
  async createInOrder(entries: readonly (readonly [string, Uint8Array])[]): Promise<readonly CreateOutcome[]> {
    const folders = new Set(entries.flatMap(([entry]) => foldersOf(entrySegments(entry))));
    for (const [entry, bytes] of entries) {
      if (bytes.length > this.#maxEntryBytes) throw tooLarge(entry, this.#maxEntryBytes);
      if (folders.has(entry)) throw new StoreError('store_unsafe_entry', `"${entry}" cannot be an entry and a folder`);
    }
    if (entries.length === 0) return [];
    const statement = createStatement(this.#schema, this.#table, entries.length);
    const values = [...entries.map(([entry]) => entry), ...entries.map(([, bytes]) => bytes), [...folders].join(' ')];
    const [[outcomes] = []] = await this.#run('create', entries[0]?.[0] ?? '', statement, values, ATTEMPTS);
    return [...(outcomes ?? '')].map((letter) => OUTCOMES[letter] as CreateOutcome);
  }

  async read(entry: string): Promise<Uint8Array | null> {
    entrySegments(entry);
    const statement = readStatement(this.#schema, this.#table);
    const [[standby, length, base64] = []] = await this.#run('read', entry, statement, [entry, this.#maxEntryBytes]);
    refuseStandby(standby, 'read', entry);
    if ((length ?? null) === null) return null;
    if ((base64 ?? null) === null) throw tooLarge(entry, this.#maxEntryBytes);
    return new Uint8Array(Buffer.from(base64 as string, 'base64'));
  }

  async list(prefix: string, after?: string): Promise<readonly string[]> {
    const segments = folderSegments(prefix);
    const folder = segments.map((segment) => `${segment}/`).join('');
    const end = folder === '' ? BEHIND_ALL : `${folder.slice(0, -1)}0`;
    const statement = listStatement(this.#schema, this.#table);
    const names: string[] = [];
    for (let from = firstAfter(folder, after); ;) {
      const rows = await this.#run('list', prefix, statement, [folder, from, end, PAGE]);
      refuseStandby(rows[0]?.[0], 'list', prefix);
      const page = rows.flatMap(([, name]) => (name === null || name === undefined ? [] : [name]));
      names.push(...page);
      if (page.length < PAGE) return names;
      from = firstAfter(folder, page.at(-1));
    }
  }

  /** Ends its connections; those that are not in use end by themselves, so a process need not call it to exit. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  protected async erase(entry: string): Promise<void> {
    entrySegments(entry);
    await this.#run('delete', entry, eraseStatement(this.#schema), [entry], ATTEMPTS);
  }

  async #run(
    action: string,
    entry: string,
    statement: string,
    values: readonly Parameter[],
    attempts = 1,
  ): Promise<readonly Row[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#catchUp();
        return await this.#pool.run(statement, values);
      } catch (fault) {
        if (isWarned(fault)) this.#given.up += 1;
        if (attempt < attempts && isPassing(fault)) continue;
        throw postgresFault(fault, action, entry);
      }
    }
  }

  /** What is committed later is on the replicas later, so one commit that has waited stands for all before it. */
  async #catchUp(): Promise<void> {
    const { up, made } = this.#given;
    if (up === made) return;
    await this.#pool.run(catchUpStatement(this.#schema), []);
    this.#given.made = up;
  }
}

/** Contents in PostgreSQL: what `PostgresStore` does, and erasure. */
export class PostgresContentStore extends PostgresStore implements ContentStore {
  constructor(options: PostgresStoreOptions) {
    super(options, 'contents');
  }

  delete(entry: string): Promise<void> {
    return this.erase(entry);
  }
}

function foldersOf(segments: readonly string[]): readonly string[] {
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join('/'));
}

/** The first path whose name directly below the folder may come after `after`. See `listStatement` for "0" and "!". */
function firstAfter(folder: string, after: string | undefined): string {
  if (after === undefined) return folder;
  const name = after.replace(/\0.*/s, ''); // no text of PostgreSQL holds it, and no name either
  const slash = name.indexOf('/');
  return `${folder}${slash < 0 ? `${name}!` : `${name.slice(0, slash)}0`}`;
}

function refuseStandby(standby: string | null | undefined, action: string, entry: string): void {
  if (standby === 'true') throw postgresFault({ fault: 'standby' satisfies PostgresFault }, action, entry);
}
