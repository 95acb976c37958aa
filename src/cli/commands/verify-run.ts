/**
 * `verify-run start`, `status`, `inspect`, `recheck`, `affirm`, `apply`, `owed`: runs of checks, from their draft to what has to be checked again.
 * Invariant: a run is started by a person's explicit act only; whatever is refused has stored and started nothing.
 */
import type { Command } from 'commander';
import type { RunDraft, VerificationClient, VerificationHandle } from '../../client';
import { isDigest } from '../../rules/recovery';
import { Refusal } from '../../rules/refusal';
import { isProposalId, isSittingId } from '../../rules/verification/names';
import type { Act, Context, Register } from '../command';
import { CliError } from '../failure';
import { counted, table, type Answer } from '../output';
import { connect, offlineRuns, verificationRuns, type Service } from '../service';
import { contentStore, journalStore, withOptions, type Settings } from '../settings';
import { readRunDraft } from '../verify-run/draft-file';
import { concluded, followRun, statusOf } from '../verify-run/follow-run';
import { namedVerification } from '../verify-run/named';
import { bookView, obligationData, obligationRow } from '../verify-run/view';
import { addAuthorize } from './verify-run-authorize';
import { addHistories } from './verify-run-histories';

const DRAFT = 'the file of a draft: person, capture, goal, checks, executors';
const RUN = 'a run id, or the id of its workflow';

export const verifyRunCommand: Register = (program, act) => {
  const family = program
    .command('verify-run')
    .description('check a document, an order or an account, and check it again');
  const start = family
    .command('start')
    .description('run the checks of a draft; asked again for the same, it follows the run that is there')
    .argument('<draft>', DRAFT)
    .option('--wait', 'go on following a run that waits for a receipt');
  withOptions(start, 'journal', 'contents', 'taskQueue').action(act('verify-run start', startRun));
  addAuthorize(family, act);
  const status = family.command('status').description('what the execution of a run says').argument('<run>', RUN);
  withOptions(status, 'taskQueue').action(act('verify-run status', tellStatus));
  const inspect = family
    .command('inspect')
    .description('show results, launches, proposals and their rechecks as the journal holds them; asks no server')
    .argument('<run>', RUN);
  withOptions(inspect, 'journal').action(act('verify-run inspect', inspectRun));
  const apply = family
    .command('apply')
    .description('record that a person applied proposals of a run that has ended; says what is owed a recheck')
    .argument('<run>', RUN)
    .requiredOption('--person <person>', 'who applied them, as in person:example.org/clerk-1')
    .requiredOption('--proposal <id...>', 'what was applied, as in prop_…; repeatable')
    .option('--sitting <id>', 'as in sit_…; name it yourself to be able to say the same again');
  withOptions(apply, 'journal', 'taskQueue').action(act('verify-run apply', applyProposals));
  const owed = family
    .command('owed')
    .description('list what has to be checked again, derived from the receipts of the journal')
    .argument('[run]', `${RUN}; default: of all runs`);
  withOptions(owed, 'journal').action(act('verify-run owed', listOwed));
  recheckCommands(family, act);
  addHistories(family, act);
};

function recheckCommands(family: Command, act: Act): void {
  const intent = (command: Command): Command =>
    command.argument('<draft>', DRAFT).requiredOption('--intent <id>', 'of "verify-run owed"');
  const recheck = intent(family.command('recheck'))
    .description('check again what a person applied: same person, goal and place, captured since')
    .option('--affirmation <digest>', 'of "verify-run affirm", where the target cannot be found again by itself')
    .option('--wait', 'go on following a run that waits for a receipt');
  withOptions(recheck, 'journal', 'contents', 'taskQueue').action(act('verify-run recheck', recheckRun));
  const affirm = intent(family.command('affirm')).description(
    'confirm an exact new target for a recheck; starts nothing',
  );
  withOptions(affirm, 'journal', 'contents', 'taskQueue').action(act('verify-run affirm', affirmTarget));
}

interface StartOptions extends Settings {
  readonly wait?: boolean;
}
interface RecheckOptions extends StartOptions {
  readonly intent: string;
  readonly affirmation?: string;
}

async function startRun(context: Context, file: string, options: StartOptions): Promise<Answer> {
  const draft = readRunDraft(file);
  return withRuns(options, async (runs, service) => {
    const prepared = await runs.prepare(draft);
    return followed(context, service, options, prepared.runId, runs.start(prepared));
  });
}

async function recheckRun(context: Context, file: string, options: RecheckOptions): Promise<Answer> {
  const draft = ofIntent(file, options);
  return withRuns(options, async (runs, service) => {
    const prepared = await runs.prepareRecheck(draft);
    return followed(context, service, options, prepared.runId, runs.start(prepared));
  });
}

function followed(
  { interrupted, output }: Context,
  service: Service,
  { taskQueue, wait = false }: StartOptions,
  runId: string,
  started: Promise<VerificationHandle>,
): Promise<Answer> {
  started.catch(() => undefined);
  output.say(`run ${runId}`);
  return followRun(service, runId, started, { wait, taskQueue, interrupted, say: (line) => output.say(line) });
}

async function affirmTarget(_context: Context, file: string, options: RecheckOptions): Promise<Answer> {
  const draft = ofIntent(file, options);
  return withRuns(options, async (runs) => {
    const affirmation = await runs.affirm(draft);
    const next = `nothing was started; now: countersign verify-run recheck ${file} --intent ${options.intent} --affirmation ${affirmation}`;
    return { data: { affirmation, intentId: options.intent }, lines: [`affirmed as ${affirmation}`, next] };
  });
}

/** The part of a draft that a recheck has to say again; its checks and executors are those of the run that is checked again. */
function ofIntent(file: string, { affirmation, intent }: RecheckOptions): Parameters<VerificationClient['recheck']>[0] {
  if (!isDigest(intent)) throw wrong('intent', '--intent must be "sha256:" and 64 lowercase hex digits');
  if (affirmation !== undefined && !isDigest(affirmation)) {
    throw wrong('affirmation', '--affirmation must be "sha256:" and 64 lowercase hex digits');
  }
  const { capture, goal, person, protectedIntent }: RunDraft = readRunDraft(file);
  return {
    ...{ person, intentId: intent, capture, goal },
    ...(protectedIntent === undefined ? {} : { protectedIntent }),
    ...(affirmation === undefined ? {} : { affirmation }),
  };
}

async function tellStatus(_context: Context, run: string, options: Settings): Promise<Answer> {
  const runId = namedVerification(run);
  return withService(options, {}, async (runs, service) => {
    const handle = runs.handle(runId);
    const { status: execution } = await service.soon(() => handle.workflow.describe());
    const status = await statusOf(service, handle);
    if (status !== null) return concluded(status);
    const what = `its execution is ${execution.name.toLowerCase().replaceAll('_', ' ')}`;
    throw new CliError(
      'service_failed',
      `no worker answers for the run; ${what}. "verify-run inspect" reads the journal`,
    );
  });
}

async function inspectRun(_context: Context, run: string, options: Settings): Promise<Answer> {
  const runId = namedVerification(run);
  const runs = offlineRuns(options);
  const book = await runs.book(runId);
  if (book === null) throw new Refusal('unknown_run', 'is no verification run of this journal', runId);
  const owed = await runs.obligations(runId);
  const { data, lines } = bookView(book);
  return { data: { ...data, owed: owed.map(obligationData) }, lines: [...lines, ...table(owed.map(obligationRow))] };
}

interface ApplyOptions extends Settings {
  readonly person: string;
  readonly proposal: readonly string[];
  readonly sitting?: string;
}

async function applyProposals(_context: Context, run: string, options: ApplyOptions): Promise<Answer> {
  const runId = namedVerification(run);
  const { person, proposal: proposals, sitting: sittingId } = options;
  if (!proposals.every(isProposalId)) throw wrong('proposal', 'a proposal is written as prop_ and 32 hex digits');
  if (sittingId !== undefined && !isSittingId(sittingId))
    throw wrong('sitting', 'a sitting is written as sit_ and 32 hex digits');
  return withService(options, { journal: journalStore(options) }, async (runs) => {
    const owed = await runs.apply(runId, { person, proposals, ...(sittingId === undefined ? {} : { sittingId }) });
    const lines = owed.map(({ intentId, pending, state }) => [
      state.replaceAll('_', ' '),
      `${pending.length} pending`,
      intentId,
    ]);
    return { data: { runId, owed }, lines: [`${counted(proposals.length, 'proposal')} applied`, ...table(lines)] };
  });
}

async function listOwed(_context: Context, run: string | undefined, options: Settings): Promise<Answer> {
  const runId = run === undefined ? undefined : namedVerification(run);
  const owed = await offlineRuns(options).obligations(runId);
  const left = owed.filter(({ state }) => state !== 'fulfilled').length;
  const lines = [`${counted(owed.length, 'recheck')}, ${left} of them still owed`, ...table(owed.map(obligationRow))];
  return { data: { owed: owed.map(obligationData) }, lines };
}

function wrong(field: string, reason: string): CliError {
  return new CliError('invalid_argument', reason, field);
}

async function withRuns(
  options: Settings,
  act: (runs: VerificationClient, service: Service) => Promise<Answer>,
): Promise<Answer> {
  return withService(options, { journal: journalStore(options), contents: contentStore(options) }, act);
}

async function withService(
  options: Settings,
  stores: Parameters<typeof verificationRuns>[2],
  act: (runs: VerificationClient, service: Service) => Promise<Answer>,
): Promise<Answer> {
  const service = await connect({ taskQueue: options.taskQueue });
  try {
    return await act(verificationRuns(service, options.taskQueue, stores), service);
  } finally {
    await service.close();
  }
}
