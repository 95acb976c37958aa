/** Journals and runs on the move. Invariant: whatever is moved was verified where it is, and is verified where it comes to. */
import { Journal } from '../activities/journal';
import type { Store } from '../ports';
import { storeView, verifyJournal } from '../verify';
import { Refusal } from '../rules/refusal';
import { acceptsJournal, compareRun, placeContents, placeJournalRecord, placeRun, type Placed } from './place-run';
import type { ExportedRun } from './read-export';
import { exportedContents } from './run-contents';
import { runIds } from './run-entries';

export { openExport } from './open-export';
export { readExport, type ByteSource, type ExportedRun } from './read-export';
export { exportRun, type Exported } from './write-export';
export { exportLifecycle, type ExportedLifecycle } from './lifecycle-export';
export {
  importLifecycle,
  placeLifecycle,
  type ImportedLifecycle,
  type ImportLifecycleOptions,
} from './lifecycle-import';
export { contentPaths, ownOf, readable, sharedBy } from './run-contents';
export { runIds } from './run-entries';
export type { Placed, PlacedAs } from './place-run';

/** Places an exported run, and its contents where both sides have them, under the journal id that it carries. */
export async function importRun(exported: ExportedRun, journal: Store, contents: Store | null): Promise<Placed> {
  const { runId } = exported;
  const isNew = await acceptsJournal(journal, exported.journalId);
  const verified = await verifyJournal(storeView(exported.journal));
  refuseFindings(verified);
  await compareRun(exported.journal, journal, runId);
  if (exported.store !== null) {
    const paths = await exportedContents(exported.journal, exported.store, runId);
    if (contents !== null) await placeContents(exported.store, contents, paths);
  }
  const placed = await placeRun(exported.journal, journal, runId);
  if (isNew) await placeJournalRecord(exported.journal, journal);
  return placed;
}

export interface Copied {
  readonly journalId: string;
  readonly runs: readonly Placed[];
}

/** Copies a whole journal, run by run. Nothing is written unless the source verifies and no run of the target conflicts. */
export async function copyJournal(from: Store, to: Store): Promise<Copied> {
  const journalId = await new Journal(from).id();
  const isNew = await acceptsJournal(to, journalId);
  refuseFindings(await verifyJournal(storeView(from)));
  const ids = await runIds(from);
  for (const runId of ids) await compareRun(from, to, runId);
  const runs: Placed[] = [];
  for (const runId of ids) runs.push(await placeRun(from, to, runId));
  if (isNew) await placeJournalRecord(from, to);
  return { journalId, runs };
}

function refuseFindings({ findings }: Awaited<ReturnType<typeof verifyJournal>>): void {
  const first = findings.find(({ failure }) => failure);
  if (first === undefined) return;
  throw new Refusal('journal_invalid', `does not verify: ${first.message}; nothing was written`, first.path);
}
