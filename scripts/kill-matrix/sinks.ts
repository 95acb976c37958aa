/**
 * The columns of the matrix: one test server for each strength that a sink can have, and the sinks that we ship before real
 * systems. Invariant: each is set up by the same rules for every row, so that two cells of a row differ only in what the sink can do.
 */
import { fhirSink, omopSink, postgresSink, s3Sink } from '../../src/adapters/sinks';
import { parseS3Address } from '../../src/adapters/stores';
import type { EffectDefinition, EffectSink } from '../../src/ports';
import { countingSink } from '../../src/testing/counting-sink';
import { OMOP_SCHEMA, omopBatch, type PostgresRow, postgresRow } from './real-operations';

/** Servers that the matrix has with it. */
export const EMBEDDED_SINKS = ['enforcing', 'lookup', 'blind', 'fhir'] as const;
/** Systems that have to be had. */
export const REAL_SINKS = ['hapi', 'postgres', 'omop', 's3'] as const;
export const SINK_NAMES = [...EMBEDDED_SINKS, ...REAL_SINKS] as const;
export type RealSinkName = (typeof REAL_SINKS)[number];
export type SinkName = (typeof SINK_NAMES)[number];

/** The client gives up after this long, unless a row or a column says otherwise. */
export const DEADLINE_MS = 2_000;
export const SETTLE_MS = 2_500;
const LANES = 3;

export type ServerName = 'counting' | 'fhir' | RealSinkName;
/** Where the servers of the columns that are played are to be found. */
export type SinkUrls = Readonly<Partial<Record<ServerName, string>>>;

export const isReal = (name: string): name is RealSinkName => (REAL_SINKS as readonly string[]).includes(name);

interface Column {
  readonly about: string;
  /** The sink itself refuses a second write under one key. */
  readonly enforces: boolean;
  /** Nothing can prove there what became of a send whose answer is lost: the one column that may ask a person. */
  readonly mayAsk: boolean;
  readonly toolId: string;
  readonly server: ServerName;
  /** @default that of all */
  readonly deadlineMs?: number;
  /** Workers begin with the sink's self-test: without it, the sink does not claim what it claims in production. */
  readonly selfTest?: true;
  readonly sink: (url: string, deadlineMs: number) => EffectSink;
  /** `id` is another one in every effect of every cell. */
  readonly operation: (index: number, id: string) => unknown;
}

const counting = (
  mode: 'enforcing' | 'lookup' | 'blind',
): Pick<Column, 'toolId' | 'server' | 'sink' | 'operation'> => ({
  toolId: `tool:example.org/${mode}@1.0.0`,
  server: 'counting',
  sink: (url, deadlineMs) => countingSink({ url, mode, deadlineMs, settleMs: SETTLE_MS, maxInFlight: LANES }),
  operation: (index) => ({ amount: index }),
});

export const FHIR_SYSTEM = 'https://example.org/countersign';

const fhir = (server: 'fhir' | 'hapi'): Pick<Column, 'toolId' | 'server' | 'sink' | 'operation'> => ({
  toolId: `tool:example.org/${server}@1.0.0`,
  server,
  sink: (url, deadlineMs) =>
    fhirSink({
      name: server,
      baseUrl: `${url}/fhir`,
      mode: 'conditional_create',
      system: FHIR_SYSTEM,
      deadlineMs,
      settleMs: SETTLE_MS,
      maxInFlight: LANES,
    }),
  operation: (index) => ({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'heart rate' },
    valueQuantity: { value: 60 + index, unit: '/min' },
  }),
});

const ENFORCING = { enforces: true, mayAsk: false } as const;

export const COLUMNS: Record<SinkName, Column> = {
  enforcing: { about: 'enforces keys', ...ENFORCING, ...counting('enforcing') },
  lookup: { about: 'authoritative look-up, enforces nothing', enforces: false, mayAsk: false, ...counting('lookup') },
  blind: { about: 'neither look-up nor enforcement', enforces: false, mayAsk: true, ...counting('blind') },
  fhir: { about: 'FHIR server, conditional create', ...ENFORCING, ...fhir('fhir') },
  hapi: { about: 'HAPI FHIR JPA, conditional create', ...ENFORCING, ...fhir('hapi'), deadlineMs: 5_000 },
  postgres: {
    about: 'PostgreSQL, one row an effect',
    ...ENFORCING,
    toolId: 'tool:example.org/postgres@1.0.0',
    server: 'postgres',
    sink: (connection, deadlineMs) =>
      postgresSink({
        ...{ name: 'postgres', connection, deadlineMs, settleMs: SETTLE_MS, maxInFlight: LANES },
        statements: (operation) => postgresRow.insert(operation as PostgresRow),
      }),
    operation: (_index, effect) => ({ effect }) satisfies PostgresRow,
  },
  omop: {
    about: 'OMOP CDM on PostgreSQL, one batch an effect',
    ...ENFORCING,
    toolId: 'tool:example.org/omop@1.0.0',
    server: 'omop',
    sink: (connection, deadlineMs) =>
      omopSink({
        ...{ name: 'omop', connection, schema: OMOP_SCHEMA, deadlineMs, settleMs: SETTLE_MS, maxInFlight: LANES },
      }),
    operation: (_index, id) => omopBatch(id),
  },
  s3: {
    about: 'S3 (versitygw), one object an effect, in a bucket that keeps versions',
    ...ENFORCING,
    selfTest: true,
    toolId: 'tool:example.org/s3@1.0.0',
    server: 's3',
    deadlineMs: 5_000,
    sink: (url, deadlineMs) =>
      s3Sink({ ...parseS3Address(url), name: 's3', deadlineMs, settleMs: SETTLE_MS, maxInFlight: LANES }),
    operation: (_index, id) => ({ body: `effect ${id}` }),
  },
};

export function definitionOf(name: SinkName, urls: SinkUrls, deadlineMs: number): EffectDefinition {
  const { toolId, sink, server } = COLUMNS[name];
  return { toolId, sink: sink(urls[server] ?? '', deadlineMs) };
}
