/**
 * What people ask to have verified, as they write it, and the run that it makes. Invariant: contents go to the content store and only
 * digests into the run; the same capture, goal and plan make the same run, so that asking again is asking for the same.
 */
import { randomBytes } from 'node:crypto';
import type { Contents } from './activities/contents';
import { documentScope } from './activities/run-contents';
import type { Check } from './rules/verification/check-plan';
import type { Executor, LaunchedExecutor } from './rules/verification/executors';
import type { ContentBoundary } from './rules/verification/names';
import { runDigest, runFromRecord, runIdOf, runToRecord, type VerificationRun } from './rules/verification/run';
import type { RunInput } from './rules/verification/run-input';
import type { ActionSnapshot } from './rules/verification/snapshot';
import { sha256Digest } from './rules/recovery';
import { isPerson, personDigest } from './rules/receipts/names';
import { identityDigest } from './rules/verification/names';
import { Refusal } from './rules/refusal';

/** What is looked at, frozen. */
export interface Capture {
  /** `cap_` and 32 hex digits; name it yourself to be able to ask again for the same. @default a random one */
  readonly captureId?: string;
  /** Unix milliseconds; part of an affirmation, so name it, too, to be able to affirm the same again. @default now */
  readonly capturedAt?: number;
  /** What names the document, order or account; only its digest is kept. */
  readonly source: string;
  /** All of it, as JSON. */
  readonly content: unknown;
  /** The part that is checked, as JSON. @default all of it */
  readonly target?: unknown;
  /** Where the part is found again, also after edits elsewhere; only its digest is kept. @default it cannot be found again */
  readonly reference?: string;
  /** What the coordinator may be shown. @default 'whole_context' */
  readonly contextBoundary?: ContentBoundary;
}

export interface CheckDraft {
  readonly criterion: string;
  readonly check: string;
  /** Names the executor. */
  readonly binding: string;
  /** As JSON. @default null */
  readonly configuration?: unknown;
}

export interface RunDraft {
  /** Who asks, as the reviewers' keys name them; the receipts of its launches must be theirs. */
  readonly person: string;
  readonly capture: Capture;
  /** What the person wants, as JSON. */
  readonly goal: unknown;
  /** What must not be changed, as JSON. @default nothing */
  readonly protectedIntent?: unknown;
  readonly checks: readonly CheckDraft[];
  readonly executors: readonly Executor[];
  /** Who sees all results at the end. @default nobody, which only a run without launched checks may have */
  readonly coordinator?: LaunchedExecutor;
}

/** A run whose contents are stored. */
export interface PreparedRun {
  readonly runId: string;
  readonly runDigest: string;
  readonly run: VerificationRun;
  /** Digest of the person. */
  readonly person: string;
  readonly capturedAt: number;
}

const SOURCE_DOMAIN = 'countersign.document.v1';
const REFERENCE_DOMAIN = 'countersign.reference.v1';

export function personOf(person: string): string {
  if (isPerson(person)) return personDigest(person);
  throw new Refusal('invalid_arguments', 'must be a person such as person:example.org/clerk-1', 'person');
}

/** Refuses what can be seen to be wrong before anything is stored. */
export function refuseEarly(draft: RunDraft, mostLaunchedChecks?: number): void {
  const nothing = sha256Digest('');
  const checks = draft.checks.map(({ criterion, check, binding }) => {
    return { criterion, check, binding, configurationSha256: nothing };
  });
  const selector = { source: nothing, kind: 'whole' as const, reference: null };
  const boundary = draft.capture.contextBoundary ?? 'whole_context';
  const captureId = draft.capture.captureId ?? `cap_${'0'.repeat(32)}`;
  const digests = { contentDigest: nothing, targetDigest: nothing };
  const run: VerificationRun = {
    kind: 'verify',
    snapshot: { captureId, ...digests, selector, contextBoundary: boundary },
    plan: { checks },
    executors: { checks: sortedExecutors(draft.executors), coordinator: draft.coordinator ?? null },
    input: { goalDigest: nothing, protectedIntentDigest: null, recheck: null },
  };
  runFromRecord(runToRecord(run), 'run', mostLaunchedChecks);
}

/** Stores content and target, and answers what stands for them. */
export async function storeCapture(contents: Contents, capture: Capture): Promise<ActionSnapshot> {
  const source = identityDigest(SOURCE_DOMAIN, { source: capture.source });
  const scope = documentScope(source);
  const isPart = capture.target !== undefined;
  if (!isPart && capture.reference !== undefined) {
    throw new Refusal('invalid_arguments', 'belongs to a part; give the target, too', 'capture.reference');
  }
  const { reference } = capture;
  return {
    captureId: capture.captureId ?? `cap_${randomBytes(16).toString('hex')}`,
    contentDigest: await contents.putResult(scope, 'content', capture.content),
    targetDigest: await contents.putResult(scope, 'target', isPart ? capture.target : capture.content),
    selector: {
      source,
      kind: isPart ? 'part' : 'whole',
      reference: reference === undefined ? null : identityDigest(REFERENCE_DOMAIN, { source, reference }),
    },
    contextBoundary: capture.contextBoundary ?? 'whole_context',
  };
}

export async function storeInput(
  contents: Contents,
  { selector }: ActionSnapshot,
  { goal, protectedIntent }: Pick<RunDraft, 'goal' | 'protectedIntent'>,
): Promise<RunInput> {
  const scope = documentScope(selector.source);
  return {
    goalDigest: await contents.putResult(scope, 'goal', goal),
    protectedIntentDigest:
      protectedIntent === undefined ? null : await contents.putResult(scope, 'intent', protectedIntent),
    recheck: null,
  };
}

export async function storeChecks(contents: Contents, drafts: readonly CheckDraft[]): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const { criterion, check, binding, configuration = null } of drafts) {
    checks.push({ criterion, check, binding, configurationSha256: await contents.putConfiguration(configuration) });
  }
  return checks;
}

/** Checks it as every record is checked. Throws `Refusal`. */
export function preparedRun(
  run: VerificationRun,
  person: string,
  capturedAt: number,
  mostLaunchedChecks?: number,
): PreparedRun {
  const checked = runFromRecord(runToRecord(run), 'run', mostLaunchedChecks);
  const digest = runDigest(checked);
  return { runId: runIdOf(digest), runDigest: digest, run: checked, person, capturedAt };
}

export function sortedExecutors(executors: readonly Executor[]): readonly Executor[] {
  return [...executors].sort((a, b) => (a.binding < b.binding ? -1 : 1));
}
