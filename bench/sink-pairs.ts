/**
 * The same write twice: by a shipped sink, and by the bare client as an author would write it without one. Invariant: both go to
 * the same server by a kept connection, and every write is a new one.
 */
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { fhirSink, migratePostgresSink, omopSink, postgresSink, s3Sink } from '../src/adapters/sinks';
import type { EffectSink } from '../src';
import { sha256Hex } from '../src/rules/recovery';
import { startFhirServer } from '../src/testing/fhir-server';
import { OMOP_SCHEMA, omopBatch, postgresRow, type PostgresRow } from '../scripts/kill-matrix/real-operations';
import { script } from '../test/adapters/sinks/omop-database';
import { type PostgresServer } from '../test/systems/postgres';
import { type S3Server } from '../test/systems/s3-server';
import type { Act } from './measure';

export interface SinkPair {
  readonly name: string;
  readonly bare: Act;
  readonly sink: Act;
}

const DEADLINE_MS = 20_000;

const sending =
  (sink: EffectSink, operation: () => unknown): Act =>
  async () => {
    const key = `idem_${sha256Hex(randomUUID())}`;
    const item = { toolId: 'tool:countersign.bench/write@1.0.0', actionId: 'bench', idempotencyKey: key };
    const { outcome } = await sink.dispatch(
      { ...item, operationDigest: `sha256:${sha256Hex(key)}`, operation: operation() },
      { signal: AbortSignal.timeout(DEADLINE_MS), deadlineMs: DEADLINE_MS },
    );
    if (outcome !== 'accepted') throw new Error(`a sink answered ${outcome}`);
  };

export async function sinkPairs(
  postgres: PostgresServer | null,
  s3: S3Server | null,
): Promise<{ readonly pairs: readonly SinkPair[]; close(): Promise<void> }> {
  const pairs: SinkPair[] = [];
  const ends: (() => Promise<void>)[] = [];
  if (postgres !== null) {
    const database = await postgres.makeDatabase();
    const connection = postgres.address(database);
    await postgres.query(database, `${postgresRow.table}; CREATE SCHEMA ${OMOP_SCHEMA}; ${script('ddl')}`);
    await migratePostgresSink({ connection });
    const client = new Client({ connectionString: connection });
    await client.connect();
    ends.push(() => client.end());
    const rows = postgresSink({
      ...{ name: 'rows', connection, deadlineMs: DEADLINE_MS },
      statements: (operation) => postgresRow.insert(operation as PostgresRow),
    });
    const insert = async (effect: string): Promise<void> => {
      const { text, values } = postgresRow.insert({ effect });
      await client.query(text, [...(values ?? [])]);
    };
    pairs.push({
      name: 'postgresSink',
      bare: () => insert(randomUUID()),
      sink: sending(rows, () => ({ effect: randomUUID() })),
    });
    const batches = omopSink({ name: 'cdm', connection, schema: OMOP_SCHEMA, deadlineMs: DEADLINE_MS });
    pairs.push({
      name: 'omopSink',
      bare: async () => {
        const measurements = omopBatch(randomUUID()).rows['measurement'] as readonly Record<string, unknown>[];
        const columns = Object.keys(measurements[0] ?? {});
        const values = measurements.flatMap((row) => columns.map((column) => row[column]));
        const tuples = measurements.map(
          (_, at) => `(${columns.map((_column, index) => `$${at * columns.length + index + 1}`).join(', ')})`,
        );
        const into = `${OMOP_SCHEMA}.measurement (${columns.join(', ')})`;
        await client.query(`INSERT INTO ${into} VALUES ${tuples.join(', ')}`, values);
      },
      sink: sending(batches, () => omopBatch(randomUUID())),
    });
  }
  if (s3 !== null) {
    const bucket = await s3.makeBucket();
    const objects = s3Sink({ ...s3.settings, name: 'objects', bucket, deadlineMs: DEADLINE_MS });
    await objects.probe?.();
    pairs.push({
      name: 's3Sink',
      bare: async () =>
        void (await s3.client.send(
          new PutObjectCommand({ Bucket: bucket, Key: randomUUID(), Body: 'effect', IfNoneMatch: '*' }),
        )),
      sink: sending(objects, () => ({ body: 'effect' })),
    });
  }
  const fhir = await startFhirServer();
  ends.push(() => fhir.close());
  const system = 'https://example.org/bench';
  const observation = { resourceType: 'Observation', status: 'final', code: { text: 'heart rate' } };
  pairs.push({
    name: 'fhirSink (test server, bare is fetch)',
    bare: async () => {
      const value = randomUUID();
      const reply = await fetch(`${fhir.url}/fhir/Observation`, {
        method: 'POST',
        headers: { 'content-type': 'application/fhir+json', 'if-none-exist': `identifier=${system}%7C${value}` },
        body: JSON.stringify({ ...observation, identifier: [{ system, value }] }),
      });
      await reply.arrayBuffer();
      if (!reply.ok) throw new Error(`the FHIR server answered ${reply.status}`);
    },
    sink: sending(
      fhirSink({
        name: 'fhir',
        baseUrl: `${fhir.url}/fhir`,
        mode: 'conditional_create',
        system,
        deadlineMs: DEADLINE_MS,
      }),
      () => observation,
    ),
  });
  return { pairs, close: async () => void (await Promise.all(ends.map((end) => end()))) };
}
