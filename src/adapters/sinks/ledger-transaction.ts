/**
 * How transactions on the ledger begin, and the lock by which an open one is seen.
 *
 * Invariant: the server itself ends what a client leaves behind, at that client's deadline, and says committed only of what its
 * disk has. Everything here holds for one transaction, so that sessions may be shared by a pooler.
 */
import { sha256Hex } from '../../rules/recovery';

/** As PostgreSQL names its levels. */
export type SqlIsolation = 'read committed' | 'repeatable read' | 'serializable';

const LONGEST_TIMEOUT_MS = 2_147_483_647;

/** The lock on a key, as a number of 64 bits; the server keeps it until the end of the transaction is visible. */
export const lockOf = (key: string): string =>
  BigInt.asIntN(64, BigInt(`0x${sha256Hex(`countersign/${key}`).slice(0, 16)}`)).toString();

/** Begins a transaction that writes, and holds the key. Where the server or the role is read-only, it stays so. */
export function beginSend(key: string, isolation: SqlIsolation, leftMs: number): string {
  return `BEGIN ISOLATION LEVEL ${isolation}; ${limits(leftMs)}; SELECT pg_advisory_xact_lock(${lockOf(key)})`;
}

/**
 * Begins a transaction that reads. Each statement of it sees what was committed before that statement, whatever is the default
 * of this role; rows that a policy would hide make it fail.
 */
export function beginLookUp(leftMs: number): string {
  const all = `SELECT set_config('row_security', 'off', true)`;
  return `BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; ${limits(leftMs)}; ${all}`;
}

function limits(leftMs: number): string {
  const whole = Math.min(LONGEST_TIMEOUT_MS, Math.max(2, Math.ceil(leftMs)));
  const set = (name: string, value: string): string => `set_config('${name}', '${value}', true)`;
  const settings = [
    set('statement_timeout', `${whole}`),
    set('lock_timeout', `${Math.ceil(whole / 2)}`),
    set('idle_in_transaction_session_timeout', `${whole}`),
    `CASE WHEN current_setting('server_version_num')::int >= 170000 THEN ${set('transaction_timeout', `${whole}`)} END`,
    // A server that waits for its standbys goes on doing so.
    `CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN ${set('synchronous_commit', 'on')} END`,
  ];
  return `SELECT ${settings.join(', ')}`;
}
