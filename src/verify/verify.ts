/**
 * `verify`: a whole journal, one run or one lineage, told apart by what the folder holds. Invariant: it needs nothing but
 * the files; what they cannot show, that a tail was cut off or the head sealed anew, only an expected head can.
 */
import type { DataConverter } from '@temporalio/common';
import { journalIdFromBytes, journalToText } from '../rules/journal-record';
import { isRunId } from '../rules/recovery';
import { compareAnchors, type AnchorCheck, type AnchorReport } from './anchors';
import { ChainDigests } from './chain-digests';
import { Findings, type Finding } from './findings';
import { compareHistories, type GivenHistory, type HistoryReport } from './histories';
import { verifyLineage, type LineageReport } from './lineage';
import { Mentions } from './mentions';
import { CAPTURES, checkCaptures, checkRechecks } from './rechecks';
import { looksLikeRun, verifyRun, type RunReport } from './run';
import { readClaims, type ClaimOf } from './receipts';
import { checkCalls } from './session-calls';
import { joined, readRecord, type Entry, type JournalView } from './view';

export interface VerifyOptions {
  /** Also fail on what is merely untidy or unproven. @default false */
  readonly strict?: boolean;
  /** Digest of the checkpoint in which a lineage here must end. */
  readonly expectHead?: string;
  /** Temporal histories that the chains must agree with. */
  readonly histories?: readonly GivenHistory[];
  /** Anchor logs that the chains must agree with. `partial`: not all runs of the journal are here, so one may be missing. */
  readonly anchor?: AnchorCheck & { readonly partial?: boolean };
  /** The one that wrote the histories. @default the SDK's own */
  readonly dataConverter?: DataConverter;
}

export type VerifiedKind = 'journal' | 'run' | 'lineage' | 'nothing';

export interface VerifyReport {
  readonly kind: VerifiedKind;
  readonly ok: boolean;
  readonly strict: boolean;
  /** Every lineage keeps the rules, and nothing contradicts it. */
  readonly valid: boolean;
  /** Every checkpoint is derived by a stored witness or the plan. Null where no witnesses can stand. */
  readonly justified: boolean | null;
  /** Whether a given head, or that of a given history or log, was found; without one, a cut-off tail cannot be noticed. */
  readonly anchored: boolean;
  /** What each given history proves of each lineage. */
  readonly histories: readonly HistoryReport[];
  /** What each given anchor shows, the newest first. */
  readonly anchors: readonly AnchorReport[];
  readonly journalId: string | null;
  readonly runs: readonly RunReport[];
  /** The lineage, when the folder is one. */
  readonly lineage: LineageReport | null;
  readonly checkpoints: number;
  readonly findings: readonly Finding[];
  readonly findingsTotal: number;
}

/** The store's own folder for files that are not finished. */
const TEMPORARIES = '.tmp';
/** Which nonces were used, in the whole journal. */
const CLAIMS = 'claims';
const JOURNAL_FORMAT = {
  read: journalIdFromBytes,
  text: (id: string) => journalToText(id.slice('jrn_'.length)),
};

export async function verifyJournal(view: JournalView, options: VerifyOptions = {}): Promise<VerifyReport> {
  const findings = new Findings(options.strict === true);
  const entries = await view.list('');
  const kind = kindOf(entries);
  let journalId: string | null = null;
  let claimOf: ClaimOf | null = null;
  const runs: RunReport[] = [];
  const mentions = new Mentions();
  const chains = options.anchor === undefined ? null : new ChainDigests();
  let lineage: LineageReport | null = null;
  switch (kind) {
    case 'journal':
      journalId = await verifyTop(view, findings, entries ?? []);
      claimOf = await readClaims(view, findings);
      for (const name of runNames(entries ?? [])) {
        runs.push(await verifyRun(view, findings, name, name, { journalId, claimOf, mentions }, chains));
      }
      await checkRechecks(view, findings, journalId, mentions.lifecycles);
      await checkCaptures(view, findings, mentions.lifecycles);
      await checkCalls(findings, mentions, async ({ folder, runId }) => {
        const anew = new Mentions();
        await verifyRun(view, new Findings(false), folder, folder, { journalId, claimOf, mentions: anew });
        return anew.calls.get(runId) ?? null;
      });
      break;
    case 'run':
      runs.push(await verifyRun(view, findings, '', null, undefined, chains));
      break;
    case 'lineage':
      lineage = await verifyLineage(view, findings, '', null, null);
      break;
    case 'nothing':
      findings.add('nothing_here', '');
  }
  const lineages = [...runs.flatMap((run) => run.lineages), ...(lineage === null ? [] : [lineage])];
  const found = options.expectHead !== undefined && hasHead(lineages, options.expectHead);
  if (options.expectHead !== undefined && !found) {
    const only = lineages.length === 1 ? (lineages[0]?.head ?? null) : null;
    const actual = only?.digest ?? null;
    const divergence = { sequence: only?.sequence ?? 0, field: 'head', expected: options.expectHead, actual };
    findings.add('head_unexpected', '', null, divergence);
  }
  const here = { journalId, folderOf: (runId: string, number: number) => folderOf(kind, runs, runId, number) };
  const histories = await compareHistories(view, findings, here, options.histories ?? [], options.dataConverter);
  const ids = new Set(runs.flatMap(({ runId }) => (runId === null ? [] : [runId])));
  const whole = kind === 'journal' && options.anchor?.partial !== true;
  const anchors =
    options.anchor === undefined || chains === null
      ? []
      : await compareAnchors(findings, { journalId, whole, runs: ids, chains }, options.anchor);
  const anchored =
    found ||
    anchors.some(({ heads }) => heads > 0) ||
    histories.some(({ head, agrees }) => agrees && head !== null && hasHead(lineages, head.digest));
  return {
    kind,
    ok: findings.failures === 0,
    strict: findings.strict,
    valid: findings.faults === 0 && lineages.every(({ valid }) => valid),
    justified: kind === 'lineage' || kind === 'nothing' ? null : runs.every((run) => run.justified),
    anchored,
    histories,
    anchors,
    journalId,
    runs,
    lineage,
    checkpoints: lineages.reduce((sum, one) => sum + one.checkpoints, 0),
    findings: findings.kept,
    findingsTotal: findings.total,
  };
}

/** A folder is taken for the largest thing that it could be a part of; anything with an entry may be a lineage. */
function kindOf(entries: readonly Entry[] | null): VerifiedKind {
  if (entries === null || entries.length === 0) return 'nothing';
  if (entries.some(({ name }) => name === 'journal.json' || isRunId(name))) return 'journal';
  return looksLikeRun(entries) ? 'run' : 'lineage';
}

function runNames(entries: readonly Entry[]): readonly string[] {
  const names = entries.filter(({ name, kind }) => isRunId(name) && kind === 'directory').map(({ name }) => name);
  return names.sort();
}

async function verifyTop(view: JournalView, findings: Findings, entries: readonly Entry[]): Promise<string | null> {
  let journalId: string | null = null;
  let recorded = false;
  for (const entry of entries) {
    if (entry.name === 'journal.json') {
      recorded = true;
      journalId = await readRecord({ view, findings }, 'journal_record_invalid', '', entry, JOURNAL_FORMAT);
    } else if (entry.kind === 'directory' && entry.name === TEMPORARIES) {
      for (const { name } of (await view.list(TEMPORARIES)) ?? []) {
        findings.add('leftover_temporary', joined(TEMPORARIES, name));
      }
    } else if (entry.kind !== 'directory' || !(isRunId(entry.name) || [CLAIMS, CAPTURES].includes(entry.name))) {
      findings.add('entry_unexpected', entry.name);
    }
  }
  if (!recorded) findings.add('journal_record_invalid', 'journal.json', 'missing');
  return journalId;
}

/** Where a lineage stands; a lineage folder alone may be that of any run, and its digests tell. */
function folderOf(kind: VerifiedKind, runs: readonly RunReport[], runId: string, number: number): string | null {
  if (kind === 'lineage') return '';
  const run = runs.find((one) => one.runId === runId);
  return run?.lineages.find(({ lineage }) => lineage === number)?.path ?? null;
}

function hasHead(lineages: readonly LineageReport[], digest: string): boolean {
  return lineages.some(({ valid, head }) => valid && head?.digest === digest);
}
