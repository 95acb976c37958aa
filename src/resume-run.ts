/**
 * What a new cluster needs to carry on a run, from the journal alone. Invariant: nothing is started on the strength of a journal
 * that does not verify, and what is started knows the head that was verified, so a worker with an older copy sends nothing.
 */
import { Contents } from './activities/contents';
import { Journal } from './activities/journal';
import type { Store } from './ports';
import { planToRecord, type GovernedPlan } from './rules/plans/plan';
import { isRunId, isTerminalPhase } from './rules/recovery';
import { Refusal } from './rules/refusal';
import { storeView, verifyJournal, type LineageReport } from './verify';
import type { GovernedPlanInput } from './workflows/messages';

export interface ResumeOptions {
  /** Digest of the newest checkpoint, when it is known from elsewhere: a journal that ends in another one is refused. */
  readonly expectHead?: string;
  /** Make sure first that every operation can be read, as the workers must. @default true */
  readonly checkContents?: boolean;
}

export interface Resumable {
  readonly plan: GovernedPlan;
  readonly input: GovernedPlanInput;
}

/** Throws `Refusal` when the run is not there, does not verify, or lacks an operation in `contents`. */
export async function readResumable(
  store: Store,
  contents: Store,
  runId: string,
  options: ResumeOptions = {},
): Promise<Resumable> {
  const journal = new Journal(store);
  const journalId = await journal.id();
  const plan = isRunId(runId) ? await journal.plan(runId) : null;
  if (plan === null) throw new Refusal('unknown_run', `journal ${journalId} holds no such run`, runId);
  const lineage = await verified(store, runId, options);
  const head = lineage?.head ?? null;
  const ended = head !== null && isTerminalPhase(head.phase);
  if (options.checkContents !== false && !ended) await refuseMissing(contents, plan);
  const input = { plan: planToRecord(plan), journal_id: journalId };
  if (lineage === null || head === null) return { plan, input };
  const { sequence, digest } = head;
  const at = lineage.lineage === null || lineage.lineage === 1 ? {} : { lineage: lineage.lineage };
  return { plan, input: { ...input, known: { journal_id: journalId, ...at, sequence, digest } } };
}

/** The newest lineage of a run that verifies; null when it has none yet. */
async function verified(store: Store, runId: string, options: ResumeOptions): Promise<LineageReport | null> {
  const { expectHead } = options;
  const report = await verifyJournal(storeView(store, runId), expectHead === undefined ? {} : { expectHead });
  const first = report.findings.find(({ failure }) => failure);
  if (first !== undefined) {
    const code = first.code === 'head_unexpected' ? 'journal_behind' : 'journal_invalid';
    throw new Refusal(
      code,
      `cannot be resumed: ${first.message}`,
      first.path === '.' ? runId : `${runId}/${first.path}`,
    );
  }
  if (report.justified !== true) {
    throw new Refusal('journal_invalid', 'cannot be resumed: a checkpoint of it has no witness', runId);
  }
  return report.runs[0]?.lineages.at(-1) ?? null;
}

async function refuseMissing(store: Store, plan: GovernedPlan): Promise<void> {
  const contents = new Contents(store);
  for (const effect of plan.effects) await contents.operation(effect.operationDigest);
}
