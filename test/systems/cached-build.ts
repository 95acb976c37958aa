/**
 * Downloads and builds of systems for tests, kept below `node_modules/.cache/countersign/`.
 *
 * Invariant: what stands under its final name is complete: it is made in a folder beside it and renamed, so that two processes may
 * build at once and one that is killed leaves nothing that is taken for a build.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';

const CACHE = path.resolve(__dirname, '../../node_modules/.cache/countersign');

/** The folder of this name; `build` fills it when it is not there yet. */
export function cachedBuild(name: string, build: (folder: string) => void): string {
  const target = path.join(CACHE, name);
  if (existsSync(target)) return target;
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(path.join(CACHE, `.building-${name}-`));
  try {
    build(folder);
    renameSync(folder, target);
  } catch (fault) {
    rmSync(folder, { recursive: true, force: true });
    if (!existsSync(target)) throw fault; // else another process was as fast
  }
  return target;
}
