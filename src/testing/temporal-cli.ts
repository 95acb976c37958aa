/**
 * Finds a Temporal CLI that is already on this machine: the caller's own path, TEMPORAL_CLI_PATH, then PATH.
 * Invariant: what it returns has answered `--version` with a version that we support, and is the program itself wherever
 * a version manager put a script in front of it (a script that stays the parent would keep signals from the server).
 */
import { execFile, type ExecFileException } from 'node:child_process';
import { constants } from 'node:fs';
import { access, open, realpath, stat } from 'node:fs/promises';
import path from 'node:path';

/** Update-with-start needs server 1.28, first shipped in this CLI. */
export const OLDEST_TEMPORAL_CLI = '1.4.0';

const PROBE_TIMEOUT_MS = 15_000;
const BUSY_RETRIES = 20;

/** Version managers that put a script on PATH and can say which program it stands for. */
const SHIM_RESOLVERS: readonly (readonly [command: string, ...args: string[]])[] = [
  ['pyenv', 'which', 'temporal'],
  ['mise', 'which', 'temporal'],
  ['asdf', 'which', 'temporal'],
];

export type TemporalCliSource = 'executable' | 'TEMPORAL_CLI_PATH' | 'PATH';
export type TemporalCliErrorCode = 'cli_not_found' | 'cli_unusable';

export interface TemporalCli {
  readonly path: string;
  readonly version: string;
  readonly source: TemporalCliSource;
}

export class TemporalCliError extends Error {
  readonly code: TemporalCliErrorCode;

  constructor(code: TemporalCliErrorCode, message: string) {
    super(message);
    this.name = 'TemporalCliError';
    this.code = code;
  }
}

export interface FindTemporalCliOptions {
  /** A path that wins over everything else. */
  readonly executable?: string;
  /** Where TEMPORAL_CLI_PATH and PATH are read from; default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
  /** Told, in one sentence each, why a program on PATH was passed over. */
  readonly note?: (sentence: string) => void;
}

/** A path named outright must work; programs on PATH that do not are passed over. */
export async function findTemporalCli(options: FindTemporalCliOptions = {}): Promise<TemporalCli> {
  const env = options.env ?? process.env;
  const named = options.executable
    ? ({ source: 'executable', file: options.executable } as const)
    : env['TEMPORAL_CLI_PATH']
      ? ({ source: 'TEMPORAL_CLI_PATH', file: env['TEMPORAL_CLI_PATH'] } as const)
      : undefined;
  if (named) {
    const found = await usable(path.resolve(named.file), env);
    if (typeof found === 'string') {
      throw new TemporalCliError('cli_unusable', `${named.source} names ${named.file}, which ${found}.`);
    }
    return { ...found, source: named.source };
  }

  for (const file of candidatesOnPath('temporal', env)) {
    const found = await usable(file, env);
    if (typeof found !== 'string') return { ...found, source: 'PATH' };
    if (found !== MISSING) options.note?.(`Passed over ${file}, which ${found}.`);
  }
  throw new TemporalCliError(
    'cli_not_found',
    'No usable Temporal CLI is on PATH: install it, or set TEMPORAL_CLI_PATH to its program.',
  );
}

/** The version that a program prints, or in words why it is of no use: the reading of one `--version`. */
export async function probeTemporalCli(file: string, env: NodeJS.ProcessEnv = process.env): Promise<string | Refusal> {
  const answer = await run(file, ['--version'], env);
  if (!answer.ok) return { refused: `does not run (${answer.why})` };
  const version = /temporal version v?(\d+\.\d+\.\d+)/.exec(answer.stdout)?.[1];
  if (!version) return { refused: 'does not print the version of a Temporal CLI' };
  if (compareVersions(version, OLDEST_TEMPORAL_CLI) < 0) {
    return { refused: `is version ${version}, older than ${OLDEST_TEMPORAL_CLI}` };
  }
  return version;
}

export interface Refusal {
  readonly refused: string;
}

const MISSING = 'does not exist or may not be executed';

async function usable(
  file: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly path: string; readonly version: string } | string> {
  if (!(await isExecutable(file))) return MISSING;
  const program = (await behindScript(file, env)) ?? file;
  const version = await probeTemporalCli(program, env);
  return typeof version === 'string' ? { path: await realpath(program), version } : version.refused;
}

/** The program that a script stands for; undefined when it is no script, or a wrapper that nobody can look behind. */
async function behindScript(file: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (!(await isScript(file))) return undefined;
  for (const [command, ...args] of SHIM_RESOLVERS) {
    const answer = await run(command, args, env);
    const program = answer.ok ? answer.stdout.trim() : '';
    if (path.isAbsolute(program) && (await isExecutable(program)) && !(await isScript(program))) return program;
  }
  return undefined;
}

async function isScript(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.toString('latin1') === '#!';
  } finally {
    await handle.close();
  }
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

function candidatesOnPath(name: string, env: NodeJS.ProcessEnv): string[] {
  const names = process.platform === 'win32' ? [`${name}.exe`] : [name];
  const folders = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return folders.flatMap((folder) => names.map((file) => path.resolve(folder, file)));
}

function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split('.').map(Number)) as [number[], number[]];
  return a.map((part, index) => part - (b[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

type Answer = { readonly ok: true; readonly stdout: string } | { readonly ok: false; readonly why: string };

/** ETXTBSY: the file was just put there and another process is still letting go of it. */
async function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv, tries = 0): Promise<Answer> {
  const answer = await new Promise<Answer | 'busy'>((resolve) => {
    const options = { env, timeout: PROBE_TIMEOUT_MS, killSignal: 'SIGKILL' as const };
    const fail = (error: ExecFileException): void =>
      resolve(
        error.code === 'ETXTBSY' ? 'busy' : { ok: false, why: error.killed ? 'no answer in time' : describe(error) },
      );
    try {
      execFile(file, args, options, (error, stdout) => (error ? fail(error) : resolve({ ok: true, stdout })));
    } catch (error) {
      fail(error as ExecFileException); // Node throws the rarer errors of exec at once
    }
  });
  if (answer !== 'busy') return answer;
  if (tries === BUSY_RETRIES) return { ok: false, why: 'ETXTBSY' };
  await new Promise((resolve) => setTimeout(resolve, 50));
  return run(file, args, env, tries + 1);
}

function describe(error: ExecFileException): string {
  if (typeof error.code === 'number') return `exit code ${error.code}`;
  return error.signal ?? String(error.code ?? 'unknown error');
}
