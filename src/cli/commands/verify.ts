/** `verify`: proves a journal, a run or a lineage from its files. Invariant: reads only; neither Temporal nor a sink is asked. */
import { lstatSync, readdirSync } from 'node:fs';
import { isDigest } from '../../rules/recovery';
import { verify, type Finding, type LineageReport, type VerifyReport } from '../../verify';
import { CliError } from '../failure';
import { counted, table, type Answer } from '../output';
import type { Context, Register } from '../command';

interface VerifyCommandOptions {
  readonly strict?: boolean;
  readonly expectHead?: string;
}

export const verifyCommand: Register = (program, act) => {
  program
    .command('verify')
    .description('verify a journal, a run or a lineage folder from its files alone')
    .argument('<folder>', 'which of the three it is, is told by what it holds')
    .option('--strict', 'also fail on missing witnesses, unproven checkpoints, leftovers and non-canonical files')
    .option('--expect-head <digest>', 'fail unless a lineage here ends in this checkpoint')
    .action(act('verify', check));
};

async function check(_context: Context, folder: string, options: VerifyCommandOptions): Promise<Answer> {
  const { expectHead, strict } = options;
  if (expectHead !== undefined && !isDigest(expectHead)) {
    const reason = '--expect-head must be "sha256:" and 64 lowercase hex digits';
    throw new CliError('invalid_argument', reason, 'expect_head');
  }
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new CliError('input_unreadable', `${folder} is not a folder`);
  }
  const report = await verify(folder, {
    ...(strict === undefined ? {} : { strict }),
    ...(expectHead === undefined ? {} : { expectHead }),
  });
  if (report.kind === 'nothing' || (report.kind === 'lineage' && !readdirSync(folder).some(isOfLineage))) {
    throw new CliError('invalid_argument', `${folder} holds no journal, no run and no lineage`);
  }
  const lines = [...describe(report), ...report.findings.map(findingLine), ...conclusion(report)];
  if (report.ok) return { data: report, lines };
  const first = report.findings.find((finding) => finding.failure);
  const message = `${first?.path ?? folder}: ${first?.message ?? 'not verified'}`;
  const field = first?.divergence?.field ?? null;
  return { data: report, lines, failure: { code: 'not_verified', message, field, exit: 'denied' } };
}

/** Without one such name a folder is not a damaged lineage, but something else. */
function isOfLineage(name: string): boolean {
  return name.startsWith('checkpoint-') || name === 'retired.json';
}

function describe(report: VerifyReport): readonly string[] {
  const lineages = report.lineage === null ? report.runs.flatMap((run) => run.lineages) : [report.lineage];
  const rows = lineages.map((lineage) => [lineage.path, ...facts(lineage)]);
  const journal =
    report.journalId === null ? [] : [`journal ${report.journalId}, ${counted(report.runs.length, 'run')}`];
  return [...journal, ...table(rows)];
}

const JUSTIFIED: Record<LineageReport['justified'], string> = {
  yes: 'justified',
  no: 'NOT justified',
  none_here: 'no witnesses here',
  retired: 'retired',
};

function facts(lineage: LineageReport): readonly string[] {
  const { head } = lineage;
  return [
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
    ? 'a lineage ends in the expected head'
    : 'the tail of a chain cannot prove itself: give --expect-head to notice one that was cut off or sealed anew';
  return [...(rest > 0 ? [`and ${rest} more findings`] : []), report.ok ? 'verified' : 'NOT verified', anchor];
}
