/**
 * Lays out the folder of one journal row in a work folder. Invariant: no operation of a row reaches outside its work folder.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { type RowHead } from './row';
import { rawBytes, type RawBytes } from './tagged';

type At = { readonly path: string };
export type SetupStep =
  | (At & { readonly op: 'mkdir' })
  | (At & { readonly op: 'mkfifo' })
  | (At & { readonly op: 'remove' })
  | (At & { readonly op: 'write' } & RawBytes)
  | (At & { readonly op: 'symlink'; readonly target: string })
  | (At & { readonly op: 'hardlink'; readonly target: string })
  | (At & { readonly op: 'chmod'; readonly mode: string })
  | (At & { readonly op: 'pad'; readonly hex: string; readonly to_size: number })
  | (At & { readonly op: 'rename'; readonly to: string });

export interface JournalRow extends RowHead {
  readonly dir: string | null;
  readonly no_directory?: boolean;
  readonly setup?: readonly SetupStep[];
  readonly setup_at?: 'parent';
  readonly open?: string;
  readonly non_root?: boolean;
  readonly expect: unknown;
  readonly appends?: readonly string[];
  readonly append_expect?: readonly unknown[];
  readonly files_after?: Readonly<Record<string, { readonly mode?: string }>>;
}

/** Calls `use` with a fresh folder, and removes it afterwards, whatever its modes have become. */
export async function withWorkFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-vectors-')));
  try {
    return await use(folder);
  } finally {
    makeRemovable(folder);
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The path to open as the row's journal. */
export function layOut(row: JournalRow, vectors: string, work: string): string {
  const journal = path.join(work, 'journal');
  if (row.no_directory !== true) fs.mkdirSync(journal);
  if (row.dir !== null) copyFiles(inside(vectors, path.join('journals', row.dir)), journal);
  if (row.non_root === true) {
    fs.chmodSync(work, 0o755);
    fs.chmodSync(journal, 0o777);
    for (const name of fs.readdirSync(journal)) fs.chmodSync(path.join(journal, name), 0o666);
  }
  const base = row.setup_at === 'parent' ? work : journal;
  for (const step of row.setup ?? []) apply(step, base, work);
  return inside(work, row.open ?? 'journal');
}

const STEPS: { readonly [Op in SetupStep['op']]: (step: Extract<SetupStep, { op: Op }>, at: string) => void } = {
  mkdir: (_step, at) => fs.mkdirSync(at),
  mkfifo: (_step, at) => execFileSync('mkfifo', [at]),
  remove: (_step, at) => fs.rmSync(at, { recursive: true }),
  write: (step, at) => fs.writeFileSync(at, rawBytes(step)),
  symlink: (step, at) => fs.symlinkSync(step.target, at),
  hardlink: (step, at) => fs.linkSync(inside(path.dirname(at), step.target), at),
  chmod: (step, at) => fs.chmodSync(at, Number.parseInt(step.mode, 8)),
  pad: (step, at) => {
    const filler = Buffer.from(step.hex, 'hex');
    fs.appendFileSync(at, Buffer.alloc(step.to_size - fs.statSync(at).size, filler));
  },
  rename: (step, at) => fs.renameSync(at, inside(path.dirname(at), step.to)),
};

function apply(step: SetupStep, base: string, work: string): void {
  const perform = STEPS[step.op] as ((step: SetupStep, at: string) => void) | undefined;
  if (perform === undefined) throw new Error(`unknown set-up operation ${JSON.stringify(step.op)}`);
  perform(step, inside(work, path.relative(work, path.join(base, step.path))));
}

function inside(folder: string, relative: string): string {
  const full = path.resolve(folder, relative);
  if (full !== folder && !full.startsWith(folder + path.sep)) throw new Error('a row names a path outside its folder');
  return full;
}

function copyFiles(from: string, to: string): void {
  for (const name of fs.readdirSync(from)) {
    fs.copyFileSync(path.join(from, name), path.join(to, name));
    fs.chmodSync(path.join(to, name), 0o644);
  }
}

function makeRemovable(folder: string): void {
  fs.chmodSync(folder, 0o700);
  for (const item of fs.readdirSync(folder, { withFileTypes: true })) {
    if (item.isDirectory()) makeRemovable(path.join(folder, item.name));
  }
}
