/**
 * `resume`: carries on a run from its journal alone, on whatever cluster the connection leads to. Invariant: what does not verify
 * is not started; a run that is already carried there is followed, never started a second time.
 */
import { statSync } from 'node:fs';
import { isDigest, isRunId } from '../../rules/recovery';
import { answerOf } from '../conclusion';
import { CliError } from '../failure';
import { follow } from '../follow';
import type { Answer } from '../output';
import { readPlanFile } from '../plan-file';
import type { Context, Register } from '../command';
import { connect } from '../service';
import { contentStore, contentsFolder, withOptions, type Settings } from '../settings';

interface ResumeCommandOptions extends Settings {
  readonly wait?: boolean;
  readonly expectHead?: string;
}

export const resumeCommand: Register = (program, act) => {
  const command = program
    .command('resume')
    .description('carry on a run from its journal alone, on a cluster that has never heard of it')
    .argument('<journal>', 'the journal folder of the workers')
    .argument('<run>', 'a run id, or the file of its draft or plan')
    .option('--wait', 'go on following a plan that waits for a person')
    .option('--expect-head <digest>', 'refuse a journal in which this run does not end in this checkpoint');
  withOptions(command, 'contents', 'taskQueue').action(act('resume', resume));
};

async function resume(context: Context, folder: string, run: string, options: ResumeCommandOptions): Promise<Answer> {
  const { expectHead, taskQueue } = options;
  if (expectHead !== undefined && !isDigest(expectHead)) {
    const reason = '--expect-head must be "sha256:" and 64 lowercase hex digits';
    throw new CliError('invalid_argument', reason, 'expect_head');
  }
  const runId = isRunId(run) ? run : readPlanFile(run).runId;
  const settings: Settings = { ...options, journal: folder };
  const { output, interrupted } = context;
  // The workers need the contents; who resumes may stand elsewhere.
  const checkContents = (options.contents ?? '') !== '' || isFolder(contentsFolder(settings));
  const service = await connect(settings, checkContents ? contentStore(settings) : undefined);
  try {
    const head = expectHead === undefined ? {} : { expectHead };
    const handle = await service.plans.resume(runId, { checkContents, ...head });
    output.say(`run ${runId}: its journal verifies, and goes on as ${handle.workflowId}`);
    if (!checkContents) output.say('  its contents are not here and were not looked at; the workers must have them');
    const say = (line: string): void => output.say(line);
    const followed = await follow(service, handle, { wait: options.wait === true, taskQueue, interrupted, say });
    return answerOf(handle, followed);
  } finally {
    await service.close();
  }
}

function isFolder(folder: string): boolean {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}
