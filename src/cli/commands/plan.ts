/** `plan`: makes a content-free plan from a draft, or checks one. Invariant: a plan that is refused leaves nothing behind. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { shownAddress } from '../../adapters/stores/open-store';
import { Contents } from '../../activities/contents';
import type { GovernedPlan } from '../../client';
import { contentJson } from '../../rules/plans/content-json';
import { planToRecord } from '../../rules/plans/plan';
import { Refusal } from '../../rules/refusal';
import { CliError } from '../failure';
import { counted, type Answer } from '../output';
import { readPlanFile, type PlanFile } from '../plan-file';
import type { Context, Register } from '../command';
import { offlinePlans } from '../service';
import { contentStore, contentsAddress, hasContents, withOptions, type Settings } from '../settings';

interface PlanOptions extends Settings {
  readonly out?: string;
}

export const planCommand: Register = (program, act) => {
  const command = program
    .command('plan')
    .description('make a content-free plan from a draft and store its contents, or check a plan that was made')
    .argument('<file>', 'draft or plan, JSON')
    .option('--out <file>', 'write the plan here; never over another file');
  withOptions(command, 'journal', 'contents').action(act('plan', makePlan));
};

async function makePlan({ output }: Context, file: string, options: PlanOptions): Promise<Answer> {
  const read = readPlanFile(file);
  if (read.form === 'plan') return checked(read.plan, options);
  if (options.out !== undefined) refuseOtherFile(options.out, read.runId);
  const address = contentsAddress(options);
  const plan = await offlinePlans(options, contentStore(options)).prepare(read.draft);
  const text = `${contentJson(planToRecord(plan))}\n`;
  if (options.out !== undefined) writeOnce(options.out, text);
  const data = { ...summary(plan), contents: 'stored', out: options.out ?? null, plan: planToRecord(plan) };
  if (options.out === undefined) return { data, lines: [text.trimEnd()] };
  output.say(`plan of ${counted(plan.effects.length, 'effect')} written to ${options.out}`);
  return {
    data,
    lines: [`contents stored in ${shownAddress(address)}`, `run it with: countersign run ${options.out}`],
  };
}

async function checked(plan: GovernedPlan, options: PlanOptions): Promise<Answer> {
  if (options.out !== undefined) {
    throw new CliError('invalid_argument', '--out belongs to a draft; this file is a plan already', 'out');
  }
  const missing = hasContents(options) ? await missingContents(plan, options) : null;
  const contents = missing === null ? 'not_checked' : missing.length === 0 ? 'present' : 'missing';
  const data = { ...summary(plan), contents, missing: missing ?? [] };
  const lines = [
    `a good plan: run ${plan.runId}, ${counted(plan.effects.length, 'effect')}, ${plan.planDigest}`,
    `contents: ${contents === 'missing' ? `of ${missing?.length} effects missing` : contents.replace('_', ' ')}`,
  ];
  if (contents !== 'missing') return { data, lines };
  throw new Refusal('content_missing', 'has no content in the content store; make the plan again there', missing?.[0]);
}

/** Paths of the effects whose operation cannot be read back. */
async function missingContents(plan: GovernedPlan, options: PlanOptions): Promise<readonly string[]> {
  const contents = new Contents(contentStore(options));
  const missing: string[] = [];
  for (const [index, effect] of plan.effects.entries()) {
    try {
      await contents.operation(effect.operationDigest);
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      missing.push(`effects[${index}]`);
    }
  }
  return missing;
}

function summary(plan: GovernedPlan): Record<string, unknown> {
  const { runId, workflowId, planDigest, order, effects } = plan;
  return { runId, workflowId, planDigest, order, effects: effects.length };
}

/** The same draft may be made again into the same file; anything else is found in the way before contents are stored. */
function refuseOtherFile(file: string, runId: string): void {
  if (!existsSync(file)) return;
  let before: PlanFile | null = null;
  try {
    before = readPlanFile(file);
  } catch {
    before = null;
  }
  if (before?.form !== 'plan' || before.runId !== runId) throw inTheWay(file);
}

function writeOnce(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'EEXIST' && readFileSync(file, 'utf8') === text) return;
    throw inTheWay(file);
  }
}

function inTheWay(file: string): CliError {
  return new CliError('output_exists', `${file} cannot be written as a new file; choose another name`, 'out');
}
