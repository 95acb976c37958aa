/**
 * What an anchor process has decided to append, before anything follows from it.
 *
 * Invariant: a batch's name is the size of the tree that it extends, so only one can ever be for a size, and the trees that may
 * be signed are a function of the batches alone. Whoever finds a batch carries it out as it stands, its own or another's.
 */
import { canonicalJson } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { lineageHeadFields, type LineageHeadRecord } from './lineage-head';

export const BATCH_SCHEMA_VERSION = 'countersign.anchor_batch.v1';
/** So that a batch stays far below a megabyte. */
export const MOST_HEADS_IN_A_BATCH = 4096;

export type AnchoredHead = Omit<LineageHeadRecord, 'journalId'>;

export interface Batch {
  /** Random, of one execution of an anchor process: by it a process sees that it is not alone. */
  readonly owner: string;
  /** The size of the tree before. */
  readonly size: number;
  readonly heads: readonly AnchoredHead[];
}

const OWNER = /^own_[0-9a-f]{32}$/;

export function batchToText({ owner, size, heads }: Batch): string {
  const listed = heads.map(({ runId, lineage, sequence, digest }) => ({ run_id: runId, lineage, sequence, digest }));
  return canonicalJson({ schema_version: BATCH_SCHEMA_VERSION, owner, size, heads: listed });
}

export function batchFromBytes(bytes: Uint8Array): Batch {
  return parseRecord(bytes, 'batch', (value) => {
    const at = new Fields(value, 'batch');
    at.oneOf('schema_version', [BATCH_SCHEMA_VERSION]);
    const batch = {
      owner: at.text('owner', '"own_" and 32 hex digits', (text) => OWNER.test(text)),
      size: at.count('size'),
      heads: at.list('heads', 1).map((head, place) => {
        const inner = new Fields(head, `batch.heads[${place}]`);
        const read = lineageHeadFields(inner);
        inner.end();
        return read;
      }),
    };
    at.end();
    return batch;
  });
}

const DIGITS = 12;

/** A size as four folders of at most a thousand entries each, so that the largest is found without a long list. */
export function sizePath(size: number): string {
  const digits = String(size).padStart(DIGITS, '0');
  if (digits.length > DIGITS) throw new RangeError('a log has fewer than 10^12 entries');
  return (digits.match(/.{3}/g) ?? []).join('/');
}
