/** The command line for tests: in this process with its output caught, or as the built program in a process of its own. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { runCli } from '../../src/cli/program';

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const root = path.resolve(__dirname, '../..');
const VARIABLES = ['COUNTERSIGN_JOURNAL', 'COUNTERSIGN_CONTENTS', 'COUNTERSIGN_CONTENT_KEYS', 'COUNTERSIGN_TASK_QUEUE'];

export async function cli(...args: readonly string[]): Promise<Ran> {
  for (const name of VARIABLES) delete process.env[name];
  let out = '';
  let err = '';
  const streams = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  const code = await runCli(args, streams, new AbortController().signal);
  return { code, out, err };
}

export interface JsonAnswer {
  readonly ok: boolean;
  readonly command: string;
  readonly data?: Record<string, unknown>;
  readonly error?: { readonly code: string; readonly message: string; readonly field?: string };
}

/** The one object of a `--json` run; fails when anything else was printed. */
export function answerOf({ out }: Ran): JsonAnswer {
  const lines = out.split('\n');
  if (lines.length !== 2 || lines[1] !== '') throw new Error(`not exactly one line: ${out}`);
  return JSON.parse(lines[0] as string) as JsonAnswer;
}

/** Builds what would be published, as far as it is not built yet. */
export function builtProgram(): string {
  const program = path.join(root, 'lib/cli/main.js');
  spawnSync('npm', ['run', '--silent', 'build'], { cwd: root });
  if (!existsSync(program)) throw new Error('the program was not built');
  return program;
}

export interface RunningProgram {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  /** Resolves when standard output has shown this text. */
  shown(text: string): Promise<void>;
  /** What standard output has shown so far. */
  output(): string;
}

export function startProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningProgram {
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(COUNTERSIGN|TEMPORAL)_/.test(name)),
  );
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...clean, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  const listeners = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    for (const listener of listeners) listener();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<Ran>((resolve) => child.once('close', (code) => resolve({ code, out, err })));
  const shown = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (out.includes(text)) resolve();
      };
      listeners.add(look);
      void ended.then(() => reject(new Error(`ended without showing "${text}": ${out}${err}`)));
      look();
    });
  return { child, ended, shown, output: () => out };
}
