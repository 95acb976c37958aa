/**
 * What the ledger says of keys.
 *
 * Invariant: absent is said only of a key that no open or prepared transaction holds, by a primary, and read after the lock was
 * had. A replica is refused in the very statement that reads, as a balancer may send each to another server.
 */
import { type SinkAnswer } from '../../ports';
import { type LedgerTables } from './effect-ledger';
import { beginLookUp, lockOf } from './ledger-transaction';
import { type PgSession } from './pg-session';
import { SinkError } from './sink-error';

export interface LedgerRow {
  /** Null when the key is not there. */
  readonly operationDigest: string | null;
  readonly externalId: string | null;
  readonly result: unknown;
}

/** Keys of one transaction: each takes an entry of the server's lock table. */
const KEYS_AT_ONCE = 100;

export class LedgerLookUp {
  constructor(
    private readonly sink: string,
    private readonly tables: LedgerTables,
  ) {}

  async answers(session: PgSession, keys: readonly string[], leftMs: () => number): Promise<readonly SinkAnswer[]> {
    const all: SinkAnswer[] = [];
    for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
      const some = keys.slice(from, from + KEYS_AT_ONCE);
      await session.script(beginLookUp(leftMs()));
      // Shared: look-ups do not keep each other from finding a key free.
      const locks = await session.run(
        `SELECT pg_try_advisory_xact_lock_shared(asked.lock) AS free
         FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (lock, at) ORDER BY asked.at`,
        [some.map(lockOf)],
      );
      const rows = await this.rows(session, some);
      await session.script('COMMIT');
      all.push(...some.map((_key, at) => answerOf(rows[at], locks.rows[at]?.['free'] === true)));
    }
    return all;
  }

  /** One row a key, in order. */
  async rows(session: PgSession, keys: readonly string[]): Promise<readonly LedgerRow[]> {
    const { effect, outcome } = this.tables;
    const { rows } = await session.run(
      `SELECT pg_is_in_recovery() AS replica, effect.operation_digest, outcome.external_id, outcome.result
       FROM unnest($1::text[]) WITH ORDINALITY AS asked (key, at)
       LEFT JOIN ${effect} AS effect ON effect.idempotency_key = asked.key
       LEFT JOIN ${outcome} AS outcome ON outcome.idempotency_key = asked.key
       ORDER BY asked.at`,
      [keys],
    );
    if (rows.some(({ replica }) => replica !== false)) {
      throw new SinkError('not_primary', { sink: this.sink, key: keys[0] ?? '' });
    }
    return rows.map((row) => ({
      operationDigest: row['operation_digest'] as string | null,
      externalId: row['external_id'] as string | null,
      result: row['result'] ?? null,
    }));
  }
}

function answerOf(row: LedgerRow | undefined, free: boolean): SinkAnswer {
  if (row === undefined) return { state: 'unknown' };
  if (row.operationDigest === null) return free ? { state: 'absent' } : { state: 'in_flight' };
  const { operationDigest, externalId, result } = row;
  return { state: 'committed', operationDigest, externalId, ...(result === null ? {} : { result }) };
}
