/**
 * One child process in a process group of its own, ended with everything that it started.
 *
 * Invariant: the group lives no longer than its time limit, also when this process is killed first: a watchdog inside the group
 * counts for itself. No text of the caller is ever read by a shell; the only script is the constant below.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import path from 'node:path';
import { type Readable, type Writable } from 'node:stream';

export interface Command {
  /** A path, or a name looked up in `env.PATH`. */
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly input: string;
  readonly maxOutputBytes: number;
  /** Time between SIGTERM and SIGKILL. */
  readonly killGraceMs: number;
  /** When the group ends itself if nobody else has. */
  readonly watchdogMs: number;
}

export type CommandEnd =
  | { readonly end: 'exit'; readonly exitCode: number; readonly stdout: string }
  | { readonly end: 'not_started' }
  | { readonly end: 'aborted' }
  | { readonly end: 'output_too_large' }
  | { readonly end: 'killed'; readonly signal: string };

// The watchdog keeps the group's number taken until it is ended, so a signal to the group cannot reach a stranger.
const SCRIPT = `(trap '' TERM INT HUP; exec </dev/null >/dev/null 2>&1; sleep "$1"; kill -KILL -$$) & shift; exec "$@"`;

async function executable(file: string, searchPath: string, cwd: string): Promise<string | null> {
  const candidates = file.includes('/')
    ? [path.resolve(cwd, file)]
    : searchPath.split(path.delimiter).map((folder) => path.resolve(cwd, folder, file));
  for (const candidate of candidates) {
    if (
      await access(candidate, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return candidate;
  }
  return null;
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

function start(args: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Child | null {
  try {
    return spawn('/bin/sh', args, { cwd, env: { ...env }, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
  } catch {
    return null; // Arguments that no process can be given. The error itself would quote them.
  }
}

export async function runCommand(command: Command, signal: AbortSignal): Promise<CommandEnd> {
  const cwd = command.cwd ?? process.cwd();
  const file = await executable(command.file, command.env['PATH'] ?? '', cwd);
  if (file === null || signal.aborted) return { end: 'not_started' };
  const seconds = String(Math.ceil(command.watchdogMs / 1000));
  const child = start(['-c', SCRIPT, 'sh', seconds, file, ...command.args], cwd, command.env);
  if (!child) return { end: 'not_started' };
  return new Promise((resolve) => {
    let early: CommandEnd | undefined;
    let grace: NodeJS.Timeout | undefined;
    let drain: NodeJS.Timeout | undefined;
    const chunks: Buffer[] = [];
    let size = 0;
    const killGroup = (how: NodeJS.Signals): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, how);
      } catch {
        // The group is gone already.
      }
    };
    const stop = (end: CommandEnd): void => {
      if (early) return;
      early = end;
      killGroup('SIGTERM');
      grace = setTimeout(killGroup, command.killGraceMs, 'SIGKILL');
    };
    const abort = (): void => stop({ end: 'aborted' });
    signal.addEventListener('abort', abort, { once: true });

    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= command.maxOutputBytes) chunks.push(chunk);
      else stop({ end: 'output_too_large' });
    });
    child.stdin.on('error', () => undefined); // A command may end without reading its input.
    child.stdin.end(command.input);
    child.once('error', () => resolve({ end: 'not_started' }));
    child.once('exit', () => {
      // What the command left behind, and the watchdog. A command that was told to stop leaves its group to the grace.
      if (!early) killGroup('SIGKILL');
      // A process that left the group may hold the pipe open for ever.
      drain = setTimeout(() => child.stdout.destroy(), command.killGraceMs + 100);
    });
    child.once('close', (exitCode, how) => {
      clearTimeout(grace);
      clearTimeout(drain);
      killGroup('SIGKILL');
      signal.removeEventListener('abort', abort);
      const stdout = Buffer.concat(chunks).toString('utf8');
      if (early) resolve(early);
      else if (exitCode === null) resolve({ end: 'killed', signal: how ?? 'unknown' });
      else resolve({ end: 'exit', exitCode, stdout });
    });
  });
}
