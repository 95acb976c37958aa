/**
 * Journals against Temporal histories, with Temporal off. Invariant: only what a history itself derives from its plan and its
 * witnesses counts as proven by it, and each such checkpoint must stand in the journal under its sequence.
 */
import type { DataConverter } from '@temporalio/common';
import { RecoveryCheckpoint, checkpointFileName } from '../rules/recovery';
import type { Findings } from './findings';
import { readChains, type HistoryEventJson, type HistoryJson, type ProvenChain } from './history-chain';
import { joined, type JournalView } from './view';

/** A history to compare with. */
export interface GivenHistory {
  /** How findings name it: its file, for instance. */
  readonly name: string;
  /** Parsed JSON, as `temporal workflow show --output json`, the Web UI, or `JSON.stringify` of a fetched history give it. */
  readonly history: unknown;
}

/** What one history proves of one lineage. */
export interface HistoryReport {
  readonly name: string;
  readonly runId: string;
  readonly lineage: number;
  /** Checkpoints that it proves, and that were looked for. */
  readonly checkpoints: number;
  readonly head: { readonly sequence: number; readonly digest: string } | null;
  readonly agrees: boolean;
}

/** The runs that were verified, and where each stands in the view. */
export interface Compared {
  /** Null where the folder is no whole journal. */
  readonly journalId: string | null;
  /** The folder of a lineage; null when it is not here. */
  folderOf(runId: string, lineage: number): string | null;
}

export async function compareHistories(
  view: JournalView,
  findings: Findings,
  here: Compared,
  histories: readonly GivenHistory[],
  converter: DataConverter | undefined,
): Promise<readonly HistoryReport[]> {
  const reports: HistoryReport[] = [];
  for (const { name, history } of histories) {
    const json = toHistoryJson(history);
    if (json === null) {
      findings.add('history_unreadable', name);
      continue;
    }
    const { chains, problems } = await readChains(json, converter);
    for (const problem of problems) findings.add('history_unproven', name, eventOf(problem));
    const proving = chains.filter(({ digests }) => digests.size > 0);
    if (proving.length === 0 && problems.length === 0) findings.add('history_proves_nothing', name);
    for (const chain of proving) reports.push(await compare(view, findings, here, name, chain));
  }
  return reports;
}

async function compare(
  view: JournalView,
  findings: Findings,
  here: Compared,
  name: string,
  chain: ProvenChain,
): Promise<HistoryReport> {
  const { runId, lineage, digests } = chain;
  const before = findings.total;
  const folder = here.folderOf(runId, lineage);
  const foreign = here.journalId !== null && chain.journalId !== here.journalId;
  if (foreign) findings.add('history_foreign', name, 'journal_id');
  else if (folder === null) findings.add('history_foreign', name, 'run_id');
  else {
    const names = new Set(((await view.list(folder)) ?? []).map((entry) => entry.name));
    // A retired lineage has kept its last digest only, which verifying has looked at.
    if (!names.has('retired.json')) {
      for (const [sequence, digest] of digests) await compareOne(view, findings, folder, names, sequence, digest);
    }
  }
  const last = Math.max(...digests.keys());
  const head = { sequence: last, digest: digests.get(last) ?? '' };
  return { name, runId, lineage, checkpoints: digests.size, head, agrees: findings.total === before };
}

async function compareOne(
  view: JournalView,
  findings: Findings,
  folder: string,
  names: ReadonlySet<string>,
  sequence: number,
  expected: string,
): Promise<void> {
  const file = checkpointFileName(BigInt(sequence));
  const path = joined(folder, file);
  const there = names.has(file);
  const actual = there ? await digestAt(view, path) : null;
  if (actual === expected) return;
  const divergence = { sequence, field: 'checkpoint_digest', expected, actual };
  findings.add(there ? 'history_differs' : 'history_ahead', path, null, divergence);
}

async function digestAt(view: JournalView, path: string): Promise<string | null> {
  try {
    return RecoveryCheckpoint.fromJson(await view.read(path)).checkpointDigest;
  } catch {
    return null;
  }
}

/** Null of what is no history. Tools differ in how they wrap the events, and in how they write their numbers. */
function toHistoryJson(value: unknown): HistoryJson | null {
  const found = value as { events?: unknown; history?: { events?: unknown } } | null | undefined;
  const events: unknown = Array.isArray(value) ? value : (found?.events ?? found?.history?.events);
  if (!Array.isArray(events) || events.length === 0 || !events.every(isEvent)) return null;
  return { events: events.map((event) => ({ ...event, eventId: String(event.eventId) })) };
}

function isEvent(value: unknown): value is HistoryEventJson {
  const id = (value as { eventId?: unknown } | null | undefined)?.eventId;
  return typeof id === 'string' || typeof id === 'number';
}

/** Of a problem only the event and the code: the rest may quote what stands there. */
function eventOf(problem: string): string {
  return /^event \d{1,9}(?:: [a-z_]{1,40}(?=:))?/.exec(problem)?.[0] ?? 'an event';
}
