/**
 * `workflow plan | preview | inspect | submit-review | cancel | resume`, also as `agents workflow …`: the governed commands for
 * scripts, in the contract's own requests and answers. Invariant: with `--json`, one line of its form whatever happens, and an exit
 * code that its status or error alone decides.
 */
import type { Command } from 'commander';
import { readOwnFile } from '../../adapters/reviewers/own-file';
import { MAX_INPUT_BYTES, workflowRequestFromBytes } from '../../rules/governed/request';
import {
  GOVERNED_COMMANDS,
  GOVERNED_WORKFLOW_SCHEMA_VERSION,
  GovernedError,
  type GovernedCommand,
} from '../../rules/governed/vocabulary';
import type { Act, Context, Register } from '../command';
import { GOVERNED_ERROR_EXITS, GOVERNED_STATUS_EXITS } from '../exit-codes';
import { CliError } from '../failure';
import { govern } from '../governed/act';
import { governedError } from '../governed/errors';
import { isOk, type GovernedView } from '../governed/view';
import type { Answer } from '../output';
import { receiptText } from '../receipt-file';
import { connect } from '../service';
import { withOptions, type Settings } from '../settings';

interface WorkflowOptions extends Settings {
  readonly request: string;
  readonly receipt?: string;
}

const SAYS: Record<GovernedCommand, string> = {
  plan: 'say where the run of a request stands, and how many effects it proposes',
  preview: 'look up what the sinks hold; change nothing',
  inspect: 'say where the run of a request stands',
  'submit-review': 'have people asked about a run that waits for them; say what the question is',
  cancel: 'send nothing more, record what is committed, and end the run',
  resume: 'hand over a receipt, and go on',
};

export const workflowCommand: Register = (program, act) => {
  register(program, act, '');
  register(program.command('agents').description('the same as "workflow", by another name'), act, 'agents ');
};

function register(parent: Command, act: Act, prefix: string): void {
  const family = parent.command('workflow').description('govern a run from a script, by requests in files');
  for (const name of GOVERNED_COMMANDS) {
    const command = family.command(name).description(SAYS[name]);
    command.requiredOption('--request <file>', 'the request, in a file that only you can read');
    if (name === 'resume') command.requiredOption('--receipt <file>', 'the receipt, in such a file, too');
    withOptions(command, 'journal', 'taskQueue').action(
      act(`${prefix}workflow ${name}`, (context, options: WorkflowOptions) => answer(name, context, options)),
    );
  }
}

async function answer(command: GovernedCommand, context: Context, options: WorkflowOptions): Promise<Answer> {
  try {
    const view = await viewFor(command, context, options);
    const exit = GOVERNED_STATUS_EXITS[view.status];
    const data = dataOf(view);
    return { document: { ...envelope(command, isOk(view)), data }, lines: linesOf(view), exit };
  } catch (fault) {
    if (fault instanceof CliError && fault.code === 'interrupted') throw fault;
    const { code, reason: message } = governedError(fault);
    const document = { ...envelope(command, false), error: { code, message } };
    return { document, failure: { code, message, field: null, exit: GOVERNED_ERROR_EXITS[code] } };
  }
}

async function viewFor(command: GovernedCommand, context: Context, options: WorkflowOptions): Promise<GovernedView> {
  const request = workflowRequestFromBytes(await readOwnFile(options.request, MAX_INPUT_BYTES));
  const receipt = options.receipt === undefined ? null : await readOwnFile(options.receipt, MAX_INPUT_BYTES);
  if (command === 'resume' && receipt === null)
    throw new GovernedError('input_invalid', 'a run is resumed by a receipt');
  const service = await connect(options);
  try {
    const text = receipt === null ? null : receiptText(receipt);
    return await govern(command, { service, settings: options, request, receipt: text, ...context });
  } finally {
    await service.close();
  }
}

function envelope(command: GovernedCommand, ok: boolean): object {
  return { schema_version: GOVERNED_WORKFLOW_SCHEMA_VERSION, ok, command };
}

function dataOf(view: GovernedView): object {
  return {
    run_id: view.runId,
    workflow_id: view.workflowId,
    action_digest: view.actionDigest,
    state_digest: view.stateDigest,
    phase: view.phase,
    status: view.status,
    proposed_effect_count: view.proposedEffectCount,
    committed_effect_count: view.committedEffectCount,
    receipt_digest: view.receiptDigest,
    review_request_digest: view.reviewRequestDigest,
  };
}

function linesOf(view: GovernedView): readonly string[] {
  return [
    `run ${view.runId} of ${view.workflowId}: ${view.status}`,
    `phase ${view.phase}, ${view.committedEffectCount} of ${view.proposedEffectCount} effects committed`,
    `action ${view.actionDigest}`,
    `state ${view.stateDigest ?? 'none'}`,
    ...(view.reviewRequestDigest === null ? [] : [`review request ${view.reviewRequestDigest}`]),
    ...(view.receiptDigest === null ? [] : [`receipt ${view.receiptDigest}`]),
  ];
}
