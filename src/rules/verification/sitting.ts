/**
 * That a person applied proposals, in one sitting. Invariant: it is recorded once, when it is committed; what has to be checked again
 * follows from it, and is stored nowhere.
 */
import { Fields, type Dict } from '../fields';
import { digestAt, identityDigest, isProposalId, isSittingId, setAt } from './names';

export const SITTING_DOMAIN = 'countersign.sitting.v1';
export const RECHECK_INTENT_DOMAIN = 'countersign.recheck_intent.v1';

export interface Sitting {
  /** `sit_` and 32 hex digits. */
  readonly sittingId: string;
  /** Digest of the person. */
  readonly person: string;
  /** Unix milliseconds. */
  readonly committedAt: number;
  /** The proposals that were applied; in ascending order, one or more. */
  readonly proposals: readonly string[];
}

export function sittingDigest(sitting: Sitting): string {
  return identityDigest(SITTING_DOMAIN, sittingToRecord(sitting));
}

export function sittingToRecord({ sittingId, person, committedAt, proposals }: Sitting): Dict {
  return { sitting_id: sittingId, person, committed_at: committedAt, proposals };
}

export function sittingFromRecord(value: unknown, path = 'sitting'): Sitting {
  const at = new Fields(value, path);
  const sitting = {
    sittingId: at.text('sitting_id', '"sit_" and 32 lowercase hex digits', isSittingId),
    person: digestAt(at, 'person'),
    committedAt: at.count('committed_at'),
    proposals: setAt(at, 'proposals', 'proposal ids', isProposalId, 1),
  };
  at.end();
  return sitting;
}

export interface RecheckIntent {
  readonly sittingId: string;
  /** Digest of the run whose results the proposals address. */
  readonly sourceRun: string;
  /** In ascending order. */
  readonly proposals: readonly string[];
}

/** The name of an obligation: derived, so that everybody derives the same. */
export function recheckIntentId({ sittingId, sourceRun, proposals }: RecheckIntent): string {
  return identityDigest(RECHECK_INTENT_DOMAIN, { sitting: sittingId, source_run: sourceRun, proposals });
}
