/**
 * Ties the life of a child process to ours. Invariant: the child does not outlive us, whether we return, throw or are killed
 * with SIGKILL; and no process is ended whose pid was given away again.
 *
 * A guard in its own process group reads a pipe that only we hold open. When we end, in whatever way, the pipe closes and the
 * guard ends the child; a line on the pipe tells it that the child has ended first. So a library need not touch its host's
 * signal handlers.
 */
import { spawn } from 'node:child_process';
import { type Socket } from 'node:net';

export function endWithUs(pid: number, exited: Promise<unknown>): void {
  const guard = spawn('/bin/sh', ['-c', 'read -r ended || kill -9 "$1"', 'guard', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ignore = (): void => undefined;
  guard.stdin.on('error', ignore);
  guard.on('error', ignore);
  guard.unref();
  (guard.stdin as Socket).unref();
  void exited.then(() => guard.stdin.end('ended\n'));
}
