/**
 * That a resolution was accepted, and of what it speaks. Invariant: the attempts of each effect that it names are counted when it
 * is accepted, by put-if-absent, so a person's word never covers a send that began later.
 */
import { canonicalJson, isActionId, isDigest } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { RESOLUTIONS, type Resolution } from './claims';

export const RESOLUTION_SCHEMA_VERSION = 'countersign.resolution.v1';

export interface ResolutionRecord {
  /** Digest of the receipt. */
  readonly receipt: string;
  readonly resolution: Resolution;
  readonly lineage: number;
  /** The epoch of the driver that accepted it. */
  readonly epoch: number;
  /** The effects that it names, each with the number of attempts that there were. */
  readonly attempts: readonly { readonly actionId: string; readonly attempts: number }[];
}

export function resolutionToText(record: ResolutionRecord): string {
  return canonicalJson({
    schema_version: RESOLUTION_SCHEMA_VERSION,
    receipt: record.receipt,
    resolution: record.resolution,
    lineage: record.lineage,
    epoch: record.epoch,
    attempts: record.attempts.map(({ actionId, attempts }) => ({ action_id: actionId, attempts })),
  });
}

export function resolutionFromBytes(bytes: Uint8Array | string): ResolutionRecord {
  return parseRecord(bytes, 'resolution', (value) => {
    const at = new Fields(value, 'resolution');
    at.oneOf('schema_version', [RESOLUTION_SCHEMA_VERSION]);
    const record = {
      receipt: at.text('receipt', 'a sha256 digest', isDigest),
      resolution: at.oneOf('resolution', RESOLUTIONS),
      lineage: at.count('lineage'),
      epoch: at.count('epoch'),
      attempts: at.list('attempts').map((value, index) => {
        const one = new Fields(value, `resolution.attempts[${index}]`);
        const counted = {
          actionId: one.text('action_id', 'an action id', isActionId),
          attempts: one.count('attempts'),
        };
        one.end();
        return counted;
      }),
    };
    at.end();
    return record;
  });
}
