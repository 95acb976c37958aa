/**
 * The process of a server program. Invariant: Ctrl-C reaches us and not it; it does not outlive this process, however that one ends.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { endWithUs } from '../../src/testing/end-with-us';

export interface ServerChild {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Once it has ended. */
  readonly exited: Promise<void>;
  readonly hasEnded: () => boolean;
}

/** Null when it could not be started at all. What it prints goes to `log`, which begins anew. */
export function startChild(
  command: string,
  args: readonly string[],
  log: string,
  options: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'>,
): ServerChild | null {
  const output = openSync(log, 'w', 0o600);
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', output, output] });
  closeSync(output);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  let ended = false;
  void exited.then(() => (ended = true));
  if (child.pid === undefined) return null;
  endWithUs(child.pid, exited);
  return { child, pid: child.pid, exited, hasEnded: () => ended };
}
