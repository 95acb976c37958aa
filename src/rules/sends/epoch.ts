/**
 * Epochs: whose turn it is to drive a run. Invariant: epochs are taken one after the other by put-if-absent, so of two
 * drivers exactly one holds the latest; every other is fenced before its next send.
 */
import { canonicalJson, isDigest } from '../recovery';
import { Fields, parseRecord } from '../fields';

export const EPOCH_SCHEMA_VERSION = 'countersign.epoch.v1';

export interface EpochRecord {
  readonly epoch: number;
  /** Random, made inside the execution that took the epoch. */
  readonly owner: string;
  /** Digest of the Temporal run that drives. */
  readonly driver: string;
  readonly lineage: number;
  /** When the Temporal server scheduled the activity that took it: unix milliseconds of that server's clock. */
  readonly scheduledAt: number;
}

export function epochToText(record: EpochRecord): string {
  return canonicalJson({
    schema_version: EPOCH_SCHEMA_VERSION,
    epoch: record.epoch,
    owner: record.owner,
    driver: record.driver,
    lineage: record.lineage,
    scheduled_at: record.scheduledAt,
  });
}

export function epochFromBytes(bytes: Uint8Array | string): EpochRecord {
  return parseRecord(bytes, 'epoch', (value) => {
    const at = new Fields(value, 'epoch');
    at.oneOf('schema_version', [EPOCH_SCHEMA_VERSION]);
    const record = {
      epoch: at.count('epoch'),
      owner: at.text('owner', 'an owner token', (text) => /^own_[0-9a-f]{32}$/.test(text)),
      driver: at.text('driver', 'a sha256 digest', isDigest),
      lineage: at.count('lineage'),
      scheduledAt: at.count('scheduled_at'),
    };
    at.end();
    return record;
  });
}

export function epochName(epoch: number): string {
  return String(epoch).padStart(6, '0');
}

/** What a driver is to do about epochs before it looks at any sink. */
export type Turn =
  /** Nobody drove this run before: take epoch 1; nothing can have been begun. */
  | { readonly turn: 'first' }
  /** The latest epoch is ours and its last execution came back: go on in it. */
  | { readonly turn: 'continue'; readonly epoch: number }
  /** Somebody else drove last, or an execution of ours never came back: take the next epoch and close every open slot. */
  | { readonly turn: 'take_over'; readonly epoch: number }
  /** We drove, and somebody else has taken over since: send nothing, follow. */
  | { readonly turn: 'fenced' };

export interface Claim {
  readonly driver: string;
  /** The epoch that our last returned execution held; null after a failure, a reset, a continue-as-new, or at the start. */
  readonly held: number | null;
  /** A person asked for the turn. */
  readonly reclaim: boolean;
}

/** `epochs` in ascending order. */
export function whoseTurn(epochs: readonly EpochRecord[], claim: Claim): Turn {
  const latest = epochs.at(-1);
  if (latest === undefined) return { turn: 'first' };
  const next: Turn = { turn: 'take_over', epoch: latest.epoch + 1 };
  if (latest.driver === claim.driver) {
    return latest.epoch === claim.held ? { turn: 'continue', epoch: latest.epoch } : next;
  }
  const drove = epochs.some((record) => record.driver === claim.driver);
  return drove && !claim.reclaim ? { turn: 'fenced' } : next;
}
