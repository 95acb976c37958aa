/** An exported run in a file. Invariant: all of it was read once before anything of it is used. */
import { openFile } from './open-file';
import { readExport, type ExportedRun } from './read-export';

/** Reads the whole file once, then gives `use` what it holds. */
export function openExport<T>(file: string, use: (exported: ExportedRun) => Promise<T>): Promise<T> {
  return openFile(file, async (source) => use(await readExport(source)));
}
