/**
 * Whether a recheck may start. Invariant: only a person starts one, for exactly what is still pending, on a target that was captured
 * after the sitting; asking again for the same run gives that run, also when nothing is pending any more.
 */
import { Refusal } from '../refusal';
import { affirmationDigest, type Affirmation } from './affirmation';
import { needsPerson, type Obligation, type RunReceipt } from './obligations';
import { targetFault, type Fault } from './recheck-target';
import { runDigest, runIdOf, type VerificationRun } from './run';

/** How far the clock that captured may be ahead, in milliseconds. */
export const CAPTURE_SKEW_MS = 300_000;

/** What is known when a recheck is asked for. */
export interface RecheckContext {
  /** Unix milliseconds. */
  readonly now: number;
  readonly obligations: readonly Obligation[];
  /** By their digests. */
  readonly runs: ReadonlyMap<string, RunReceipt>;
  /** By their digests. */
  readonly affirmations: ReadonlyMap<string, Affirmation>;
}

export interface RecheckRequest {
  readonly run: VerificationRun;
  /** Digest of the person who asks. */
  readonly person: string;
  /** Unix milliseconds. */
  readonly capturedAt: number;
}

export type RecheckVerdict =
  | { readonly verdict: 'start'; readonly runId: string; readonly runDigest: string }
  | { readonly verdict: 'started'; readonly runId: string; readonly runDigest: string }
  | { readonly verdict: 'refused'; readonly refusal: Refusal };

export function judgeRecheck(request: RecheckRequest, context: RecheckContext): RecheckVerdict {
  const digest = runDigest(request.run);
  const names = { runId: runIdOf(digest), runDigest: digest };
  // First of all: whoever asks again must learn what has become of the run, not that it is no longer needed.
  if (context.runs.has(digest)) return { verdict: 'started', ...names };
  const fault = startFault(request, context);
  if (fault === null) return { verdict: 'start', ...names };
  return { verdict: 'refused', refusal: new Refusal('recheck_refused', fault.reason, fault.field) };
}

function startFault({ run, person, capturedAt }: RecheckRequest, context: RecheckContext): Fault | null {
  const { obligations, runs, affirmations, now } = context;
  const { recheck } = run.input;
  if (recheck === null) return { field: 'input.recheck', reason: 'names no intent; there is nothing to check again' };
  const obligation = obligations.find(({ intentId }) => intentId === recheck.intentId);
  if (obligation === undefined)
    return { field: 'input.recheck.intent_id', reason: 'is no intent that follows from receipts' };
  if (obligation.state === 'fulfilled') return { field: 'input.recheck.intent_id', reason: 'is fulfilled' };
  if (obligation.pending.join() !== recheck.proposals.join()) {
    return { field: 'input.recheck.proposals', reason: 'must be exactly those that are pending' };
  }
  const { captureId } = run.snapshot;
  if ([...runs.values()].some((known) => known.run.snapshot.captureId === captureId)) {
    return { field: 'snapshot.capture_id', reason: 'was used for another run; capture anew' };
  }
  const clock = clockFault(capturedAt, obligation, now);
  if (clock !== null) return clock;
  const affirmation = recheck.affirmation === null ? null : (affirmations.get(recheck.affirmation) ?? null);
  return targetFault({ run, person }, obligation, affirmation);
}

function clockFault(capturedAt: number, { committedAt }: Obligation, now: number): Fault | null {
  if (capturedAt <= committedAt) return { field: 'captured_at', reason: 'is not after the sitting; capture anew' };
  if (capturedAt > now + CAPTURE_SKEW_MS) return { field: 'captured_at', reason: 'lies in the future; set the clock' };
  return null;
}

/** Whether a target may be affirmed for an intent. Throws `recheck_refused`. It starts nothing. */
export function admitAffirmation(affirmation: Affirmation, context: RecheckContext): string {
  const digest = affirmationDigest(affirmation);
  if (context.affirmations.has(digest)) return digest;
  const fault = affirmationFault(affirmation, context);
  if (fault !== null) throw new Refusal('recheck_refused', fault.reason, fault.field);
  return digest;
}

function affirmationFault(
  affirmation: Affirmation,
  { obligations, runs, affirmations, now }: RecheckContext,
): Fault | null {
  const obligation = obligations.find(({ intentId }) => intentId === affirmation.intentId);
  if (obligation === undefined) return { field: 'intent_id', reason: 'is no intent that follows from receipts' };
  if (obligation.state === 'fulfilled') return { field: 'intent_id', reason: 'is fulfilled' };
  const { source } = obligation;
  if (!needsPerson(source)) return { field: 'intent_id', reason: 'has a target that is found again by itself' };
  const { snapshot, capturedAt } = affirmation;
  const { selector } = snapshot;
  const { input } = source.run;
  const captures = [...runs.values()].map(({ run }) => run.snapshot.captureId);
  const affirmed = [...affirmations.values()].map((known) => known.snapshot.captureId);
  const rules: readonly (readonly [boolean, string, string])[] = [
    [affirmation.sourceRun === source.digest, 'source_run', 'is not the run that led to the proposals'],
    [affirmation.proposals.join() === obligation.pending.join(), 'proposals', 'must be exactly those that are pending'],
    [affirmation.goalDigest === input.goalDigest, 'goal_digest', 'must be that of the source'],
    [
      affirmation.protectedIntentDigest === input.protectedIntentDigest,
      'protected_intent_digest',
      'must be that of the source',
    ],
    [
      ![...captures, ...affirmed].includes(snapshot.captureId),
      'snapshot.capture_id',
      'was used for something else; capture anew',
    ],
    [
      selector.source === source.run.snapshot.selector.source,
      'snapshot.selector.source',
      'must be the document of the source',
    ],
    [selector.kind === 'part', 'snapshot.selector.kind', 'must be a part; a recheck is never widened'],
    [selector.reference !== null, 'snapshot.selector.reference', 'must be durable'],
  ];
  const broken = rules.find(([holds]) => !holds);
  if (broken !== undefined) return { field: broken[1], reason: broken[2] };
  return clockFault(capturedAt, obligation, now);
}
