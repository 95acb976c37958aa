/**
 * What an error of a SQL server means for an effect, by its SQLSTATE.
 *
 * Invariant: only states in this table mean anything; what is not in it proves nothing. Of the server's error nothing but the
 * state is kept, as its text may quote what a statement carried.
 */

/** `again`: rolled back for a reason that passes. `refused`: the data does not fit, now or later. */
export type SqlMeaning = { readonly means: 'again'; readonly waitMs: number } | { readonly means: 'refused' };

const CONTENTION: SqlMeaning = { means: 'again', waitMs: 100 };
const SHORTAGE: SqlMeaning = { means: 'again', waitMs: 1_000 };
const REFUSED: SqlMeaning = { means: 'refused' };

/** Classes first, then single states, which go before their class. */
const BY_CLASS: Readonly<Record<string, SqlMeaning>> = {
  '22': REFUSED, // the data cannot be read as what the column holds
  '23': REFUSED, // a constraint forbids it
  '44': REFUSED, // WITH CHECK OPTION forbids it
  P0: REFUSED, // a function or trigger of the database raised it
  '53': SHORTAGE, // out of disk, memory or connections
};
const BY_STATE: Readonly<Record<string, SqlMeaning>> = {
  '40001': CONTENTION, // serialization failure
  '40P01': CONTENTION, // deadlock
  '55P03': SHORTAGE, // a lock was not to be had in time
  '57014': SHORTAGE, // cancelled, by somebody or by statement_timeout
  '57P01': SHORTAGE, // the server is being stopped
  '57P02': SHORTAGE,
  '57P03': SHORTAGE, // the server is starting
  '25006': SHORTAGE, // read-only, as a standby is and a primary may be for a while
  '25P03': SHORTAGE, // the transaction was left idle too long
  '25P04': SHORTAGE, // the transaction took too long
};

export function meaningOf(sqlState: string | null): SqlMeaning | null {
  if (sqlState === null) return null;
  return BY_STATE[sqlState] ?? BY_CLASS[sqlState.slice(0, 2)] ?? null;
}

/** A statement that did not succeed. `sqlState` is null when the server did not say why: the connection broke or was given up. */
export class SqlFault extends Error {
  override readonly name = 'SqlFault';
  constructor(
    readonly sqlState: string | null,
    readonly cut: 'deadline_passed' | 'connection_lost' | null = null,
  ) {
    super(sqlState === null ? `${cut ?? 'connection_lost'}` : `sqlstate=${sqlState}`);
  }
}
