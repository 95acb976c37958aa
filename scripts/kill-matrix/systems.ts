/**
 * The real systems of one run of the matrix: started once, each sink behind its line, each journal in a place of its own.
 * Invariant: only what the run needs is started; what cannot be had is told by its sentence, and ends the run where all of it is
 * demanded.
 */
import path from 'node:path';
import { ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import { migratePostgresSink } from '../../src/adapters/sinks';
import { script } from '../../test/adapters/sinks/omop-database';
import { startHapi } from '../../test/systems/hapi';
import { startPostgres, type PostgresServer } from '../../test/systems/postgres';
import { ACCESS, type S3Server } from '../../test/systems/s3-server';
import { allSystemsDemanded, isMissing, type Missing, type Running } from '../../test/systems/system';
import { startVersitygw } from '../../test/systems/versitygw';
import { type CellSink } from './cell-sink';
import { openHttpLine } from './http-line';
import { type JournalName } from './journals';
import { openPgLine } from './pg-line';
import { OMOP_ROWS, OMOP_SCHEMA, omopCount, type OmopRows, type PostgresRow, postgresRow } from './real-operations';
import { FHIR_SYSTEM, type RealSinkName } from './sinks';
import { keyIn } from './struck-writes';

/** A real sink and the line before it. */
export interface RealSink {
  /** Where workers find it. */
  readonly url: string;
  /** `operationOf` gives what was asked for under a key. */
  cell(operationOf: (key: string) => unknown): CellSink;
  close(): Promise<void>;
}

export interface Skipped {
  readonly name: string;
  readonly missing: string;
}

/** Each cell has up to three workers, each of them a few sessions. */
const POSTGRES = { settings: { max_connections: 400 } };

export class Systems {
  readonly sinks = new Map<RealSinkName, RealSink>();
  readonly skipped: Skipped[] = [];
  #postgres: Promise<PostgresServer | Missing> | null = null;
  #s3: Promise<S3Server | Missing> | null = null;
  readonly #started: Running[] = [];
  /** Null where a folder will do. */
  #place: ((cell: string) => string) | null = null;
  #hasJournals = true;

  private constructor() {}

  static async open(sinks: readonly RealSinkName[], journal: JournalName): Promise<Systems> {
    const systems = new Systems();
    try {
      const place = await systems.#journals(journal);
      if (place !== null && isMissing(place)) {
        systems.#hasJournals = false;
        systems.skipped.push({ name: `all with journals in ${journal}`, ...place });
      } else systems.#place = place;
      for (const name of systems.#hasJournals ? sinks : []) {
        const sink = await systems.#open[name]();
        if (isMissing(sink)) systems.skipped.push({ name, ...sink });
        else systems.sinks.set(name, sink);
      }
      const [first] = systems.skipped;
      if (first !== undefined && allSystemsDemanded()) throw new Error(`${first.name}: ${first.missing}`);
      return systems;
    } catch (fault) {
      await systems.close();
      throw fault;
    }
  }

  /** Without them, nothing can be played. */
  get hasJournals(): boolean {
    return this.#hasJournals;
  }

  /** The address of a journal, for a cell of this name with a folder of its own. */
  journal(folder: string, name: string): string {
    return this.#place?.(name.replaceAll('-', '_')) ?? path.join(folder, 'journal');
  }

  async close(): Promise<void> {
    await Promise.all([...this.sinks.values()].map((sink) => sink.close()));
    await Promise.all(this.#started.map((system) => system.end()));
  }

  async #journals(name: JournalName): Promise<((cell: string) => string) | Missing | null> {
    switch (name) {
      case 'files':
        return null;
      case 'postgres': {
        const server = await this.#startPostgres();
        if (isMissing(server)) return server;
        const database = await server.makeDatabase();
        return (cell) => `${server.address(database)}?schema=${cell}`;
      }
      case 's3': {
        const server = await this.#startS3();
        if (isMissing(server)) return server;
        const bucket = await server.makeBucket();
        return (cell) => `s3://${bucket}/${cell}/journal?endpoint=${server.endpoint}`;
      }
    }
  }

  readonly #open: Record<RealSinkName, () => Promise<RealSink | Missing>> = {
    hapi: async () => {
      const server = await this.#keep(startHapi());
      if (isMissing(server)) return server;
      const line = await openHttpLine('hapi', new URL(server.baseUrl), ({ method, headers }) =>
        method === 'POST' ? keyIn(String(headers['if-none-exist'] ?? '')) : null,
      );
      const written = async (key: string): Promise<number> => {
        const tag = encodeURIComponent(`${FHIR_SYSTEM}/idempotency-key|${key}`);
        const reply = await fetch(`${server.baseUrl}/Observation?_tag=${tag}`, {
          headers: { 'cache-control': 'no-store' },
        });
        const { resourceType, entry = [] } = (await reply.json()) as { resourceType?: string; entry?: unknown[] };
        if (!reply.ok || resourceType !== 'Bundle') throw new Error(`HAPI FHIR counted with status ${reply.status}`);
        return entry.length;
      };
      return { url: `http://127.0.0.1:${line.port}`, cell: () => line.writes.sink(written), close: line.close };
    },
    postgres: async () => {
      const server = await this.#startPostgres();
      if (isMissing(server)) return server;
      return this.#database(server, postgresRow.table, (operation) => postgresRow.count(operation as PostgresRow), 1);
    },
    omop: async () => {
      const server = await this.#startPostgres();
      if (isMissing(server)) return server;
      const tables = `CREATE SCHEMA ${OMOP_SCHEMA}; ${script('ddl')}`;
      const count = (operation: unknown): string => omopCount(operation as OmopRows);
      return this.#database(server, tables, count, OMOP_ROWS);
    },
    s3: async () => {
      const server = await this.#startS3();
      if (isMissing(server)) return server;
      const bucket = await server.makeBucket({ versioned: true });
      const line = await openHttpLine('s3', new URL(server.endpoint), ({ method, headers }) =>
        method === 'PUT' ? keyIn(String(headers['x-amz-meta-countersign-key'] ?? '')) : null,
      );
      const written = async (key: string): Promise<number> => {
        const { Versions = [] } = await server.client.send(
          new ListObjectVersionsCommand({ Bucket: bucket, Prefix: key }),
        );
        return Versions.length;
      };
      const url = `s3://${bucket}?endpoint=http://127.0.0.1:${line.port}`;
      return { url, cell: () => line.writes.sink(written), close: line.close };
    },
  };

  /** A database of its own behind a line; a write is so many rows, and all of them or none. */
  async #database(
    server: PostgresServer,
    tables: string,
    count: (operation: unknown) => string,
    rows: number,
  ): Promise<RealSink> {
    const database = await server.makeDatabase();
    await server.query(database, tables);
    await migratePostgresSink({ connection: server.address(database) });
    const line = await openPgLine(server.port);
    return {
      url: `postgres://${server.owner}@127.0.0.1:${line.port}/${database}`,
      cell: (operationOf) =>
        line.sink(async (key) => {
          const [found] = await server.query(database, count(operationOf(key)));
          const writes = Number(found?.['rows']) / rows;
          if (!Number.isInteger(writes)) throw new Error('an effect is there in part');
          return writes;
        }),
      close: line.close,
    };
  }

  #startPostgres(): Promise<PostgresServer | Missing> {
    return (this.#postgres ??= this.#keep(startPostgres(POSTGRES)));
  }

  #startS3(): Promise<S3Server | Missing> {
    // Workers find the credentials where they do in production.
    process.env['AWS_ACCESS_KEY_ID'] = ACCESS.accessKeyId;
    process.env['AWS_SECRET_ACCESS_KEY'] = ACCESS.secretAccessKey;
    return (this.#s3 ??= this.#keep(startVersitygw({ versions: true })));
  }

  async #keep<System extends Running>(starting: Promise<System | Missing>): Promise<System | Missing> {
    const system = await starting;
    if (!isMissing(system)) this.#started.push(system);
    return system;
  }
}
