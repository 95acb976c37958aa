/**
 * The histories of a journal's verification runs in one file. Invariant: the file is one that an import takes, as it was judged line by
 * line while it was written; runs that have not ended are left out by name, and one run at a time is in memory.
 */
import { Journal } from '../activities/journal';
import { verificationRunIds } from '../activities/read-runs';
import type { Store } from '../ports';
import {
  LifecycleReader,
  LifecycleWriter,
  exportOrder,
  type LifecycleClosing,
} from '../rules/verification/lifecycle-stream';
import { runIdOf } from '../rules/verification/run';
import { writeLines } from './write-lines';

export interface ExportedLifecycle extends Pick<LifecycleClosing, 'runs' | 'digest'> {
  readonly journalId: string;
  readonly records: number;
  readonly bytes: number;
  /** Runs that have not ended; they are not in it. */
  readonly open: readonly string[];
}

/** Throws `EEXIST` when the file is there. */
export async function exportLifecycle(store: Store, file: string): Promise<ExportedLifecycle> {
  const journal = new Journal(store);
  const journalId = await journal.id();
  const ended: { readonly runId: string; readonly source: string | null }[] = [];
  const open: string[] = [];
  for (const runId of await verificationRunIds(journal)) {
    const { outcome, must } = await journal.run(runId).book(journalId);
    const source = must.run.input.recheck?.sourceRun ?? null;
    if (outcome === null) open.push(runId);
    else ended.push({ runId, source: source === null ? null : runIdOf(source) });
  }
  const writer = new LifecycleWriter(journalId);
  const reader = new LifecycleReader();
  async function* lines(): AsyncGenerator<string> {
    yield writer.header();
    for (const runId of exportOrder(ended)) {
      const { records } = await journal.run(runId).book(journalId);
      for (const record of records) yield writer.record(record);
    }
    yield writer.closing();
  }
  async function* judged(): AsyncGenerator<string> {
    for await (const line of lines()) {
      reader.take(line);
      yield line;
    }
  }
  const bytes = await writeLines(file, judged());
  const { runs, counts, digest } = reader.finish();
  const records = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { journalId, runs, records, digest, bytes, open };
}
