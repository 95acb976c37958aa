/**
 * What a capture was used for, once for the whole journal. Invariant: a capture has one content for ever; one that a recheck or an
 * affirmation used is used up, so a person who looks again captures again.
 */
import { canonicalJson } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { digestAt, isCaptureId } from './names';

export const CAPTURE_SCHEMA_VERSION = 'countersign.capture.v1';

export interface CaptureRecord {
  readonly captureId: string;
  /** Digest of the snapshot. */
  readonly snapshot: string;
  /** Digest of the recheck, affirmation or order of an author's launch that it belongs to; null of any other run, of which there may be several. */
  readonly bound: string | null;
}

export function captureToText({ captureId, snapshot, bound }: CaptureRecord): string {
  return canonicalJson({ schema_version: CAPTURE_SCHEMA_VERSION, capture_id: captureId, snapshot, bound });
}

export function captureFromBytes(bytes: Uint8Array | string): CaptureRecord {
  return parseRecord(bytes, 'capture', (value) => {
    const at = new Fields(value, 'capture');
    at.oneOf('schema_version', [CAPTURE_SCHEMA_VERSION]);
    const record = {
      captureId: at.text('capture_id', '"cap_" and 32 lowercase hex digits', isCaptureId),
      snapshot: digestAt(at, 'snapshot'),
      bound: at.nullable('bound', (field) => digestAt(at, field)),
    };
    at.end();
    return record;
  });
}
