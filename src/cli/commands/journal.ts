/** `journal init`, `ls` and `copy`. Invariant: a journal is only ever made by hand, and never in a folder of something else. */
import { readdirSync } from 'node:fs';
import { fileStore } from '../../adapters/stores';
import { initJournal } from '../../journal-init';
import { parseRecord } from '../../rules/fields';
import { journalIdFromBytes } from '../../rules/journal-record';
import { planFromRecord } from '../../rules/plans/plan';
import { RETIRED_FILE_NAME, RecoveryCheckpoint, RetiredJournalRecord, isRunId } from '../../rules/recovery';
import { Refusal } from '../../rules/refusal';
import { importRun, openExport } from '../../transfer';
import { diskView, type JournalView } from '../../verify';
import { withContentKeys } from '../content-keys';
import { CliError } from '../failure';
import { counted, table, type Answer } from '../output';
import type { Context, Register } from '../command';
import { PLACED_AS, refuseNoFile } from '../exported-file';
import { contentsBeside, journalFolder, withOptions, type Settings } from '../settings';
import { addCopy } from './journal-copy';
import { addRetire } from './journal-retire';

export const journalCommand: Register = (program, act) => {
  const journal = program.command('journal').description('make a journal, or list what one holds');
  const init = journal
    .command('init')
    .description('make a journal and the content store beside it; asked again, it answers the id that is there')
    .argument('<dir>', 'a new or empty folder')
    .option('--from <file>', 'place this exported run there, under the id of the journal that it comes from');
  withOptions(init, 'contents').action(act('journal init', makeJournal));
  const list = journal.command('ls').description('list the runs of a journal').argument('[dir]', 'default: --journal');
  withOptions(list, 'journal').action(act('journal ls', listRuns));
  addCopy(journal, act);
  addRetire(journal, act);
};

interface InitOptions extends Pick<Settings, 'contents' | 'contentKeys'> {
  readonly from?: string;
}

async function makeJournal(_context: Context, dir: string, options: InitOptions): Promise<Answer> {
  const folder = journalFolder({ journal: dir });
  const contents = options.contents ?? contentsBeside(folder);
  if (options.from !== undefined) return placeExport(options.from, folder, contents, options.contentKeys);
  refuseForeign(folder);
  const made = await initJournal(fileStore(folder, { createRoot: true }));
  await fileStore(contents, { createRoot: true }).list('');
  const done = made.created ? 'made' : 'is there already';
  return { data: { ...made, contents }, lines: [`journal ${made.journalId} ${done}`, `contents go to ${contents}`] };
}

async function placeExport(
  file: string,
  folder: string,
  contents: string,
  contentKeys: string | undefined,
): Promise<Answer> {
  refuseNoFile(file);
  const store = fileStore(folder, { createRoot: true });
  const beside = withContentKeys(fileStore(contents, { createRoot: true }), contentKeys);
  return openExport(file, async (exported) => {
    const placed = await importRun(exported, store, beside);
    await beside.list('');
    const { journalId, runId } = exported;
    const lines = [
      `run ${runId} of journal ${journalId}: ${PLACED_AS[placed.state]}`,
      exported.store === null
        ? `its contents were not exported; they belong in ${contents}`
        : `contents are in ${contents}`,
    ];
    return { data: { journalId, contents, ...placed }, lines };
  });
}

function refuseForeign(folder: string): void {
  let names: readonly string[] = [];
  try {
    names = readdirSync(folder);
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new CliError('input_unreadable', `${folder} cannot be listed; a journal needs a folder of its own`, 'dir');
  }
  if (names.length === 0 || names.includes('journal.json')) return;
  throw new CliError('invalid_argument', `${folder} holds other things; a journal needs a folder of its own`, 'dir');
}

interface RunRow {
  readonly runId: string;
  readonly workflowId: string | null;
  readonly phase: string | null;
  readonly checkpoints: number;
  readonly effects: number;
  readonly committed: number;
}

async function listRuns(_context: Context, dir: string | undefined, options: Settings): Promise<Answer> {
  const folder = dir ?? journalFolder(options);
  const view = diskView(folder);
  const entries = (await view.list('')) ?? [];
  if (!entries.some(({ name }) => name === 'journal.json')) {
    throw new Refusal('journal_missing', `${folder} holds no journal; make one with "countersign journal init"`);
  }
  const journalId = journalIdFromBytes(await view.read('journal.json'));
  const runs: RunRow[] = [];
  for (const { name } of [...entries].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (isRunId(name)) runs.push(await readRow(view, name));
  }
  const rows = runs.map((run) => [
    run.runId,
    run.phase ?? 'no checkpoint',
    `${run.committed}/${run.effects}`,
    counted(run.checkpoints, 'checkpoint'),
    run.workflowId ?? 'unreadable plan',
  ]);
  const lines = [`journal ${journalId}, ${counted(runs.length, 'run')} (listed, not verified)`, ...table(rows)];
  return { data: { journalId, runs }, lines };
}

/** Only the newest checkpoint is read: this is a list, not a proof. */
async function readRow(view: JournalView, run: string): Promise<RunRow> {
  const plan = await readable(async () => parseRecord(await view.read(`${run}/plan.json`), 'plan', planFromRecord));
  const folders = ((await view.list(run)) ?? []).map(({ name }) => name).filter((name) => name.startsWith('lineage-'));
  const lineage = `${run}/${folders.sort().at(-1) ?? 'lineage-0001'}`;
  const files = ((await view.list(lineage)) ?? [])
    .map(({ name }) => name)
    .filter((name) => name.startsWith('checkpoint-'));
  const last = files.sort().at(-1);
  const retired = ((await view.list(lineage)) ?? []).some(({ name }) => name === RETIRED_FILE_NAME)
    ? await readable(async () => RetiredJournalRecord.fromJson(await view.read(`${lineage}/${RETIRED_FILE_NAME}`)))
    : null;
  if (retired !== null) {
    const [effects, checkpoints] = [Number(retired.effectCount), Number(retired.checkpointCount)];
    const phase = `${retired.phase}, retired`;
    return { runId: run, workflowId: plan?.workflowId ?? null, phase, checkpoints, effects, committed: effects };
  }
  const head =
    last === undefined
      ? null
      : await readable(async () => RecoveryCheckpoint.fromJson(await view.read(`${lineage}/${last}`)));
  return {
    runId: run,
    workflowId: plan?.workflowId ?? null,
    phase: head?.phase ?? (last === undefined ? null : 'unreadable'),
    checkpoints: files.length,
    effects: head?.effects.length ?? plan?.effects.length ?? 0,
    committed: head?.effects.filter((effect) => effect.state === 'committed').length ?? 0,
  };
}

async function readable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch {
    return null;
  }
}
