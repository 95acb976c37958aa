/**
 * Runs a folder of recovery vectors: `npm run vectors -- <folder>`. The last line is `N passed, N failed`; the exit code
 * is 1 when a row failed or nothing was run.
 *
 * Invariant: nothing is passed over in silence: rows outside the contract, files and sections that are missing or unknown
 * are all said aloud.
 */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type FolderRowModule, type PureRowModule, type RowResult } from './judge';
import { readVectors } from './row';

interface Source {
  readonly file: string;
  /** Arrays of the file that the modules together run. */
  readonly sections: readonly string[];
  /** Paths from here, imported when needed. */
  readonly modules: readonly string[];
}

const SOURCES: readonly Source[] = [
  { file: 'canonical.json', sections: ['cases'], modules: ['./canonical'] },
  { file: 'effects.json', sections: ['idempotency', 'identifiers', 'effect_records'], modules: ['./effects'] },
  { file: 'checkpoints.json', sections: ['lineages', 'standalone'], modules: ['./checkpoints'] },
  { file: 'invalid_checkpoints.json', sections: ['cases', 'accepted'], modules: ['./invalid-checkpoints'] },
  { file: 'transitions.json', sections: ['pairs', 'lineages'], modules: ['./transitions'] },
  {
    file: 'decisions.json',
    sections: ['cases', 'advance', 'decision_objects', 'observation_objects'],
    modules: ['./decisions'],
  },
  {
    file: 'retired.json',
    sections: ['plans', 'records_accepted', 'records_rejected', 'recover'],
    modules: ['./retired', './retired-plans'],
  },
  { file: 'journals/index.json', sections: ['journals'], modules: ['./journals'] },
];

/** Rows about how Python prints floats or where its interpreter gives up: run, but not judged. */
const OUT_OF_CONTRACT = ['float', 'python-limit'];

export interface Report {
  readonly passed: number;
  readonly failed: readonly RowResult[];
  readonly outOfContract: readonly RowResult[];
  /** What was not run, in words. */
  readonly notRun: readonly string[];
}

export async function runVectors(folder: string, sources: readonly Source[] = SOURCES): Promise<Report> {
  const results: RowResult[] = [];
  const notRun = [...unknownFiles(folder)];
  for (const source of sources) {
    if (!existsSync(path.join(folder, source.file))) {
      notRun.push(`missing file ${source.file}`);
      continue;
    }
    notRun.push(...unknownSections(folder, source));
    for (const module of source.modules) results.push(...(await runModule(module, source.file, folder)));
  }
  const outside = (row: RowResult): boolean => row.tags.some((tag) => OUT_OF_CONTRACT.includes(tag));
  const judged = results.filter((row) => !outside(row));
  return {
    passed: judged.filter((row) => row.outcome === 'passed').length,
    failed: judged.filter((row) => row.outcome === 'failed'),
    outOfContract: results.filter(outside),
    notRun,
  };
}

async function runModule(module: string, file: string, folder: string): Promise<RowResult[]> {
  const failed = (detail: string): RowResult[] => [{ file, id: module, tags: [], outcome: 'failed', detail }];
  const location = path.join(__dirname, `${module}.ts`);
  if (!existsSync(location)) return failed('not built yet');
  const rows: RowResult[] = [];
  try {
    const loaded = (await import(pathToFileURL(location).href)) as PureRowModule | FolderRowModule;
    const results = 'check' in loaded ? loaded.check(readVectors(folder, file)) : await loaded.run(folder);
    for await (const row of results) rows.push(row);
  } catch (fault) {
    return [...rows, ...failed(`the file could not be run: ${fault instanceof Error ? fault.message : String(fault)}`)];
  }
  return rows;
}

function unknownFiles(folder: string): readonly string[] {
  const known = new Set(SOURCES.map(({ file }) => file));
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return files.filter((name) => !known.has(name)).map((name) => `unknown file ${name}`);
}

function unknownSections(folder: string, { file, sections }: Source): readonly string[] {
  let content: Readonly<Record<string, unknown>>;
  try {
    content = readVectors(folder, file);
  } catch {
    return []; // The module will fail on it, and say so.
  }
  const rows = Object.keys(content).filter((key) => Array.isArray(content[key]) && !sections.includes(key));
  return rows.map((key) => `unknown section ${key} of ${file}`);
}

export async function main(argv: readonly string[]): Promise<number> {
  const folder = argv[0];
  if (folder === undefined || !existsSync(folder)) {
    console.error('vectors: name a folder in the vectors format, as in `npm run vectors -- test/vectors`');
    return 2;
  }
  const { passed, failed, outOfContract, notRun } = await runVectors(path.resolve(folder));
  for (const { file, id, detail } of failed) console.log(`failed ${file} ${id}: ${detail ?? ''}`);
  for (const what of notRun) console.log(`not run: ${what}`);
  if (outOfContract.length > 0) {
    const agree = outOfContract.filter(({ outcome }) => outcome === 'passed').length;
    console.log(
      `${outOfContract.length} out of contract (tagged ${OUT_OF_CONTRACT.join(' or ')}): run, not judged; ${agree} agree`,
    );
  }
  console.log(`${passed} passed, ${failed.length} failed`);
  return failed.length > 0 || passed === 0 ? 1 : 0;
}

if (require.main === module) {
  void main(process.argv.slice(2)).then((code) => {
    process.exitCode = code;
  });
}
