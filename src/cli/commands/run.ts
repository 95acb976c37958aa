/**
 * `run`: starts a plan, or follows the run that is there, and tells how it ends. Invariant: nothing is stored or started
 * before the file is wholly checked and the server has answered; the same name is the same run for ever.
 */
import type { PlanHandle, PlanOutcome } from '../../client';
import type { ParkReason } from '../../activities/contract';
import { ADVICE } from '../advice';
import { CLI_EXITS, OUTCOME_EXITS, PARKED_EXITS } from '../exit-codes';
import { follow, type Followed } from '../follow';
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

function answerOf(handle: PlanHandle, followed: Followed): Answer {
  const { runId, workflowId } = handle;
  switch (followed.end) {
    case 'result':
      return concluded(followed.outcome);
    case 'parked':
      return {
        data: followed.status,
        lines: [`waiting for a person: ${ADVICE[followed.reason]}`, `it goes on as ${workflowId}`],
        failure: parked(followed.reason, followed.status.message),
      };
    case 'interrupted': {
      const message = `the plan goes on without you; follow it with: countersign inspect ${runId}`;
      const failure = { code: 'interrupted', message, field: null, exit: CLI_EXITS.interrupted };
      return { data: { run_id: runId, workflow_id: workflowId }, failure };
    }
  }
}

function parked(reason: ParkReason, message: string | null): NonNullable<Answer['failure']> {
  const why = (message ?? 'a person must decide').replace(`${reason}: `, '');
  return { code: reason, message: `${why}; ${ADVICE[reason]}`, field: null, exit: PARKED_EXITS[reason] };
}

function concluded(outcome: PlanOutcome): Answer {
  const committed = outcome.effects.filter((effect) => effect.state === 'committed').length;
  const head = outcome.head === null ? 'no checkpoint' : `head ${outcome.head.sequence} ${outcome.head.digest}`;
  const lines = [
    `${outcome.status}${outcome.replayed ? ' before this command, so nothing was sent for it' : ''}: ` +
      `${committed} of ${outcome.effects.length} effects committed`,
    head,
  ];
  const exit = OUTCOME_EXITS[outcome.status];
  if (outcome.status !== 'cancelled') return { data: outcome, lines, exit };
  const failure = { code: 'plan_cancelled', message: 'the plan was cancelled', field: null, exit };
  return { data: outcome, lines, failure };
}
