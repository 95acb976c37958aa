/**
 * The entries of one run, for a browser to verify by itself. Invariant: they are the journal's own texts, in byte order and nothing else;
 * a run that is too large for a browser is refused whole, as a part of it would be another chain.
 */
import { Journal } from '../activities/journal';
import type { Store } from '../ports';

import { Refusal } from '../rules/refusal';
import { entriesUnder } from '../transfer/run-entries';

/** Most characters of all entries together. */
export const MAX_RUN_CHARACTERS = 32 * 1024 * 1024;
const SIDE_BY_SIDE = 32;

/** `{"journal_id": …, "run_id": …, "entries": [[path, text], …]}` */
export async function runEntriesText(journal: Store, runId: string): Promise<string> {
  const journalId = await new Journal(journal).id();
  const paths = await entriesUnder(journal, runId);
  const entries: (readonly [path: string, text: string])[] = [];
  let size = 0;
  for (let at = 0; at < paths.length; at += SIDE_BY_SIDE) {
    const texts = await Promise.all(paths.slice(at, at + SIDE_BY_SIDE).map((path) => textOf(journal, path)));
    for (const [index, text] of texts.entries()) {
      size += text.length;
      entries.push([paths[at + index] as string, text]);
    }
    if (size > MAX_RUN_CHARACTERS) {
      throw new Refusal(
        'journal_invalid',
        'is too large for a browser; verify it with "npx countersign verify"',
        'run',
      );
    }
  }
  return JSON.stringify({ journal_id: journalId, run_id: runId, entries });
}

/** What is no text is not canonical either: the browser says so. */
async function textOf(journal: Store, path: string): Promise<string> {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode((await journal.read(path)) ?? new Uint8Array());
}
