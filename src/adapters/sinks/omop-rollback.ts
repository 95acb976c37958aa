/**
 * Which rows a batch wrote: a proposal to whoever may have to take it back.
 *
 * Invariant: nothing here is ever executed. Tables stand in the order in which their rows could be deleted; rows of a table
 * without a primary key cannot be named, and it says so.
 */
import { OmopFault, parseOmopBatch } from './omop-batch';

/** Written into every proposal to undo a batch. */
export const OMOP_ROLLBACK_SCHEMA_VERSION = 'countersign.omop_rollback_proposal.v1';

/** What would have to be deleted to undo one batch: a proposal for a person, never carried out from here. */
export interface OmopRollbackProposal {
  readonly schema_version: typeof OMOP_ROLLBACK_SCHEMA_VERSION;
  readonly batch_id: string | null;
  readonly tables: readonly OmopRollbackTable[];
}

/** The rows of one table that a batch has written. */
export interface OmopRollbackTable {
  readonly table: string;
  readonly rows: number;
  /** The primary key, or null where there is none. */
  readonly key: string | null;
  /** Keys from the first to the last of each range, ascending; null where rows cannot be named. */
  readonly ranges: readonly (readonly [first: number, last: number])[] | null;
}

/** The proposal for a batch. The keys are content, as the batch is. Throws for what is no batch. */
export function proposeOmopRollback(operation: unknown): OmopRollbackProposal {
  const { batchId, tables } = parseOmopBatch(operation);
  return {
    schema_version: OMOP_ROLLBACK_SCHEMA_VERSION,
    batch_id: batchId,
    tables: tables
      .filter(({ count }) => count > 0)
      .map(({ table, columns, count, value }) => {
        const at = columns.findIndex(({ name }) => name === table.key);
        const keys = table.key === null ? null : Array.from({ length: count }, (_, row) => value(row, at) as number);
        return { table: table.name, rows: count, key: table.key, ranges: keys === null ? null : rangesOf(keys) };
      })
      .reverse(),
  };
}

function rangesOf(keys: readonly number[]): (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const key of Float64Array.from(keys).sort()) {
    const last = ranges.at(-1);
    if (!Number.isInteger(key)) throw new OmopFault('invalid_value');
    if (last !== undefined && key <= last[1] + 1) last[1] = key;
    else ranges.push([key, key]);
  }
  return ranges;
}
