/**
 * What a fault of S3 means for a store: one table from its kind to code and sentence.
 *
 * Invariant: every failure leaves as a `StoreError` that names the entry by its path inside the store and says what to do; nothing
 * that the server said goes along, not even as a cause.
 */
import { StoreError, type StoreErrorCode } from '../../ports';
import { type S3Fault, type S3FaultKind } from '../s3/s3-fault';

interface Meaning {
  readonly code: StoreErrorCode;
  readonly why: string;
  /** The same request may fare better in a moment. */
  readonly passes?: boolean;
}

const MEANINGS: Readonly<Record<S3FaultKind, Meaning>> = {
  exists: {
    code: 'store_unavailable',
    why: 'the entry is there one moment and gone the next; find out who removes it',
    passes: true,
  },
  contended: {
    code: 'store_unavailable',
    why: 'other writes of the same entry are under way; repeat later',
    passes: true,
  },
  absent: { code: 'store_unavailable', why: 'the object is gone; find out who removes it', passes: true },
  no_bucket: { code: 'store_unavailable', why: 'there is no such bucket; make it, or correct the address' },
  in_the_way: {
    code: 'store_unsafe_entry',
    why: 'an object stands where a folder belongs, or a folder where an object belongs; use another name',
  },
  denied: {
    code: 'store_permission_denied',
    why: 'the server refused these credentials; check them, the clock, and that the role has what docs/stores.md lists',
  },
  too_large: { code: 'store_entry_too_large', why: 'it is larger than the server takes; split it' },
  full: { code: 'store_full', why: 'no space is left; free some or raise the quota, then repeat' },
  not_supported: { code: 'store_io_failed', why: 'the server cannot do that; use one that speaks all of S3' },
  busy: { code: 'store_unavailable', why: 'the server is too busy or failing; repeat later', passes: true },
  rejected: {
    code: 'store_io_failed',
    why: 'the server refused the request; check its region and the bucket’s settings',
  },
  no_credentials: { code: 'store_permission_denied', why: 'no credentials could be had; check AWS_* or the callback' },
  not_sent: { code: 'store_unavailable', why: 'no connection could be made; check endpoint and network', passes: true },
  lost: {
    code: 'store_unavailable',
    why: 'the server did not answer in time or hung up; check it, then repeat',
    passes: true,
  },
};

export const passes = ({ kind }: S3Fault): boolean => MEANINGS[kind].passes ?? false;

export function s3StoreError(fault: S3Fault, action: string, entry: string): StoreError {
  const { code, why } = MEANINGS[fault.kind];
  const what = entry === '' ? 'the root' : `"${entry}"`;
  return new StoreError(code, `${action} of ${what} failed (${fault.detail}): ${why}`);
}
