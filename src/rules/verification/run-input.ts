/**
 * What a run is asked beside its target and its plan. Invariant: goals and intents are digests only; the lineage of a recheck is
 * part of its input, so a run for another intent, or for other proposals, is another run.
 */
import { isDigest } from '../recovery';
import { Fields, type Dict } from '../fields';
import { digestAt, identityDigest, isProposalId, setAt } from './names';

export const RUN_INPUT_DOMAIN = 'countersign.run_input.v1';

/** What a recheck answers. */
export interface RecheckLineage {
  readonly intentId: string;
  /** Digest of the run whose results led to the proposals. */
  readonly sourceRun: string;
  /** In ascending order; one or more. */
  readonly proposals: readonly string[];
  /** Digest of the affirmation of a new target; null when the target was found again. */
  readonly affirmation: string | null;
}

export interface RunInput {
  /** Digest of what the person wants, or of the arguments of a launch by itself. */
  readonly goalDigest: string;
  /** Digest of what must not be changed; null when nothing is protected. */
  readonly protectedIntentDigest: string | null;
  readonly recheck: RecheckLineage | null;
}

export function runInputDigest(input: RunInput): string {
  return identityDigest(RUN_INPUT_DOMAIN, runInputToRecord(input));
}

export function runInputToRecord({ goalDigest, protectedIntentDigest, recheck }: RunInput): Dict {
  return {
    goal_digest: goalDigest,
    protected_intent_digest: protectedIntentDigest,
    recheck: recheck === null ? null : lineageToRecord(recheck),
  };
}

export function runInputFromRecord(value: unknown, path = 'input'): RunInput {
  const at = new Fields(value, path);
  const input = {
    goalDigest: digestAt(at, 'goal_digest'),
    protectedIntentDigest: at.nullable('protected_intent_digest', (field) => digestAt(at, field)),
    recheck: at.nullable('recheck', (field) => lineageFromRecord(at.raw(field), `${path}.${field}`)),
  };
  at.end();
  return input;
}

function lineageToRecord({ intentId, sourceRun, proposals, affirmation }: RecheckLineage): Dict {
  return { intent_id: intentId, source_run: sourceRun, proposals, affirmation };
}

function lineageFromRecord(value: unknown, path: string): RecheckLineage {
  const at = new Fields(value, path);
  const lineage = {
    intentId: digestAt(at, 'intent_id'),
    sourceRun: digestAt(at, 'source_run'),
    proposals: setAt(at, 'proposals', 'proposal ids', isProposalId, 1),
    affirmation: at.nullable('affirmation', (field) => at.text(field, 'a sha256 digest', isDigest)),
  };
  at.end();
  return lineage;
}
