/**
 * What effects write into real databases, so that they can be counted there. Invariant: no table has a key of its own that would
 * refuse a second write: only the sink can.
 */
import type { PostgresStatement } from '../../src/adapters/sinks';

export interface PostgresRow {
  readonly effect: string;
}

export const postgresRow = {
  table: 'CREATE TABLE written (effect text NOT NULL)',
  insert: ({ effect }: PostgresRow): PostgresStatement => ({
    text: 'INSERT INTO written (effect) VALUES ($1)',
    values: [effect],
    rows: 1,
  }),
  count: ({ effect }: PostgresRow): string => `SELECT count(*) AS rows FROM written WHERE effect = '${effect}'`,
};

export const OMOP_SCHEMA = 'cdm';
export const OMOP_ROWS = 20;

export interface OmopRows {
  readonly batch_id: string;
  readonly rows: Readonly<Record<string, unknown>>;
}

/** Measurements that carry the id of their effect. */
export function omopBatch(id: string): OmopRows {
  const measurement = Array.from({ length: OMOP_ROWS }, (_, index) => ({
    ...{ measurement_id: index, person_id: 1, measurement_concept_id: 3_004_249, measurement_date: '2026-01-01' },
    ...{ measurement_type_concept_id: 32_817, value_as_number: 100 + index, measurement_source_value: id },
  }));
  return { batch_id: id, rows: { measurement } };
}

export const omopCount = (batch: OmopRows): string =>
  `SELECT count(*) AS rows FROM ${OMOP_SCHEMA}.measurement WHERE measurement_source_value = '${batch.batch_id}'`;
