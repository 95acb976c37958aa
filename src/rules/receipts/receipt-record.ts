/**
 * A receipt as the journal keeps it. Invariant: the key that verified it stands beside it, so whoever reads the journal later
 * can check the signature again, whatever has become of the reviewers' keys since.
 */
import { canonicalJson } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { decisionUnder, type Decision } from './decision';
import { keyFromRecord, keyToRecord, type ReviewerKey } from './jwks';
import { MAX_TOKEN_CHARACTERS } from './jws';

export const RECEIPT_SCHEMA_VERSION = 'countersign.receipt.v1';

export interface ReceiptRecord {
  readonly token: string;
  readonly key: ReviewerKey;
  /** Unix milliseconds of the driver that stored it first; information, never evidence. */
  readonly receivedAt: number;
}

/** `sha256:…` as the name of an entry: its hex digits, and `.json`. */
export function receiptName(digest: string): string {
  return `${digest.slice('sha256:'.length)}.json`;
}

export function receiptToText({ token, key, receivedAt }: ReceiptRecord): string {
  return canonicalJson({
    schema_version: RECEIPT_SCHEMA_VERSION,
    token,
    key: keyToRecord(key),
    received_at: receivedAt,
  });
}

export function receiptFromBytes(bytes: Uint8Array | string): ReceiptRecord {
  return parseRecord(bytes, 'receipt', (value) => {
    const at = new Fields(value, 'receipt');
    at.oneOf('schema_version', [RECEIPT_SCHEMA_VERSION]);
    const record = {
      token: at.text('token', 'a receipt', (text) => text.length <= MAX_TOKEN_CHARACTERS),
      key: keyFromRecord(at.raw('key'), 'receipt.key'),
      receivedAt: at.count('received_at'),
    };
    at.end();
    return record;
  });
}

/** What a stored receipt says. Throws when the key beside it did not make its signature. */
export function decisionOf({ token, key }: ReceiptRecord): Decision {
  return decisionUnder(token, key);
}
