/**
 * The opening of a lineage after the first. Invariant: its number is taken once, by put-if-absent, and everything that its first
 * checkpoint and witness are made of stands here, so whoever comes next writes the same bytes.
 */
import { canonicalJson, isDigest, type RecoveryCheckpoint } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { headFromDict, headToDict, type HeadRef } from '../sends/slot';
import { deriveNext, type Witness } from '../sends/witness';

export const LINEAGE_SCHEMA_VERSION = 'countersign.lineage.v1';

export interface LineageRecord {
  readonly lineage: number;
  /** Random, made inside the execution that took the number. */
  readonly owner: string;
  /** Where the lineage before it was left. */
  readonly from: HeadRef;
  /** Digest of the resolution that asked for it. */
  readonly receipt: string;
  /** Unix milliseconds. */
  readonly openedAt: number;
}

export function lineageToText(record: LineageRecord): string {
  return canonicalJson({
    schema_version: LINEAGE_SCHEMA_VERSION,
    lineage: record.lineage,
    owner: record.owner,
    from: headToDict(record.from),
    receipt: record.receipt,
    opened_at: record.openedAt,
  });
}

export function lineageFromBytes(bytes: Uint8Array | string): LineageRecord {
  return parseRecord(bytes, 'lineage', (value) => {
    const at = new Fields(value, 'lineage');
    at.oneOf('schema_version', [LINEAGE_SCHEMA_VERSION]);
    const record = {
      lineage: at.count('lineage'),
      owner: at.text('owner', 'an owner token', (text) => /^own_[0-9a-f]{32}$/.test(text)),
      from: headFromDict(at.raw('from'), 'lineage.from'),
      receipt: at.text('receipt', 'a sha256 digest', isDigest),
      openedAt: at.count('opened_at'),
    };
    at.end();
    if (record.lineage < 2 || record.from.lineage !== record.lineage - 1) {
      at.refuse('must be 2 or more, and follow the lineage that it names', 'lineage');
    }
    return record;
  });
}

/** `0002`, `0003`, …: the names under which openings stand in `lineages/`, and the ends of the folders of lineages. */
export function lineageName(lineage: number): string {
  return String(lineage).padStart(4, '0');
}

/** The step that opens a lineage: a pure function of the head that it leaves and of the record of its number. */
export function openingWitness(head: RecoveryCheckpoint, { lineage, receipt, openedAt }: LineageRecord): Witness {
  const draft = {
    step: 'opened',
    now: openedAt,
    observations: [],
    refusal: null,
    ground: { kind: 'opening', lineage, receipt },
  } as const;
  return { ...draft, checkpointDigest: deriveNext(head, draft).checkpoint.checkpointDigest };
}
