/**
 * A launch that starts one child process. Invariant: the child gets its credential in its environment, never as an argument,
 * and a declared environment only; what it says on its standard output is believed only with that credential; it does not
 * outlive this process, nor its time.
 *
 * The child finds `COUNTERSIGN_WORKER_CREDENTIAL` and `COUNTERSIGN_JOB_ID` in its environment. It writes one JSON object a line
 * and reads one a line: `{credential, op: 'context'}` → `{context}`, `{credential, op: 'submit', output}` → `{taken: true,
 * replayed}`; anything refused → `{refused: code}`.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Launcher, LaunchContext } from '../../ports';
import { endWithUs } from '../end-with-us';
import { answerWorker, codeOf, type WorkerAnswer } from './worker-request';

export interface ProcessLauncherOptions {
  /** A path, or a name on the `PATH` that the child gets. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Names of this process's environment that the child may see. @default ['PATH'] */
  readonly passEnv?: readonly string[];
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Longest life of the child. @default 1 hour */
  readonly lifetimeMs?: number;
  /** Longest time until the child is there. @default 10000 */
  readonly deadlineMs?: number;
  /** Longest line that is read. @default 1 MiB */
  readonly maxLineCharacters?: number;
}

export function processLauncher(options: ProcessLauncherOptions): Launcher {
  const { deadlineMs = 10_000, lifetimeMs = 3_600_000, maxLineCharacters = 1_048_576 } = options;
  return {
    deadlineMs,
    async launch(job, context) {
      if (context.signal.aborted) return { outcome: 'not_launched' };
      const child = start(options, job.jobId, context.credential);
      if (child === null || !(await isThere(child))) return { outcome: 'not_launched' };
      const exited = once(child, 'close') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
      if (child.pid !== undefined) endWithUs(child.pid, exited);
      const limit = setTimeout(() => child.kill('SIGKILL'), lifetimeMs);
      limit.unref();
      void exited.then(() => clearTimeout(limit));
      converse(child, context, maxLineCharacters, exited);
      return { outcome: 'started' };
    },
  };
}

function start(options: ProcessLauncherOptions, jobId: string, credential: string): ChildProcess | null {
  const inherited = (options.passEnv ?? ['PATH']).flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const own = { COUNTERSIGN_WORKER_CREDENTIAL: credential, COUNTERSIGN_JOB_ID: jobId };
  try {
    return spawn(options.command, [...(options.args ?? [])], {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: { ...Object.fromEntries(inherited), ...options.env, ...own },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  } catch {
    return null; // Arguments that no process can be given. The error itself would quote them.
  }
}

async function isThere(child: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    child.once('spawn', () => resolve(true));
    child.once('error', () => resolve(child.pid !== undefined));
  });
}

function converse(
  child: ChildProcess,
  context: LaunchContext,
  longest: number,
  exited: Promise<readonly [number | null, NodeJS.Signals | null]>,
): void {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) return;
  stdin.on('error', () => undefined); // A child may end without reading its answer.
  let answered: Promise<void> = Promise.resolve();
  let unfinished = 0;
  stdout.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(0x0a);
    unfinished = end < 0 ? unfinished + chunk.length : chunk.length - end - 1;
    if (unfinished > longest) child.kill('SIGKILL');
  });
  createInterface({ input: stdout }).on('line', (line) => {
    const reply = async (): Promise<void> => {
      const answer: WorkerAnswer = await answerWorker(line, context).catch((fault: unknown) => ({
        refused: codeOf(fault),
      }));
      stdin.write(`${JSON.stringify(answer)}\n`);
    };
    answered = answered.then(reply);
  });
  // What it had said before it ended is heard first.
  void exited.then(async ([code, signal]) => {
    await answered;
    context.exited({ code, signal });
  });
}
