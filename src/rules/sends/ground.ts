/**
 * What people said, where a step rests on it. Invariant: a witness names receipts by digest only; whether they are there, signed
 * and enough is asked of the receipts themselves (`receipts/grounds`), never of the witness.
 */
import { isDigest } from '../recovery';
import { Fields, type Dict } from '../fields';
import { requirementFromRecord, requirementToRecord, type Requirement } from '../receipts/approval-rule';

export const DENIAL_CODES = ['rejected', 'deadline'] as const;
/** A person said no, or nobody said yes in time. */
export type DenialCode = (typeof DENIAL_CODES)[number];

export type Ground =
  /** `digest` is that of the approval record; `requirement` is what it meets. */
  | {
      readonly kind: 'approval';
      readonly digest: string;
      readonly expiresAt: number;
      readonly requirement: Requirement;
    }
  /** `receipt` is the rejection, `key` the digest of the key that signed it; both null for a deadline. */
  | {
      readonly kind: 'denial';
      readonly code: DenialCode;
      readonly receipt: string | null;
      readonly key: string | null;
      readonly requirement: Requirement;
    }
  /** A person ended the plan. */
  | { readonly kind: 'resolution'; readonly receipt: string }
  /** A person asked for a new lineage, which has this number. */
  | { readonly kind: 'opening'; readonly lineage: number; readonly receipt: string };
export type GroundKind = Ground['kind'];

/** The field of a witness that holds a ground is named for its kind; a witness without one has no such field. */
export function groundToFields(ground: Ground | null): Dict {
  return ground === null ? {} : { [ground.kind]: bodyOf(ground) };
}

function bodyOf(ground: Ground): Dict {
  switch (ground.kind) {
    case 'approval':
      return {
        digest: ground.digest,
        expires_at: ground.expiresAt,
        requirement: requirementToRecord(ground.requirement),
      };
    case 'denial':
      return {
        code: ground.code,
        receipt: ground.receipt,
        key: ground.key,
        requirement: requirementToRecord(ground.requirement),
      };
    case 'resolution':
      return { receipt: ground.receipt };
    case 'opening':
      return { lineage: ground.lineage, receipt: ground.receipt };
  }
}

const READERS: { readonly [Kind in GroundKind]: (at: Fields, path: string) => Extract<Ground, { kind: Kind }> } = {
  approval: (at, path) => ({
    kind: 'approval',
    digest: digestAt(at, 'digest'),
    expiresAt: at.count('expires_at'),
    requirement: requirementFromRecord(at.raw('requirement'), `${path}.requirement`),
  }),
  denial: (at, path) => ({
    kind: 'denial',
    code: at.oneOf('code', DENIAL_CODES),
    receipt: at.nullable('receipt', (field) => digestAt(at, field)),
    key: at.nullable('key', (field) => digestAt(at, field)),
    requirement: requirementFromRecord(at.raw('requirement'), `${path}.requirement`),
  }),
  resolution: (at) => ({ kind: 'resolution', receipt: digestAt(at, 'receipt') }),
  opening: (at) => ({ kind: 'opening', lineage: at.count('lineage'), receipt: digestAt(at, 'receipt') }),
};

/** Reads the field of a witness that is named for `kind`; null where it may be missing, and is. */
export function groundFromWitness(witness: Fields, kind: GroundKind, always: boolean): Ground | null {
  const read = (): Ground => {
    const path = `witness.${kind}`;
    const at = new Fields(witness.raw(kind), path);
    const ground = READERS[kind](at, path);
    at.end();
    if (ground.kind === 'denial' && (ground.code === 'rejected') !== (ground.receipt !== null && ground.key !== null)) {
      at.refuse('and "key" belong to a rejection, and only there', 'receipt');
    }
    return ground;
  };
  return always ? read() : witness.optional<Ground | null>(kind, read, null);
}

function digestAt(at: Fields, field: string): string {
  return at.text(field, 'a sha256 digest', isDigest);
}
