/**
 * One effect as one transaction: what it writes, and its row in the ledger.
 *
 * Invariant: a key is claimed by the primary key of the ledger before anything else is written, in the very transaction that
 * writes the rest; so whatever clients do, die of or sleep through, at most one transaction under a key commits.
 *
 * An open transaction is seen by the lock that it takes first. A sender that has not come as far as the lock cannot be seen, and
 * cannot do harm: it will meet the ledger's row, or whoever comes after it will.
 */
import { type DispatchOutcome, type EffectSink, type SinkAnswer, type SinkContext, type SinkItem } from '../../ports';
import { type PostgresConnection } from '../postgres/postgres-connection';
import { ledgerTables, type LedgerTables } from './effect-ledger';
import { LedgerLookUp, type LedgerRow } from './ledger-look-up';
import { probeLedger } from './ledger-probe';
import { beginSend, type SqlIsolation } from './ledger-transaction';
import { type PgSession, PgSessions, type SqlResult } from './pg-session';
import { SinkError, type SinkErrorCode } from './sink-error';
import { meaningOf, SqlFault } from './sql-fault';

export interface SqlLedgerOptions {
  readonly sink: string;
  /** The factory that needs the client library. */
  readonly adapter: string;
  readonly connection: string | PostgresConnection;
  readonly ledgerSchema?: string | undefined;
  readonly isolation?: SqlIsolation | undefined;
  readonly maxSessions: number;
  readonly deadlineMs: number;
}

/** What came of an effect, as the ledger keeps it. `result` is JSON. */
export interface SqlOutcome {
  readonly externalId: string | null;
  readonly rowCounts: Readonly<Record<string, number>>;
  readonly result?: unknown;
}

/** Thrown inside a transaction: the operation will never be carried out. */
export class SqlRefusal extends Error {
  override readonly name = 'SqlRefusal';
  constructor(readonly code: string) {
    super(code);
  }
}

export type RunStatement = (text: string, values?: readonly unknown[]) => Promise<SqlResult>;

type LedgerItem = Pick<SinkItem, 'idempotencyKey' | 'operationDigest' | 'toolId' | 'actionId'>;

const NOT_CONNECTED: DispatchOutcome = { outcome: 'not_sent', retryAfterMs: 1_000 };
const CUT_OFF: DispatchOutcome = { outcome: 'not_sent', retryAfterMs: 1_000 };

/** What a statement says it did when it took the transaction from us. */
const ENDS_TRANSACTION = new Set(['BEGIN', 'START', 'COMMIT', 'ROLLBACK', 'PREPARE']);

export class SqlLedger {
  private readonly sessions: PgSessions;
  private readonly tables: LedgerTables;
  private readonly reader: LedgerLookUp;

  constructor(private readonly options: SqlLedgerOptions) {
    this.tables = ledgerTables(options.ledgerSchema);
    this.reader = new LedgerLookUp(options.sink, this.tables);
    this.sessions = new PgSessions({
      adapter: options.adapter,
      connection: options.connection,
      applicationName: `countersign/${options.sink}`,
      maxSessions: Math.max(3, options.maxSessions), // the self-test needs two
      connectWithinMs: options.deadlineMs,
    });
  }

  /** Carries out `work` and keeps its outcome, both or neither. What `work` throws must be a `SqlRefusal` or come from `run`. */
  async send(
    item: LedgerItem,
    context: SinkContext,
    work: (run: RunStatement) => Promise<SqlOutcome>,
  ): Promise<DispatchOutcome> {
    const left = countdown(context.deadlineMs);
    let committing = false;
    try {
      const sent = await this.sessions.within(context.signal, async (session) => {
        try {
          return await this.transact(session, item, left, work, () => (committing = true));
        } catch (fault) {
          const told = outcomeOf(fault);
          if (told === null) throw fault;
          // An error counts when the session outlives it: the server has rolled back, and is not merely ending.
          await session.script('ROLLBACK');
          return told;
        }
      });
      return sent === 'not_connected' ? NOT_CONNECTED : sent;
    } catch (fault) {
      // Without a COMMIT, and none left this process, the server can only roll back.
      if (fault instanceof SqlFault && fault.sqlState === null && !committing) return CUT_OFF;
      throw this.told(fault, item.idempotencyKey);
    }
  }

  async observe(
    items: readonly Pick<SinkItem, 'idempotencyKey'>[],
    context: SinkContext,
  ): Promise<readonly SinkAnswer[]> {
    const keys = items.map(({ idempotencyKey }) => idempotencyKey);
    const about = keys.length > 1 ? `${keys[0]} and ${keys.length - 1} more` : (keys[0] ?? '');
    const left = countdown(context.deadlineMs);
    try {
      const answers = await this.sessions.within(context.signal, (session) => this.reader.answers(session, keys, left));
      if (answers === 'not_connected') throw this.error('not_reachable', about);
      return answers;
    } catch (fault) {
      throw this.told(fault, about);
    }
  }

  async probe(): Promise<void> {
    const { sink, deadlineMs } = this.options;
    const context = { signal: AbortSignal.timeout(deadlineMs), deadlineMs };
    const nothing = async (): Promise<SqlOutcome> => ({ externalId: null, rowCounts: {} });
    await probeLedger({
      sink,
      write: (idempotencyKey, operationDigest) =>
        this.send({ idempotencyKey, operationDigest, toolId: sink, actionId: 'self-test' }, context, nothing),
      lookUp: async (idempotencyKey) => (await this.observe([{ idempotencyKey }], context))[0] ?? { state: 'unknown' },
      whileHeld: async (key, look) => {
        const found = await this.sessions
          .within(context.signal, async (session) => {
            await session.script(beginSend(key, 'read committed', deadlineMs));
            const seen = await look();
            await session.script('ROLLBACK');
            return { seen };
          })
          .catch((fault: unknown) => {
            throw this.told(fault, key);
          });
        if (found === 'not_connected') throw this.error('not_reachable', key);
        return found.seen;
      },
    });
  }

  private async transact(
    session: PgSession,
    item: LedgerItem,
    left: () => number,
    work: (run: RunStatement) => Promise<SqlOutcome>,
    committing: () => void,
  ): Promise<DispatchOutcome> {
    const { effect, outcome } = this.tables;
    const { idempotencyKey: key, operationDigest, toolId, actionId } = item;
    await session.script(beginSend(key, this.options.isolation ?? 'read committed', left()));
    const claimed = await session.run(
      `INSERT INTO ${effect} (idempotency_key, operation_digest, tool_id, action_id) VALUES ($1, $2, $3, $4)
       ON CONFLICT (idempotency_key) DO NOTHING`,
      [key, operationDigest, toolId, actionId],
    );
    if (claimed.rowCount !== 1) {
      const [found] = await this.reader.rows(session, [key]);
      await session.script('ROLLBACK');
      return this.again(item, found);
    }
    const done = await work(async (text, values) => {
      const result = await session.run(text, values);
      // Whether what was written until now is committed, only a look-up can tell.
      if (ENDS_TRANSACTION.has(result.command)) throw this.error('transaction_ended', key);
      return result;
    });
    const { externalId, rowCounts, result } = done;
    await session.run(
      `INSERT INTO ${outcome} (idempotency_key, external_id, row_counts, result) VALUES ($1, $2, $3, $4)`,
      [key, externalId, JSON.stringify(rowCounts), result === undefined ? null : JSON.stringify(result)],
    );
    committing();
    const { command } = await session.script('COMMIT');
    // A server that had rolled back before says so here, and not by an error.
    if (command !== 'COMMIT') throw this.error('transaction_ended', key);
    return { outcome: 'accepted', externalId, ...(result === undefined ? {} : { result }) };
  }

  /** The key is taken: by this very effect, or by another one. */
  private again({ idempotencyKey: key, operationDigest }: LedgerItem, found: LedgerRow | undefined): DispatchOutcome {
    if (found === undefined || found.operationDigest === null) throw this.error('answer_invalid', key);
    if (found.operationDigest !== operationDigest) throw this.error('key_reused', key);
    const { externalId, result } = found;
    return { outcome: 'accepted', externalId, ...(result === null ? {} : { result }) };
  }

  private error(code: SinkErrorCode, key: string, detail?: string): SinkError {
    return new SinkError(code, { sink: this.options.sink, key }, detail === undefined ? {} : { detail });
  }

  private told(fault: unknown, key: string): unknown {
    if (!(fault instanceof SqlFault)) return fault;
    const { sqlState, cut } = fault;
    return sqlState === null
      ? this.error(cut ?? 'connection_lost', key)
      : this.error('statement_failed', key, `sqlstate=${sqlState}`);
  }
}

/** What every sink on this ledger declares alike, and why it may. */
export function ledgerMembers(ledger: SqlLedger): Pick<EffectSink, 'lookup' | 'enforcesKey' | 'observe' | 'probe'> {
  return {
    lookup: 'authoritative', // a key that no transaction holds and the ledger does not have was not written
    enforcesKey: 'always', // the ledger's primary key, in the transaction that writes the rows
    observe: (items, context) => ledger.observe(items, context),
    probe: () => ledger.probe(),
  };
}

/** What an error means once its transaction is rolled back; null when it proves nothing. */
function outcomeOf(fault: unknown): DispatchOutcome | null {
  if (fault instanceof SqlRefusal) return { outcome: 'refused', code: fault.code };
  if (!(fault instanceof SqlFault) || fault.sqlState === null) return null;
  const meaning = meaningOf(fault.sqlState);
  if (meaning?.means === 'refused') return { outcome: 'refused', code: fault.sqlState };
  return meaning === null ? null : { outcome: 'not_sent', retryAfterMs: meaning.waitMs };
}

function countdown(ms: number): () => number {
  const until = performance.now() + ms;
  return () => until - performance.now();
}
