/**
 * `run`: starts a plan, or follows the run that is there, and tells how it ends. Invariant: nothing is stored or started
 * before the file is wholly checked and the server has answered; the same name is the same run for ever.
 */
import { answerOf } from '../conclusion';
import { follow } from '../follow';
import { counted, type Answer } from '../output';
import { readPlanFile } from '../plan-file';
import type { Context, Register } from '../command';
import { connect } from '../service';
import { contentStore, withOptions, type Settings } from '../settings';

interface RunOptions extends Settings {
  readonly wait?: boolean;
}

export const runCommand: Register = (program, act) => {
  const command = program
    .command('run')
    .description('run a plan or a draft, or follow the run of that name, until it ends or needs a person')
    .argument('<file>', 'draft or plan, JSON')
    .option('--wait', 'go on following a plan that waits for a person');
  withOptions(command, 'journal', 'contents', 'taskQueue').action(act('run', run));
};

async function run(context: Context, file: string, options: RunOptions): Promise<Answer> {
  const read = readPlanFile(file);
  const service = await connect(options, read.form === 'draft' ? contentStore(options) : undefined);
  try {
    const plan = read.form === 'plan' ? read.plan : await service.plans.prepare(read.draft);
    const handle = await service.plans.start(plan);
    context.output.say(`run ${plan.runId}: ${counted(plan.effects.length, 'effect')}`);
    const { interrupted, output } = context;
    const say = (line: string): void => output.say(line);
    const wait = options.wait === true;
    const followed = await follow(service, handle, { wait, taskQueue: options.taskQueue, interrupted, say });
    return answerOf(handle, followed);
  } finally {
    await service.close();
  }
}
