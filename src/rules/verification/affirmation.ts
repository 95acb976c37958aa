/**
 * A person's confirmation of an exact new target, where the old one cannot be found again. Invariant: it names one passage by its
 * reference and the digest of what stood there, so any edit inside makes it worthless; by itself it starts nothing.
 */
import { Fields, type Dict } from '../fields';
import { digestAt, identityDigest, isProposalId, setAt } from './names';
import { snapshotFromRecord, snapshotToRecord, type ActionSnapshot } from './snapshot';

export const AFFIRMATION_DOMAIN = 'countersign.affirmation.v1';

export interface Affirmation {
  readonly intentId: string;
  readonly sourceRun: string;
  /** Those that were still pending; in ascending order. */
  readonly proposals: readonly string[];
  readonly goalDigest: string;
  readonly protectedIntentDigest: string | null;
  /** Digest of the person. */
  readonly person: string;
  /** Of a capture of its own. */
  readonly snapshot: ActionSnapshot;
  /** Unix milliseconds. */
  readonly capturedAt: number;
}

export function affirmationDigest(affirmation: Affirmation): string {
  return identityDigest(AFFIRMATION_DOMAIN, affirmationToRecord(affirmation));
}

export function affirmationToRecord(affirmation: Affirmation): Dict {
  return {
    intent_id: affirmation.intentId,
    source_run: affirmation.sourceRun,
    proposals: affirmation.proposals,
    goal_digest: affirmation.goalDigest,
    protected_intent_digest: affirmation.protectedIntentDigest,
    person: affirmation.person,
    snapshot: snapshotToRecord(affirmation.snapshot),
    captured_at: affirmation.capturedAt,
  };
}

export function affirmationFromRecord(value: unknown, path = 'affirmation'): Affirmation {
  const at = new Fields(value, path);
  const affirmation = {
    intentId: digestAt(at, 'intent_id'),
    sourceRun: digestAt(at, 'source_run'),
    proposals: setAt(at, 'proposals', 'proposal ids', isProposalId, 1),
    goalDigest: digestAt(at, 'goal_digest'),
    protectedIntentDigest: at.nullable('protected_intent_digest', (field) => digestAt(at, field)),
    person: digestAt(at, 'person'),
    snapshot: snapshotFromRecord(at.raw('snapshot'), `${path}.snapshot`),
    capturedAt: at.count('captured_at'),
  };
  at.end();
  return affirmation;
}
