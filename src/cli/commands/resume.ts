/**
 * `resume`: carries on a run from its journal alone, on whatever cluster the connection leads to. Invariant: what does not verify
 * is not started; a run that is already carried there is followed, never started a second time.
 */
import { shownAddress, storeIsThere } from '../../adapters/stores/open-store';
import { Journal } from '../../activities/journal';
import { isDigest } from '../../rules/recovery';
import { Refusal } from '../../rules/refusal';
import { importRun, openExport, type ExportedRun } from '../../transfer';
import { answerOf } from '../conclusion';
import { PLACED_AS, isFile } from '../exported-file';
import { CliError } from '../failure';
import { follow } from '../follow';
import type { Answer } from '../output';
import { namedRun } from '../plan-file';
import type { Context, Register } from '../command';
import { connect } from '../service';
import { contentStore, contentsAddress, journalAddress, journalStore, withOptions, type Settings } from '../settings';

interface ResumeCommandOptions extends Settings {
  readonly wait?: boolean;
  readonly expectHead?: string;
}

export const resumeCommand: Register = (program, act) => {
  const command = program
    .command('resume')
    .description('carry on a run from its journal alone, on a cluster that has never heard of it')
    .argument('<journal>', 'the journal of the workers, or an exported run, which is first placed in --journal')
    .argument('[run]', 'a run id, or the file of its draft or plan; an exported run names its own')
    .option('--wait', 'go on following a plan that waits for a person')
    .option('--expect-head <digest>', 'refuse a journal in which this run does not end in this checkpoint');
  withOptions(command, 'journal', 'contents', 'taskQueue').action(act('resume', resume));
};

async function resume(
  context: Context,
  from: string,
  run: string | undefined,
  options: ResumeCommandOptions,
): Promise<Answer> {
  const { expectHead } = options;
  if (expectHead !== undefined && !isDigest(expectHead)) {
    const reason = '--expect-head must be "sha256:" and 64 lowercase hex digits';
    throw new CliError('invalid_argument', reason, 'expect_head');
  }
  const named = run === undefined ? undefined : namedRun(run).runId;
  if (isFile(from)) return openExport(from, (exported) => resumeExported(context, exported, named, options));
  if (named === undefined) throw new CliError('invalid_argument', 'say which run of the journal', 'run');
  return resumeFrom(context, named, { ...options, journal: from });
}

async function resumeExported(
  context: Context,
  exported: ExportedRun,
  named: string | undefined,
  options: ResumeCommandOptions,
): Promise<Answer> {
  const { runId, journalId } = exported;
  if (named !== undefined && named !== runId) {
    throw new Refusal('unknown_run', `was not exported into this file, which holds ${runId}`, named);
  }
  const contents = (await hasStore(options)) ? contentStore(options) : null;
  const { state } = await importRun(exported, journalStore(options), contents);
  context.output.say(
    `run ${runId} of journal ${journalId}: ${PLACED_AS[state]} in ${shownAddress(journalAddress(options))}`,
  );
  return resumeFrom(context, runId, options);
}

/** The workers need the contents; who resumes may stand elsewhere. */
async function hasStore(options: ResumeCommandOptions): Promise<boolean> {
  return (options.contents ?? '') !== '' || (await storeIsThere(contentsAddress(options)));
}

async function resumeFrom(context: Context, runId: string, options: ResumeCommandOptions): Promise<Answer> {
  const { expectHead, taskQueue, wait = false } = options;
  const { output, interrupted } = context;
  const checkContents = await hasStore(options);
  await refuseUnknown(options, runId);
  const service = await connect(options, checkContents ? contentStore(options) : undefined);
  try {
    const head = expectHead === undefined ? {} : { expectHead };
    const handle = await service.plans.resume(runId, { checkContents, ...head });
    output.say(`run ${runId}: its journal verifies, and goes on as ${handle.workflowId}`);
    if (!checkContents) output.say('  its contents are not here and were not looked at; the workers must have them');
    const say = (line: string): void => output.say(line);
    return answerOf(handle, await follow(service, handle, { wait, taskQueue, interrupted, say }));
  } finally {
    await service.close();
  }
}

/** Before a server is asked for. */
async function refuseUnknown(options: ResumeCommandOptions, runId: string): Promise<void> {
  const journal = new Journal(journalStore(options));
  const id = await journal.id();
  if ((await journal.plan(runId)) === null) throw new Refusal('unknown_run', `journal ${id} holds no such run`, runId);
}
