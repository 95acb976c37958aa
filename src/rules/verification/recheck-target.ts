/**
 * Whether a run checks what its source checked, and nothing wider. Invariant: provider, model, checks, goal and protected intent are the
 * source's; the target is the source's own, or exactly the passage that the same person affirmed.
 */
import { canonicalJson } from '../recovery';
import type { Affirmation } from './affirmation';
import { sameCheck } from './check-plan';
import { executorsToRecord } from './executors';
import type { VerificationRun } from './run';
import type { Selector } from './snapshot';

export interface Fault {
  readonly field: string;
  readonly reason: string;
}

interface Asked {
  readonly run: VerificationRun;
  readonly person: string;
}
interface Owed {
  readonly intentId: string;
  readonly committedAt: number;
  readonly source: { readonly digest: string; readonly run: VerificationRun };
}

type Rule = readonly [field: string, reason: string, holds: (asked: Asked, owed: Owed) => boolean];
const RULES: readonly Rule[] = [
  ['input.recheck.intent_id', 'is not the intent', ({ run }, { intentId }) => run.input.recheck?.intentId === intentId],
  [
    'input.recheck.source_run',
    'is not the run that led to the proposals',
    ({ run }, { source }) => run.input.recheck?.sourceRun === source.digest,
  ],
  ['kind', 'must be a recheck', ({ run }) => run.kind === 'recheck'],
  ['executors', 'must be those of the source: same provider, same model', sameExecutors],
  ['plan.checks', 'must be checks of the source, configured as they were', sameChecks],
  [
    'input.goal_digest',
    'must be that of the source',
    (a, o) => a.run.input.goalDigest === o.source.run.input.goalDigest,
  ],
  [
    'input.protected_intent_digest',
    'must be that of the source',
    ({ run }, { source }) => run.input.protectedIntentDigest === source.run.input.protectedIntentDigest,
  ],
  [
    'snapshot.context_boundary',
    'must be that of the source',
    ({ run }, { source }) => run.snapshot.contextBoundary === source.run.snapshot.contextBoundary,
  ],
  [
    'snapshot.capture_id',
    'must be a new one: this is the target as it was before',
    ({ run }, { source }) => run.snapshot.captureId !== source.run.snapshot.captureId,
  ],
  [
    'snapshot.selector.source',
    'must be that of the source',
    ({ run }, { source }) => run.snapshot.selector.source === source.run.snapshot.selector.source,
  ],
  [
    'snapshot.selector.kind',
    'must be that of the source; a recheck is never widened',
    ({ run }, { source }) => run.snapshot.selector.kind === source.run.snapshot.selector.kind,
  ],
];

/** Null when the run may answer the intent. `affirmation`: the stored one that the run names; null when there is none. */
export function targetFault(asked: Asked, owed: Owed, affirmation: Affirmation | null): Fault | null {
  for (const [field, reason, holds] of RULES) if (!holds(asked, owed)) return { field, reason };
  const { selector } = owed.source.run.snapshot;
  return selector.kind === 'part' && selector.reference === null
    ? affirmedFault(asked, owed, affirmation)
    : durableFault(asked, selector);
}

function durableFault({ run }: Asked, selector: Selector): Fault | null {
  if (run.input.recheck?.affirmation !== null) {
    return { field: 'input.recheck.affirmation', reason: 'belongs to a target that cannot be found again' };
  }
  if (run.snapshot.selector.reference !== selector.reference) {
    return { field: 'snapshot.selector.reference', reason: 'must be that of the source' };
  }
  return null;
}

function affirmedFault({ run, person }: Asked, owed: Owed, affirmation: Affirmation | null): Fault | null {
  const of = (field: string, reason: string): Fault => ({ field, reason });
  if (affirmation === null) return of('input.recheck.affirmation', 'must be one that a person gave before');
  const { snapshot } = affirmation;
  const [now, then] = [run.snapshot.selector, snapshot.selector];
  const faults: readonly (readonly [boolean, Fault])[] = [
    [isBound(affirmation, run, owed), of('input.recheck.affirmation', 'was given for something else')],
    [affirmation.person === person, of('person', 'must be the one who affirmed the target')],
    [affirmation.capturedAt > owed.committedAt, of('input.recheck.affirmation', 'is older than the sitting')],
    [snapshot.captureId !== run.snapshot.captureId, of('snapshot.capture_id', 'must be a capture of its own')],
    [then.source === now.source, of('snapshot.selector.source', 'must be the document that was affirmed')],
    [then.kind === 'part' && then.reference !== null, of('input.recheck.affirmation', 'names no exact passage')],
    [then.reference === now.reference, of('snapshot.selector.reference', 'must be that of the affirmation')],
    [
      snapshot.targetDigest === run.snapshot.targetDigest,
      of('snapshot.target_digest', 'has changed since; affirm anew'),
    ],
  ];
  return faults.find(([holds]) => !holds)?.[1] ?? null;
}

function isBound(affirmation: Affirmation, run: VerificationRun, owed: Owed): boolean {
  const { recheck, goalDigest, protectedIntentDigest } = run.input;
  return (
    affirmation.intentId === owed.intentId &&
    affirmation.sourceRun === owed.source.digest &&
    affirmation.goalDigest === goalDigest &&
    affirmation.protectedIntentDigest === protectedIntentDigest &&
    affirmation.proposals.join() === recheck?.proposals.join()
  );
}

function sameExecutors({ run }: Asked, { source }: Owed): boolean {
  if (run.executors === source.run.executors) return true;
  const known = source.run.executors;
  const coordinator = canonicalJson(executorsToRecord({ checks: [], coordinator: run.executors.coordinator }));
  if (coordinator !== canonicalJson(executorsToRecord({ checks: [], coordinator: known.coordinator }))) return false;
  const texts = new Set(
    known.checks.map((one) => canonicalJson(executorsToRecord({ checks: [one], coordinator: null }))),
  );
  return run.executors.checks.every((one) =>
    texts.has(canonicalJson(executorsToRecord({ checks: [one], coordinator: null }))),
  );
}

function sameChecks({ run }: Asked, { source }: Owed): boolean {
  return run.plan.checks.every((check) => source.run.plan.checks.some((known) => sameCheck(check, known)));
}
