/** A database with the tables of the OMOP Common Data Model 5.4 and a ledger, and a batch for it. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { migratePostgresSink, type PostgresConnection } from '../../../src/adapters/sinks';
import type { PostgresServer } from '../../systems/postgres';

export const CDM = 'cdm';
const SCRIPTS = path.resolve(__dirname, '../../data/omop');

export const script = (name: 'ddl' | 'primary_keys' | 'constraints'): string =>
  readFileSync(path.join(SCRIPTS, `${name}.sql`), 'utf8').replaceAll('@cdmDatabaseSchema', CDM);

export interface OmopDatabase {
  readonly database: string;
  readonly connection: PostgresConnection;
  count(table: string): Promise<number>;
}

export async function makeOmopDatabase(server: PostgresServer): Promise<OmopDatabase> {
  const database = await server.makeDatabase();
  await server.query(database, `CREATE SCHEMA ${CDM}; ${script('ddl')} ${script('primary_keys')}`);
  const { host, port, owner: user } = server;
  const connection = { host, port, user, database };
  await migratePostgresSink({ connection });
  const count = async (table: string): Promise<number> =>
    Number((await server.query(database, `SELECT count(*) AS n FROM ${table}`))[0]?.['n']);
  return { database, connection, count };
}

/** So many persons with their measurements; no two batches share a key. */
export function batchOf(
  persons: number,
  measurements: number,
  firstId = 1,
): { readonly rows: Record<string, unknown> } {
  const at = (index: number): number => firstId + index;
  const person = Array.from({ length: persons }, (_, index) => ({
    ...{ person_id: at(index), gender_concept_id: 8507, year_of_birth: 1970 + (index % 40) },
    ...{ race_concept_id: 8527, ethnicity_concept_id: 0, person_source_value: `person "${index}", \\{}` },
  }));
  const columns = [
    'measurement_id',
    'person_id',
    'measurement_concept_id',
    'measurement_date',
    'measurement_type_concept_id',
    'value_as_number',
  ];
  const values = Array.from({ length: measurements }, (_, index) => [
    ...[at(index), at(index % Math.max(1, persons)), 3_004_249, `2026-01-${String((index % 28) + 1).padStart(2, '0')}`],
    ...[32_817, 100 + index / 10],
  ]);
  return { rows: { measurement: { columns, values }, person } };
}
