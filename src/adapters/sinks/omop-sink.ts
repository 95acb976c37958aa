/**
 * An OMOP Common Data Model 5.4 on PostgreSQL: an effect is one batch of rows, with the ledger's rows in their own transaction
 * (`migratePostgresSink` makes the ledger). See `omop-batch` for what a batch is.
 *
 * Invariant: a batch is there whole or not at all, and once; as many rows are written as the ledger says.
 */
import { type EffectSink } from '../../ports';
import { type PostgresConnection } from '../postgres/postgres-connection';
import { quoted } from './effect-ledger';
import { type OmopBatch, OmopFault, parseOmopBatch } from './omop-batch';
import { ledgerMembers, type RunStatement, SqlLedger, type SqlOutcome, SqlRefusal } from './sql-ledger';

/** Which database and schemas; times are in milliseconds. */
export interface OmopSinkOptions {
  /** What errors and `pg_stat_activity` call this sink. */
  readonly name: string;
  /** An address, or its parts; what neither says comes from the PG* variables. */
  readonly connection: string | PostgresConnection;
  /** Where the tables of the Common Data Model stand. */
  readonly schema: string;
  /** Where the ledger stands. @default 'countersign' */
  readonly ledgerSchema?: string;
  /** Of a whole batch. @default 120000 */
  readonly deadlineMs?: number;
  /** @default 5000 */
  readonly settleMs?: number;
  /** @default 1 */
  readonly maxInFlight?: number;
  /** Most sessions that this sink has at once, in all plans. @default 10 */
  readonly maxSessions?: number;
}

/** Batches of rows of the OMOP CDM 5.4, each with its row in a ledger, in one transaction. Throws `peer_missing` without `pg`. */
export function omopSink(options: OmopSinkOptions): EffectSink {
  const { name, connection, schema, ledgerSchema, deadlineMs = 120_000, settleMs = 5_000, maxInFlight } = options;
  const { maxSessions = 10 } = options;
  const prefix = quoted(schema);
  const ledger = new SqlLedger({ sink: name, adapter: 'omopSink', connection, ledgerSchema, maxSessions, deadlineMs });
  return {
    kind: 'omop_batch',
    sideEffect: 'non_idempotent_write',
    ...ledgerMembers(ledger),
    deadlineMs,
    settleMs,
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    async dispatch(item, context) {
      let batch: OmopBatch;
      try {
        batch = parseOmopBatch(item.operation);
      } catch (fault) {
        if (fault instanceof OmopFault) return { outcome: 'refused', code: fault.code };
        throw fault;
      }
      return ledger.send(item, context, (run) => insert(batch, prefix, run));
    },
  };
}

async function insert(batch: OmopBatch, prefix: string, run: RunStatement): Promise<SqlOutcome> {
  try {
    for (const { table, columns, arrays, rows } of batch.chunks()) {
      const names = columns.map(({ name }) => quoted(name)).join(', ');
      const values = columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ');
      const done = await run(
        `INSERT INTO ${prefix}.${quoted(table.name)} (${names}) SELECT * FROM unnest(${values})`,
        arrays,
      );
      // A trigger or rule may have kept some out.
      if (done.rowCount !== rows) throw new SqlRefusal(`row_count:${table.name}`);
    }
  } catch (fault) {
    throw fault instanceof OmopFault ? new SqlRefusal(fault.code) : fault;
  }
  const { batchId, counts } = batch;
  return { externalId: batchId, rowCounts: counts, result: { batch_id: batchId, row_counts: counts } };
}
