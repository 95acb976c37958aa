/**
 * A plan file: a draft with contents, or a plan that was made before. Invariant: told apart by `schema_version` alone, and
 * wholly checked before anything else happens, so a bad file changes nothing.
 */
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { isJsonObject, isRunId, type JsonValue } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import { draftFromJson, planFromDraft } from '../rules/plans/draft';
import { planFromRecord, type GovernedPlan } from '../rules/plans/plan';
import { CliError } from './failure';
import { MAX_PLAN_BYTES, readPlanText } from './plan-text';

export type PlanFile =
  | { readonly form: 'plan'; readonly runId: string; readonly plan: GovernedPlan }
  /** Checked, but its digests are not known before its run has a salt. */
  | { readonly form: 'draft'; readonly runId: string; readonly draft: unknown };

/** A run as people name it: by its id, by the workflow that carries it as the Web UI shows it, or by the file of its draft or plan. */
export function namedRun(text: string): NamedRun {
  const runId = text.replace(/^countersign\//, '');
  if (isRunId(runId)) return { runId, planDigest: null };
  if (!existsSync(text)) {
    const reason = 'is no run id and no file of a plan; "countersign ls" and "countersign journal ls" list runs';
    throw new CliError('input_unreadable', `${text} ${reason}`);
  }
  const read = readPlanFile(text);
  return { runId: read.runId, planDigest: read.form === 'plan' ? read.plan.planDigest : null };
}

export interface NamedRun {
  readonly runId: string;
  /** What a plan's file says, and nothing else does. */
  readonly planDigest: string | null;
}

export function readPlanFile(file: string): PlanFile {
  return planFileFromBytes(readBounded(file, MAX_PLAN_BYTES));
}

export function planFileFromBytes(bytes: Uint8Array): PlanFile {
  const value = readPlanText(bytes);
  if (!isJsonObject(value as JsonValue)) throw new Refusal('invalid_plan', 'must be an object', 'document');
  if (Object.hasOwn(value as object, 'schema_version')) {
    const plan = planFromRecord(value);
    return { form: 'plan', runId: plan.runId, plan };
  }
  const draft = draftFromJson(value);
  // The salt does not matter here: whatever can be refused is refused now, before anything is stored.
  planFromDraft(draft, '0'.repeat(64));
  return { form: 'draft', runId: draft.runId, draft: value };
}

/** A regular file; of one that is larger only that it is. */
export function readBounded(file: string, mostBytes: number): Uint8Array {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch {
    throw new CliError('input_unreadable', `${file} cannot be opened; check the name and its permissions`);
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new CliError('input_unreadable', `${file} is not a regular file`);
    // One that is too large is not read at all, and refused by its size.
    return stat.size > mostBytes ? new Uint8Array(mostBytes + 1) : readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}
