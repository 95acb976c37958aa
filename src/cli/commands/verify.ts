/** `verify`: proves a journal, a run or a lineage from its files. Invariant: reads only; neither Temporal nor a sink is asked. */
import { lstatSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { isFolderAddress, shownAddress } from '../../adapters/stores/open-store';
import { isDigest } from '../../rules/recovery';
import { openExport } from '../../transfer';
import {
  storeView,
  verify,
  verifyJournal,
  type AnchorReport,
  type Finding,
  type GivenHistory,
  type LineageReport,
  type RunReport,
  type VerifyReport,
} from '../../verify';
import { withAnchors, type AnchorSettings, anchorCheck } from '../anchor-options';
import { CliError } from '../failure';
import { counted, table, type Answer } from '../output';
import type { Context, Register } from '../command';
import { journalStore } from '../settings';

interface VerifyCommandOptions extends AnchorSettings {
  readonly strict?: boolean;
  readonly expectHead?: string;
  readonly history?: readonly string[];
}

/** Beyond what Temporal lets a history grow to. */
const MAX_HISTORY_BYTES = 256 * 1024 * 1024;

export const verifyCommand: Register = (program, act) => {
  const command = program
    .command('verify')
    .description('verify a journal, a run, a lineage folder or an exported run from its entries alone')
    .argument(
      '<journal>',
      'a folder, told apart by what it holds, a file that "export" wrote, or an address of a journal',
    )
    .option('--strict', 'also fail on missing witnesses, unproven checkpoints, leftovers and non-canonical files')
    .option('--expect-head <digest>', 'fail unless a lineage here ends in this checkpoint')
    .option('--history <file...>', 'compare with exported Temporal histories (temporal workflow show --output json)');
  withAnchors(command).action(act('verify', check));
};

async function check(_context: Context, place: string, options: VerifyCommandOptions): Promise<Answer> {
  const { expectHead, strict } = options;
  if (expectHead !== undefined && !isDigest(expectHead)) {
    const reason = '--expect-head must be "sha256:" and 64 lowercase hex digits';
    throw new CliError('invalid_argument', reason, 'expect_head');
  }
  const shown = shownAddress(place);
  const kind = kindOf(place);
  const given = {
    ...(strict === undefined ? {} : { strict }),
    ...(expectHead === undefined ? {} : { expectHead }),
    histories: (options.history ?? []).map(readHistory),
  };
  const anchor = anchorCheck(options);
  if (kind === 'file') {
    return answerOf(
      shown,
      await openExport(place, (run) =>
        verifyJournal(
          storeView(run.journal),
          anchor === null ? given : { ...given, anchor: { ...anchor, partial: true } },
        ),
      ),
    );
  }
  const asked = anchor === null ? given : { ...given, anchor };
  const report =
    kind === 'folder'
      ? await verify(place, asked)
      : await verifyJournal(storeView(journalStore({ journal: place })), asked);
  const strange = kind === 'folder' && report.kind === 'lineage' && !readdirSync(place).some(isOfLineage);
  if (report.kind === 'nothing' || strange) {
    throw new CliError('invalid_argument', `${shown} holds no journal, no run and no lineage`);
  }
  if (anchor !== null && report.kind === 'lineage') {
    const reason = 'a lineage folder does not say which lineage it is; give --anchor with its run or journal';
    throw new CliError('invalid_argument', reason, 'anchor');
  }
  return answerOf(shown, report);
}

function kindOf(place: string): 'store' | 'folder' | 'file' {
  if (!isFolderAddress(place)) return 'store';
  const stat = lstatSync(place, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) return 'folder';
  if (stat?.isFile() === true) return 'file';
  throw new CliError('input_unreadable', `${place} is neither a folder nor a regular file`);
}

function readHistory(file: string): GivenHistory {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) throw new CliError('input_unreadable', `${file} is not a regular file`, 'history');
  if (stat.size > MAX_HISTORY_BYTES)
    throw new CliError('input_unreadable', `${file} is larger than any history`, 'history');
  try {
    return { name: file, history: JSON.parse(readFileSync(file, 'utf8')) as unknown };
  } catch {
    const reason = `${file} is not JSON; write it with "temporal workflow show --output json"`;
    throw new CliError('input_unreadable', reason, 'history');
  }
}

function answerOf(place: string, report: VerifyReport): Answer {
  const lines = [...describe(report), ...report.findings.map(findingLine), ...conclusion(report)];
  if (report.ok) return { data: report, lines };
  const first = report.findings.find((finding) => finding.failure);
  const message = `${first?.path ?? place}: ${first?.message ?? 'not verified'}`;
  const field = first?.divergence?.field ?? null;
  return { data: report, lines, failure: { code: 'not_verified', message, field, exit: 'denied' } };
}

/** Without one such name a folder is not a damaged lineage, but something else. */
function isOfLineage(name: string): boolean {
  return name.startsWith('checkpoint-') || name === 'retired.json';
}

function describe(report: VerifyReport): readonly string[] {
  const rows = report.lineage === null ? report.runs.flatMap(runRows) : [lineageRow(report.lineage)];
  const journal =
    report.journalId === null ? [] : [`journal ${report.journalId}, ${counted(report.runs.length, 'run')}`];
  const compared = report.histories.map(
    ({ name, runId, checkpoints, agrees }) =>
      `history ${name}: ${counted(checkpoints, 'checkpoint')} of ${runId} ${agrees ? 'agree' : 'do NOT agree'}`,
  );
  return [...journal, ...table(rows), ...compared, ...report.anchors.flatMap(anchorLines)];
}

function anchorLines({ name, origin, size, heads, witnesses, notAnchored }: AnchorReport): readonly string[] {
  const seen = witnesses.map(({ name: who, time }) => `${who} at ${new Date((time ?? 0) * 1000).toISOString()}`);
  const { lineages, checkpoints } = notAnchored;
  const late = `${counted(checkpoints, 'checkpoint')} of ${counted(lineages, 'lineage')} not anchored yet`;
  return [
    `anchor ${name}: log ${origin}, ${counted(size, 'entry', 'entries')}, ${counted(heads, 'head')} found here; ${late}`,
    ...seen.map((one) => `anchor ${name}: co-signed by ${one}`),
  ];
}

const JUSTIFIED: Record<LineageReport['justified'], string> = {
  yes: 'justified',
  no: 'NOT justified',
  none_here: 'no witnesses here',
  retired: 'retired',
};

/** A row for each lineage, and one for what has none: a session, launches, a run of checks, a plan that was never begun. */
function runRows(run: RunReport): readonly (readonly string[])[] {
  const { path, lineages, valid, session, events, records, jobs } = run;
  const carried = [
    ...(session === null && events === 0 ? [] : [`session ${session ?? ''}`, counted(events, 'event')]),
    ...(records === 0 ? [] : ['verification run', counted(records, 'record')]),
    ...(jobs === 0 ? [] : [counted(jobs, 'launch', 'launches')]),
  ];
  const other = carried.length === 0 ? ['no checkpoint yet'] : carried;
  const own =
    carried.length > 0 || lineages.length === 0 ? [[path, valid ? 'valid' : 'NOT valid', other.join(', ')]] : [];
  return [...lineages.map(lineageRow), ...own];
}

function lineageRow(lineage: LineageReport): readonly string[] {
  const { head } = lineage;
  return [
    lineage.path,
    lineage.valid ? 'valid' : 'NOT valid',
    JUSTIFIED[lineage.justified],
    counted(lineage.checkpoints, 'checkpoint'),
    `${lineage.committed}/${lineage.effects} committed`,
    head === null ? 'empty' : head.phase,
    head === null ? '' : `head ${head.sequence} ${head.digest}`,
  ];
}

function findingLine({ failure, code, path, message, divergence }: Finding): string {
  const compared =
    divergence === null || (divergence.expected === null && divergence.actual === null)
      ? ''
      : `: expected ${divergence.expected ?? 'nothing known'}, found ${divergence.actual ?? 'nothing'}`;
  const place = divergence === null ? '' : ` at ${divergence.sequence}, ${divergence.field}${compared}`;
  return `${failure ? 'FAULT' : 'note'} ${code} ${path}: ${message}${place}`;
}

function conclusion(report: VerifyReport): readonly string[] {
  const kept = report.findings.length;
  const rest = report.findingsTotal - kept;
  const anchor = report.anchored
    ? 'what was given from elsewhere was looked for here: a head, a history or an anchor'
    : 'the tail of a chain cannot prove itself: give --anchor, --expect-head or --history to notice one that was cut off or sealed anew';
  return [...(rest > 0 ? [`and ${rest} more findings`] : []), report.ok ? 'verified' : 'NOT verified', anchor];
}
