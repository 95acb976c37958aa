/**
 * Placing a run into a journal: from another copy of that journal, or from an exported run. Invariant: a journal only ever grows,
 * so of two honest copies of a run one holds all of the other; wherever that is not so, nothing is written.
 */
import { Journal } from '../activities/journal';
import type { Store } from '../ports';
import { Refusal } from '../rules/refusal';
import { storeView, verifyJournal } from '../verify';
import { runEntries } from './run-entries';

/** `placed`: it was not there. `advanced`: an older state was. `same` and `ahead` need nothing written. */
export type PlacedAs = 'placed' | 'advanced' | 'same' | 'ahead';

export interface Placed {
  readonly runId: string;
  readonly state: PlacedAs;
  /** Entries that were written. */
  readonly written: number;
}

/** Entries that are written at once: enough to share each flush. */
const SIDE_BY_SIDE = 32;

/** What a placing that was cut short leaves behind. */
const BEGUN = /^(?:run_[0-9a-f]{32}|claims|captures)\/$/;

/** Makes sure that a store can take what belongs to this journal; throws `Refusal`. True while it is no journal yet. */
export async function acceptsJournal(to: Store, journalId: string): Promise<boolean> {
  if ((await to.read('journal.json')) !== null) {
    const id = await new Journal(to).id();
    if (id === journalId) return false;
    throw new Refusal(
      'wrong_journal',
      `this belongs to journal ${journalId}, and the target is ${id}; take another folder`,
    );
  }
  if ((await to.list('')).every((name) => BEGUN.test(name))) return true;
  const reason =
    'the target holds other things and no journal.json; take an empty folder, or the journal that this belongs to';
  throw new Refusal('journal_missing', reason);
}

/** How the two stand to each other, and what the target lacks. Throws `Refusal` where each has something of its own. */
export async function compareRun(
  from: Store,
  to: Store,
  runId: string,
): Promise<{ readonly state: PlacedAs; readonly missing: readonly string[] }> {
  const [ours, theirs] = await Promise.all([runEntries(from, runId), runEntries(to, runId)]);
  const there = new Set(theirs);
  const missing = ours.filter((path) => !there.has(path));
  for (const path of ours) if (there.has(path)) await refuseDifferent(from, to, path);
  const here = new Set(ours);
  const extra = theirs.find((path) => !here.has(path));
  if (missing.length === 0) return { state: extra === undefined ? 'same' : 'ahead', missing };
  if (extra !== undefined) {
    const reason = 'the two journals have gone different ways: each holds entries of this run that the other lacks';
    throw new Refusal('journal_conflict', `${reason}; nothing was written`, extra);
  }
  return { state: theirs.length === 0 ? 'placed' : 'advanced', missing };
}

/** Writes what the target lacks, what others rest on first, and verifies the run there. */
export async function placeRun(from: Store, to: Store, runId: string): Promise<Placed> {
  const { state, missing } = await compareRun(from, to, runId);
  for (const group of inOrder(missing)) await copyEntries(from, to, group);
  await refuseUnverified(to, runId);
  return { runId, state, written: missing.length };
}

/** Contents have no history: what is there under the same path must be the same. */
export async function placeContents(from: Store, to: Store, paths: readonly string[]): Promise<void> {
  for (const path of paths) await refuseDifferent(from, to, path);
  await copyEntries(from, to, paths);
}

/** Until this entry is there, no worker takes the folder for a journal; so it is written last. */
export async function placeJournalRecord(from: Store, to: Store): Promise<void> {
  await copyEntries(from, to, ['journal.json']);
}

export async function refuseUnverified(store: Store, runId: string): Promise<void> {
  const { findings } = await verifyJournal(storeView(store, runId));
  const first = findings.find(({ failure }) => failure);
  if (first === undefined) return;
  throw new Refusal('journal_invalid', `does not verify: ${first.message}`, `${runId}/${first.path}`);
}

/** A checkpoint rests on its witness, a witness on slots and receipts; a plan, or a first record, is what makes the run known. */
const GROUPS: readonly RegExp[] = [
  ...[/\/sends\//, /\/epochs\//, /^claims\//, /^captures\//, /\/receipts\//, /\/witnesses\//, /\/jobs\//],
];
const LAST: readonly RegExp[] = [/\/lineage-[0-9]+\//, /\/lifecycle\//, /\/plan\.json$/];

function inOrder(paths: readonly string[]): readonly (readonly string[])[] {
  const rank = (path: string): number => {
    const early = GROUPS.findIndex((group) => group.test(path));
    if (early >= 0) return early;
    const late = LAST.findIndex((group) => group.test(path));
    return GROUPS.length + 1 + late;
  };
  const groups: string[][] = [];
  for (const path of paths) (groups[rank(path)] ??= []).push(path);
  return groups.filter((group) => group !== undefined);
}

async function copyEntries(from: Store, to: Store, paths: readonly string[]): Promise<void> {
  for (let at = 0; at < paths.length; at += SIDE_BY_SIDE) {
    await Promise.all(
      paths.slice(at, at + SIDE_BY_SIDE).map(async (path) => {
        const outcome = await to.create(path, await mustRead(from, path));
        if (outcome === 'conflict') throw different(path);
      }),
    );
  }
}

async function refuseDifferent(from: Store, to: Store, path: string): Promise<void> {
  const [ours, theirs] = await Promise.all([from.read(path), to.read(path)]);
  if (ours !== null && theirs !== null && Buffer.compare(ours, theirs) !== 0) throw different(path);
}

async function mustRead(store: Store, path: string): Promise<Uint8Array> {
  const bytes = await store.read(path);
  if (bytes === null) throw new Refusal('journal_invalid', 'an entry that was listed is gone', path);
  return bytes;
}

function different(path: string): Refusal {
  return new Refusal('journal_conflict', 'is another in the target than in what would be placed there', path);
}
