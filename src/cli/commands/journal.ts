/** `journal init`, `ls` and `copy`. Invariant: a journal is only ever made by hand, and never in a folder of something else. */
import { readdirSync } from 'node:fs';
import { openContentStore, openStore } from '../../adapters/stores';
import {
  contentsBeside,
  isFolderAddress,
  makeStore,
  shownAddress,
  type MakeStoreOptions,
} from '../../adapters/stores/open-store';
import { initJournal } from '../../journal-init';
import { runKind, type RunKind } from '../../activities/run-kind';
import { StoreError, type Store } from '../../ports';
import { parseRecord } from '../../rules/fields';
import { journalIdFromBytes } from '../../rules/journal-record';
import { planFromRecord } from '../../rules/plans/plan';
import { RETIRED_FILE_NAME, RecoveryCheckpoint, RetiredJournalRecord, isRunId } from '../../rules/recovery';
import { Refusal } from '../../rules/refusal';
import { importRun, openExport } from '../../transfer';
import { diskView, storeView, type JournalView } from '../../verify';
import { withContentKeys } from '../content-keys';
import { readJobs, type InspectedJob } from '../inspect-jobs';
import { listedSession, readable, type ListedSession } from '../listed-session';
import { CliError } from '../failure';
import { counted, table, type Answer } from '../output';
import type { Context, Register } from '../command';
import { PLACED_AS, refuseNoFile } from '../exported-file';
import { journalAddress, journalStore, withOptions, type Settings } from '../settings';
import { addCopy } from './journal-copy';
import { addRetire } from './journal-retire';

export const journalCommand: Register = (program, act) => {
  const journal = program.command('journal').description('make a journal, or list what one holds');
  const init = journal
    .command('init')
    .description('make a journal and the content store beside it; asked again, it answers the id that is there')
    .argument('<store>', 'a new or empty folder, or an address: postgres://… as the owner of its tables, or s3://…')
    .option('--grant <role>', 'in PostgreSQL: the role of the workers, which may then read and add, and erase contents')
    .option('--from <file>', 'place this exported run there, under the id of the journal that it comes from');
  withOptions(init, 'contents').action(act('journal init', makeJournal));
  const list = journal
    .command('ls')
    .description('list the runs of a journal')
    .argument('[store]', 'default: --journal');
  withOptions(list, 'journal').action(act('journal ls', listRuns));
  addCopy(journal, act);
  addRetire(journal, act);
};

interface InitOptions extends Pick<Settings, 'contents' | 'contentKeys'> {
  readonly from?: string;
  readonly grant?: string;
}

async function makeJournal(_context: Context, address: string, options: InitOptions): Promise<Answer> {
  const contents = options.contents ?? contentsBeside(address);
  const grants = options.grant === undefined ? {} : { grantTo: options.grant };
  if (options.from !== undefined) return placeExport(options.from, address, contents, grants, options.contentKeys);
  if (isFolderAddress(address)) refuseForeign(address);
  await make(address, grants);
  const store = openStore(address);
  if (!isFolderAddress(address)) refuseOthers(await store.list(''), shownAddress(address));
  const made = await initJournal(store);
  if (contents !== address) await make(contents);
  const done = made.created ? 'made' : 'is there already';
  const place = shownAddress(contents);
  return {
    data: { ...made, contents: place },
    lines: [`journal ${made.journalId} ${done}`, `contents go to ${place}`],
  };
}

async function placeExport(
  file: string,
  address: string,
  contents: string,
  grants: MakeStoreOptions,
  contentKeys: string | undefined,
): Promise<Answer> {
  refuseNoFile(file);
  return openExport(file, async (exported) => {
    await make(address, grants);
    if (contents !== address) await make(contents);
    const beside = withContentKeys(openContentStore(contents), contentKeys);
    const placed = await importRun(exported, openStore(address), beside);
    const { journalId, runId } = exported;
    const place = shownAddress(contents);
    const lines = [
      `run ${runId} of journal ${journalId}: ${PLACED_AS[placed.state]}`,
      exported.store === null ? `its contents were not exported; they belong in ${place}` : `contents are in ${place}`,
    ];
    return { data: { journalId, contents: place, ...placed }, lines };
  });
}

/** Tables of something else are as foreign as files of something else. */
async function make(address: string, options: MakeStoreOptions = {}): Promise<void> {
  try {
    await makeStore(address, options);
  } catch (fault) {
    if (!(fault instanceof StoreError) || fault.code !== 'store_unsafe_entry') throw fault;
    throw new CliError('invalid_argument', fault.message.replace(`${fault.code}: `, ''), 'dir');
  }
}

function refuseForeign(folder: string): void {
  let names: readonly string[] = [];
  try {
    names = readdirSync(folder);
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new CliError('input_unreadable', `${folder} cannot be listed; a journal needs a folder of its own`, 'dir');
  }
  refuseOthers(names, folder);
}

function refuseOthers(names: readonly string[], place: string): void {
  if (names.length === 0 || names.includes('journal.json')) return;
  throw new CliError('invalid_argument', `${place} holds other things; a journal needs a place of its own`, 'dir');
}

interface RunRow {
  readonly runId: string;
  readonly kind: RunKind | 'session' | null;
  /** Of a launch, or a run of checks. */
  readonly jobs: readonly InspectedJob[];
  readonly session: ListedSession | null;
  readonly workflowId: string | null;
  readonly phase: string | null;
  readonly checkpoints: number;
  readonly effects: number;
  readonly committed: number;
}

async function listRuns(_context: Context, named: string | undefined, options: Settings): Promise<Answer> {
  const address = named ?? journalAddress(options);
  const store = isFolderAddress(address) ? openStore(address) : journalStore({ journal: address });
  const view = isFolderAddress(address) ? diskView(address) : storeView(store);
  const entries = (await view.list('')) ?? [];
  if (!entries.some(({ name }) => name === 'journal.json')) {
    const reason = `${shownAddress(address)} holds no journal; make one with "countersign journal init"`;
    throw new Refusal('journal_missing', reason);
  }
  const journalId = journalIdFromBytes(await view.read('journal.json'));
  const runs: RunRow[] = [];
  for (const { name } of [...entries].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (isRunId(name)) runs.push(await readRow(view, store, name));
  }
  const rows = runs.map((run) => ROWS[run.kind ?? 'plan'](run));
  const lines = [`journal ${journalId}, ${counted(runs.length, 'run')} (listed, not verified)`, ...table(rows)];
  return { data: { journalId, runs }, lines };
}

const ROWS: Record<RunKind | 'session', (run: RunRow) => readonly string[]> = {
  plan: planRow,
  launch: jobsRow,
  verification: jobsRow,
  session: ({ runId, session }) => [
    runId,
    session?.last ?? 'no event',
    '',
    counted(session?.events ?? 0, 'event'),
    `session ${session?.name ?? 'unreadable'}`,
  ],
};

function planRow(run: RunRow): readonly string[] {
  const of = run.workflowId ?? 'unreadable plan';
  const checkpoints = counted(run.checkpoints, 'checkpoint');
  return [run.runId, run.phase ?? 'no checkpoint', `${run.committed}/${run.effects}`, checkpoints, of];
}

/** Where its last job stands: at any time at most one of a run is open. */
function jobsRow({ jobs, kind, runId }: RunRow): readonly string[] {
  const ended = jobs.filter(({ state }) => state === 'submitted').length;
  const open = jobs.find(({ state }) => state !== 'submitted') ?? jobs.at(-1);
  const state = open === undefined ? 'no launch' : `${open.state}${open.reason === null ? '' : ` (${open.reason})`}`;
  const who = open?.provider == null ? '' : `${open.provider} ${open.model}`;
  return [
    runId,
    state,
    `${ended}/${jobs.length}`,
    counted(jobs.length, 'launch', 'launches'),
    `${kind} ${who}`.trimEnd(),
  ];
}

/** Only the newest checkpoint or event is read: this is a list, not a proof. */
async function readRow(view: JournalView, store: Store, run: string): Promise<RunRow> {
  const session = await listedSession(view, run);
  const kind = session === null ? await runKind(store, run) : 'session';
  const jobs = kind === 'launch' || kind === 'verification' ? ((await readable(() => readJobs(store, run))) ?? []) : [];
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
    const workflowId = plan?.workflowId ?? null;
    return { runId: run, kind, jobs, session, workflowId, phase, checkpoints, effects, committed: effects };
  }
  const head =
    last === undefined
      ? null
      : await readable(async () => RecoveryCheckpoint.fromJson(await view.read(`${lineage}/${last}`)));
  return {
    ...{ runId: run, kind, jobs, session },
    workflowId: plan?.workflowId ?? null,
    phase: head?.phase ?? (last === undefined ? null : 'unreadable'),
    checkpoints: files.length,
    effects: head?.effects.length ?? plan?.effects.length ?? 0,
    committed: head?.effects.filter((effect) => effect.state === 'committed').length ?? 0,
  };
}
