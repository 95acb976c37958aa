/**
 * Writing one run into one file. Invariant: the file is new and private, and is there only when all of the run is in it; it is
 * written entry by entry, so a large run needs no large memory.
 */
import { createHash } from 'node:crypto';
import { Journal } from '../activities/journal';
import type { Store } from '../ports';
import {
  closingToLine,
  entryToLine,
  headerToLine,
  type ExportClosing,
  type ExportEntry,
  type ExportHeader,
} from '../rules/export-record';
import { Refusal } from '../rules/refusal';
import { ExportedStore } from './exported-store';
import { contentEntries } from './run-contents';
import { runEntries } from './run-entries';
import { writeLines } from './write-lines';

export interface Exported extends ExportClosing, ExportHeader {
  readonly bytes: number;
}

/** Throws `EEXIST` when the file is there. */
export async function exportRun(
  journal: Store,
  contents: Store | null,
  runId: string,
  file: string,
): Promise<Exported> {
  const header = { journalId: await new Journal(journal).id(), runId, contents: contents !== null };
  const hash = createHash('sha256');
  let entries = 0;
  let digest = '';
  const told = (line: string): string => {
    hash.update(`${line}\n`);
    return line;
  };
  async function* lines(): AsyncGenerator<string> {
    yield told(headerToLine(header));
    for await (const entry of entriesOf(journal, contents, runId)) {
      yield told(entryToLine(entry));
      entries += 1;
    }
    digest = `sha256:${hash.digest('hex')}`;
    yield closingToLine({ entries, digest });
  }
  const bytes = await writeLines(file, lines());
  return { ...header, entries, digest, bytes };
}

async function* entriesOf(journal: Store, contents: Store | null, runId: string): AsyncGenerator<ExportEntry> {
  const paths = [...(await runEntries(journal, runId)), 'journal.json'].sort();
  for (const path of paths) yield { store: 'journal', path, text: await textOf(journal, path) };
  if (contents === null) return;
  // What a driver writes meanwhile leads to contents that the written entries know nothing of.
  const written = new ExportedStore(({ offset }) => textOf(journal, paths[offset] ?? ''));
  paths.forEach((path, offset) => written.add(path, { offset, length: 0 }));
  for (const path of await contentEntries(written, contents, runId)) {
    yield { store: 'contents', path, text: await textOf(contents, path) };
  }
}

async function textOf(store: Store, path: string): Promise<string> {
  const bytes = await store.read(path);
  if (bytes === null) throw new Refusal('journal_invalid', 'an entry that was listed is gone', path);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal('journal_invalid', 'is not text, so no driver wrote it', path);
  }
}
