/**
 * `export`: one run in one file, to verify or to resume elsewhere. Invariant: the file is verified before it is said to be there,
 * and contents leave their store only when their store is named.
 */
import { rm } from 'node:fs/promises';
import { Journal } from '../../activities/journal';
import { runKind } from '../../activities/run-kind';
import { isSession } from '../../activities/session-files';
import { Refusal } from '../../rules/refusal';
import { exportRun, openExport } from '../../transfer';
import { storeView, verifyJournal, type VerifyReport } from '../../verify';
import { CliError } from '../failure';
import { counted, type Answer } from '../output';
import { namedRun } from '../plan-file';
import type { Context, Register } from '../command';
import { OPTIONS, contentStore, journalStore } from '../settings';

interface ExportOptions {
  readonly out: string;
  readonly contents?: string;
  readonly contentKeys?: string;
}

export const exportCommand: Register = (program, act) => {
  program
    .command('export')
    .description('write one run of a journal into one file, which "verify" and "resume" accept')
    .argument('<journal>', 'the journal')
    .argument('<run>', 'a run id, or the file of its draft or plan')
    .requiredOption('-o, --out <file>', 'a new file')
    // No variable names it: contents must not go along by accident.
    .option(
      '--contents <store>',
      'also write operations and results from this content store; then keep the file as safe',
    )
    .addOption(OPTIONS.contentKeys())
    .action(act('export', exportIt));
};

async function exportIt(_context: Context, folder: string, run: string, options: ExportOptions): Promise<Answer> {
  const { out } = options;
  const runId = namedRun(run).runId;
  const store = journalStore({ journal: folder });
  const journal = new Journal(store);
  const journalId = await journal.id();
  const session = isSession(await store.list(runId));
  if (session && options.contents !== undefined) {
    const reason = 'a session is exported without contents; those of its calls go along with the runs of the calls';
    throw new CliError('invalid_argument', reason, 'contents');
  }
  if (!session && (await runKind(store, runId)) === null) {
    throw new Refusal('unknown_run', `journal ${journalId} holds no such run`, runId);
  }
  const plan = await journal.plan(runId);
  const contents = options.contents === undefined ? null : contentStore({ ...options });
  const written = await exportRun(store, contents, runId, out).catch((fault: unknown) => {
    const { code } = fault as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new CliError('output_exists', `${out} is there already; choose another name`, 'out');
    if (code !== 'ENOENT' && code !== 'EACCES') throw fault;
    throw new CliError('invalid_argument', `${out} cannot be made; name a file in a folder that you can write`, 'out');
  });
  const { report, missing } = await openExport(out, async (exported) => {
    const wanted = exported.store === null ? [] : (plan?.effects ?? []).map(({ operationDigest }) => operationDigest);
    const found = await Promise.all(wanted.map((digest) => exported.store?.read(`operations/${digest.slice(7)}`)));
    return {
      report: await verifyJournal(storeView(exported.journal)),
      missing: found.filter((one) => one === null).length,
    };
  });
  if (!report.ok) {
    await rm(out, { force: true });
    return notVerified(report);
  }
  const head = report.runs[0]?.lineages.at(-1)?.head ?? null;
  const jobs = report.runs[0]?.jobs ?? 0;
  const events = report.runs[0]?.events ?? 0;
  const launches = session
    ? counted(events, 'event')
    : plan === null
      ? counted(jobs, 'launch', 'launches')
      : 'no checkpoint yet';
  const lines = [
    `run ${runId} of journal ${journalId}: ${counted(written.entries, 'entry', 'entries')} in ${out}, verified`,
    head === null ? launches : `head ${head.sequence} ${head.digest}`,
    contents === null ? 'without contents' : withContents(missing),
  ];
  return { data: { ...written, head, jobs, events, missingOperations: missing, out }, lines };
}

function withContents(missing: number): string {
  const lacking = missing === 0 ? '' : `; ${counted(missing, 'operation')} of the plan were not there`;
  return `with contents: keep it as safe as the content store${lacking}`;
}

function notVerified(report: VerifyReport): Answer {
  const first = report.findings.find(({ failure }) => failure);
  const message = `${first?.path ?? '.'}: ${first?.message ?? 'not verified'}; nothing was exported`;
  return { data: report, failure: { code: 'not_verified', message, field: null, exit: 'denied' } };
}
